package lang

// This file has the pages of the codes about reductions and scans.

func init() {
	codeTable[ErrCombiner] = CodeRow{
		Title: "a function that reduce or scan cannot combine by",
		Doc: "The function of `reduce` and `scan` combines two elements, or two tuples of elements,\n" +
			"and gives one of the same types. It uses its parameters, constants and scalars alone,\n" +
			"with elementwise operations: no load, no reduction, no tile. It must be associative;\n" +
			"it need not be commutative, for elements are combined in the order of their positions.",
		Fails: `kernel largest(x: f32[N]) -> (m: f32[1], p: i32[1])
    grid g in 1
{
    axis i in N
    let (v, at) = reduce((x[i], index(i)), over i, (-inf, 0), (a, b) => max(a, b))
    m[g] = v
    p[g] = at
}
`,
		Works: `kernel largest(x: f32[N]) -> (m: f32[1], p: i32[1])
    grid g in 1
{
    axis i in N
    let (v, at) = reduce((x[i], index(i)), over i, (-inf, 0), ((a, i1), (b, i2)) => {
        let later = b > a
        (where(later, b, a), where(later, i2, i1))
    })
    m[g] = v
    p[g] = at
}
`,
	}
	codeTable[ErrPartial] = CodeRow{
		Title: "a result that depends on how large a part of a dimension one block, or one step, has",
		Doc: "A block has a part of a grid axis, and how large a part the planner chooses. What is\n" +
			"reduced over the axis is that of the part, so the result would depend on the plan. It\n" +
			"may go to the atomic that puts the parts together: sums to `atomic_add`, maxima to\n" +
			"`atomic_max`. An atomic does not do that for another reduction, nor for what is no sum\n" +
			"of parts any more: twice a sum is one, a sum plus one is not. What nothing tells apart\n" +
			"along the axis it would add once for every block: to count elements, add\n" +
			"`sum(ones(i32, i), over i)` and not 1. For the whole dimension, declare an axis over it:\n" +
			"`axis j in N`. A scan goes along a whole axis only.\n\n" +
			"A loop over parts, `for k in K by BK`, may give or store what depends on how large the\n" +
			"parts are: `n + 1` counts them, `a * 0.5 + sum(x[k], over k)` weighs them. Where nothing\n" +
			"is said of BK it is 64; of several choices the one that is meant must be said. An atomic\n" +
			"that comes once for every step, whatever the step, needs a given extent too.\n\n" +
			"With an extent that the program gives, `tune B = 64` or `by 64`, nothing depends on the\n" +
			"plan, and nothing is refused.",
		Fails: `kernel normalize(x: f32[N]) -> y: f32[N]
    grid i in N by B
{
    y[i] = x[i] / sum(x[i], over i)
}
`,
		Works: `kernel normalize(x: f32[N]) -> y: f32[N]
    grid i in N by B
{
    axis j in N
    y[i] = x[i] / sum(x[j], over j)
}
kernel total(x: f32[N], inout y: f32[2])
    grid i in N by B
{
    atomic_add(y[0], sum(x[i], over i))
    atomic_max(y[1], max(x[i], over i))
}
kernel by_parts(x: f32[N]) -> y: f32[N]
    tune B = 64
    grid i in N by B
{
    y[i] = x[i] / sum(x[i], over i)
}
`,
	}
}
