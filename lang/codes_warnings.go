package lang

// The codes of warnings, by the kinds of the errors. W0601 is an output that is filled.
const (
	WarnUnused       Code = "W0201" // a value that is bound and never used
	WarnUnusedAxis   Code = "W0202" // an axis that nothing walks along
	WarnUnusedParam  Code = "W0203" // a parameter that is never used
	WarnUnusedImport Code = "W0204" // an import of which nothing is used
	WarnLossy        Code = "W0301" // a constant that its element type cannot hold
	WarnNaN          Code = "W0302" // a comparison with nan
	WarnOverwritten  Code = "W0602" // a store that a later one covers
)

// In these pages Fails is what is warned of, Works what is not.
func init() {
	for code, row := range map[Code]CodeRow{
		WarnUnused: {
			Title: "a value that is bound and never used",
			Doc: `A ` + "`let`" + ` whose name is read nowhere, or a value that a loop carries and its body never
reads, is often a misspelling of another, or left over. Remove it, or begin its name with
` + "`_`" + ` where it is meant. What a name hides that is bound again counts by itself.`,
			Fails: `kernel scaled(x: f32[N], s: f32) -> y: f32[N] {
    let v = x[i] * s
    y[i] = x[i]
}
`,
			Works: `kernel scaled(x: f32[N], s: f32) -> y: f32[N] {
    let v = x[i] * s
    let _checked = v > 0
    y[i] = v
}
`,
		},
		WarnUnusedAxis: {
			Title: "an axis that nothing walks along",
			Doc: `An axis that is declared, or a loop in parts, whose name nothing indexes by, reduces over
or asks for its positions. A loop that only counts is ` + "`for n in 4`" + `. Remove it, or begin its
name with ` + "`_`" + ` where it is meant.`,
			Fails: `kernel copy(x: f32[M, N]) -> y: f32[M, N]
    grid i in M by BM
{
    axis j in N
    axis k in N
    y[i, j] = x[i, j]
}
`,
			Works: `kernel copy(x: f32[M, N]) -> y: f32[M, N]
    grid i in M by BM
{
    axis j in N
    axis k in N
    y[i, j] = x[i, j] - mean(x[i, k], over k)
}
`,
		},
		WarnUnusedParam: {
			Title: "a parameter that is never used",
			Doc: `A parameter that the body of a kernel, a graph or a function does not read. A tensor that
alone tells the size of a dimension is used by that. Remove it where it is declared and given,
or begin its name with ` + "`_`" + ` where it is meant, as in a function that is given to ` + "`reduce`" + `.`,
			Fails: `kernel scaled(x: f32[N], s: f32) -> y: f32[N] {
    y[i] = x[i]
}
`,
			Works: `kernel scaled(x: f32[N], s: f32, _unused: f32) -> y: f32[N] {
    y[i] = x[i] * s
}
`,
		},
		WarnUnusedImport: {
			Title: "an import of which nothing is used",
			Doc: `A file that is imported and of which no name is used. The names of what it imports itself
are no part of it.`,
			Fails: `import "std/nn"

kernel copy(x: f32[N]) -> y: f32[N] {
    y[i] = x[i]
}
`,
			Works: `import "std/nn"

graph halves(x: f32[M, N]) -> y: f32[M, N] {
    y = softmax(x) * 0.5
}
`,
		},
		WarnLossy: {
			Title: "a constant that its element type cannot hold",
			Doc: `An integer that a float type rounds (f32 holds integers up to 16777216 exactly, f16 up to
2048, bf16 up to 256), a number that becomes 0 in it, or one that is cut off at the type's largest.
That a fraction such as 0.1 is rounded to the nearest is no such thing.`,
			Fails: `kernel count(x: f32[N]) -> y: f32[N] {
    y[i] = x[i] + 16777217
}
`,
			Works: `kernel count(x: f32[N]) -> y: f64[N] {
    y[i] = x[i] as f64 + 16777217 + 0.1
}
`,
		},
		WarnNaN: {
			Title: "a comparison with nan",
			Doc: `NaN is not equal to anything, itself included, and not ordered: a comparison with it has one
answer for every operand. ` + "`isnan(x)`" + ` asks whether something is NaN. ` + "`check`" + ` in a test is another
thing: there, NaN equals NaN.`,
			Fails: `kernel cleaned(x: f32[N]) -> y: f32[N] {
    y[i] = where(x[i] == nan, 0, x[i])
}
`,
			Works: `kernel cleaned(x: f32[N]) -> y: f32[N] {
    y[i] = where(isnan(x[i]), 0, x[i])
}
`,
		},
		WarnOverwritten: {
			Title: "a store that a later one covers",
			Doc: `A later store of the same block writes every element that this one does, and nothing reads
them before: what is computed for the first is lost. The indices are compared as they are
written; a whole axis over a dimension covers every index into it.`,
			Fails: `kernel clipped(x: f32[N]) -> y: f32[N]
    grid i in N by B
{
    y[i] = x[i]
    y[i] = min(x[i], 1)
}
`,
			Works: `kernel clipped(x: f32[N]) -> (y: f32[N], z: f32[N])
    grid i in N by B
{
    z[i] = x[i]
    y[i] = min(x[i], 1)
}
`,
		},
	} {
		codeTable[code] = row
	}
}
