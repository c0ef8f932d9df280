// Package syntax reads PTX text: Parse gives the kernels of a module as statements with
// their operands, in which names belong to scopes, variables have addresses, and the
// functions that a kernel calls stand in place of the calls.
//
// The package knows the grammar of PTX and its declarations, and of an instruction no
// more than its form: a name, modifiers and operands. It must not know which
// instructions there are, what they do, or how they are executed: that is for jit/emu.
// Types and constants are those of jit/emu/number.
package syntax
