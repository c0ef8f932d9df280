package lang

// The codes of what is no error, by the same kinds.
const (
	WarnFilled Code = "W0601" // an output that is filled with zeros before the kernel stores to it
)

// Pages of warnings: Fails is what is warned of, Works what is not.
func init() {
	codeTable[WarnFilled] = CodeRow{
		Title: "an output that is filled with zeros before the kernel stores to it",
		Doc: `An element of an output that nothing stores is 0. Where the stores of a kernel are proven
to reach every element, that costs nothing. Where they are not, each launch first fills the
output with zeros: it writes the output once more, and what was forgotten looks like a
result. A store counts when its indices walk all of their dimensions, by axes of the grid,
whole axes or loops; what an ` + "`if`" + ` stores counts when both branches store it. Stores count
together: ` + "`y[i, 0]`" + ` and ` + "`y[i, 1]`" + ` are all of ` + "`[N, 2]`" + `. A condition on sizes may be what a proof
lacks: ` + "`assume(D % 2 == 0)`" + `.

Store the other elements too, if only a 0. Of a scatter, and of atomics, which add to what
is there, nothing can be proven; there it is a note, and says what happens.`,
		Fails: `kernel up(x: f32[N]) -> y: f32[2 * N]
    grid i in N by B
{
    y[2 * i] = x[i]
}
`,
		Works: `kernel up(x: f32[N]) -> y: f32[2 * N]
    grid i in N by B
{
    y[2 * i] = x[i]
    y[2 * i + 1] = 0
}
`,
	}
}
