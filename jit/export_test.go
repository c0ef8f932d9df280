package jit

// Widen compiles every kernel as for dimensions of more than 2^31 elements.
func (c *Compiler) Widen() { c.wide = true }
