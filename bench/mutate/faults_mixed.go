package main

// mixedFaults are in products of two types, in loops over numbers, and in what a block or a step loads once.
var mixedFaults = []Fault{
	{ID: "mixed-rows-swapped", File: "jit/ptx/elem/widen.go", Class: "fragment", First: "jit/ptx/elem TestWidening",
		Old: `return widenBytes(a, from, to, w, 0x4240, 0x4341)`, New: `return widenBytes(a, from, to, w, 0x4341, 0x4240)`,
		Note: "two neighbouring rows of a transposed matrix of bytes are swapped"},
	{ID: "mixed-four-rows", File: ptx + "mixed.go", Class: "fragment", First: "jit@emu TestProductsOfTwoTypes",
		Old: `x.at(first+2*row)`, New: `x.at(first+row)`,
		Note: "the second row of a fragment of bytes is read one position of the depth off"},
	{ID: "mixed-second-step", File: ptx + "mixed.go", Class: "fragment", First: "jit@emu TestProductsOfTwoTypes",
		Old: `raw[step%together*2:][:2]`, New: `raw[:2]`,
		Note: "both steps of the depth that one ldmatrix loads are the first"},
	{ID: "mixed-loaded-early", File: ptx + "wgmma.go", Class: "pipeline", First: "jit@emu TestNarrowOperandsAreCopied",
		Old: `early := c.Op.Mixed() && c.Groups > 2`, New: `early := c.Op.Mixed() && c.Groups > 1`,
		Note: "rows are widened to registers that the last products of the step before still read"},
	{ID: "byte-as-float", File: "jit/ptx/elem/cast.go", Class: "arithmetic", First: "jit/ptx/elem TestBytesAsFloats",
		Old: `base += 128`, New: `base += 127`,
		Note: "a signed byte becomes a float that is 1 too large"},
	{ID: "ahead-scalars-of-this-step", File: ptx + "pipeline.go", Class: "pipeline", First: "jit@emu TestProductsInLoopsOverNumbers",
		Old: `p.k.provideAnew(s.Value)`, New: `p.k.provide(s.Value)`,
		Note: "copies for a step to come begin where this step's do, where a load of this step has computed that"},
	{ID: "uniform-of-any-extent", File: "jit/pass/uniform.go", Class: "fold", First: "jit/pass TestPartsOfBlocks",
		Old: `n.Int >= 1 && n.Int%a.Extent == 0`, New: `n.Int >= 1`,
		Note: "a block whose positions are of several parts loads of the first alone"},
	{ID: "uniform-from-anywhere", File: "jit/pass/uniform.go", Class: "fold", First: "jit/pass TestPartsOfBlocks",
		Old: `whole[op.Axis] = ok && lo%op.Axis.Extent == 0 && multiplies`, New: `whole[op.Axis] = ok && lo >= 0 && multiplies`,
		Note: "a loop that begins between two parts loads of one alone"},
}
