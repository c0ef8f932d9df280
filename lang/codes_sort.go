package lang

// ErrSort is a sort or topk over an axis that cannot be sorted.
const ErrSort Code = "E0420"

func init() {
	codeTable[ErrSort] = CodeRow{
		Title: "a sort or topk over an axis that cannot be sorted",
		Doc: `sort and topk are over an axis that a block has whole, as ` + "`axis j in N`" + ` is: over
an axis of the grid or of a loop, which the planner cuts, each part would be sorted by
itself. topk gives its elements over an axis of fixed extent, as ` + "`axis r in 5`" + ` is.`,
		Fails: `kernel sorted(x: f32[N]) -> y: f32[N]
    grid i in N by B
{
    y[i] = sort(x[i], over i)
}
`,
		Works: `kernel sorted(x: f32[M, N]) -> y: f32[M, N]
    grid i in M by B
{
    axis j in N
    y[i, j] = sort(x[i, j], over j)
}
`,
	}
}
