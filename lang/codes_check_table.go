package lang

// This file has the page of every code of the type checker.

func init() {
	for code, row := range map[Code]CodeRow{
		ErrUnknownName: {
			Title: "a name that nothing declares",
			Doc: `Every name is declared: by a parameter, a dimension of a parameter's shape, an
axis, a ` + "`" + `let` + "`" + `, a declaration of this file or of one that it imports. When a name
close to it is in sight, the error proposes it.`,
			Fails: `kernel add(x: f32[N], y: f32[N]) -> z: f32[N]
    grid i in N by B
{
    z[i] = x[i] + yy[i]
}
`,
			Works: `kernel add(x: f32[N], y: f32[N]) -> z: f32[N]
    grid i in N by B
{
    z[i] = x[i] + y[i]
}
`,
		},
		ErrDuplicate: {
			Title: "a name declared twice in one scope",
			Doc: `A scope gives a name one meaning. (` + "`" + `let` + "`" + ` may bind a name again, and then stands
for the new value from there on.) Names of the language, such as exp or f32,
cannot be declared.`,
			Fails: `fn twice(x) = 2 * x
fn twice(x) = x + x
`,
			Works: `fn twice(x) = 2 * x
fn double(x) = x + x
`,
		},
		ErrShadowedAxis: {
			Title: "a name that hides an axis in scope",
			Doc: `An axis is its declaration, not its spelling. A second declaration of its name
inside its scope would make two axes look like one.`,
			Fails: `kernel rows(x: f32[M, N]) -> y: f32[M]
    grid i in M by BM
{
    axis i in N
    y[i] = sum(x[i, i], over i)
}
`,
			Works: `kernel rows(x: f32[M, N]) -> y: f32[M]
    grid i in M by BM
{
    axis j in N
    y[i] = sum(x[i, j], over j)
}
`,
		},
		ErrNameKind: {
			Title: "a name of the wrong kind for its place",
			Doc: `A type is no value, a kernel is no function, and the extent that the planner
chooses for an axis (the name after ` + "`" + `by` + "`" + `) has no value in the program: a kernel
means the same whatever the extents are.`,
			Fails: `kernel scale(x: f32[N]) -> y: f32[N]
    grid i in N by BN
{
    y[i] = x[i] * BN
}
`,
			Works: `kernel scale(x: f32[N]) -> y: f32[N]
    grid i in N by BN
{
    y[i] = x[i] * N
}
`,
		},
		ErrAttribute: {
			Title: "an unknown attribute, or wrong arguments of one",
			Doc: `An attribute stands before a declaration, behind a field or behind an access.
Each kind of declaration has its own. Those that speak of a checkpoint have a form of their own: ` + "`@config(H = \"n_head\")`" + `
binds what the graph declares, with defaults behind ` + "`else`" + `, in brackets where they are computed; ` + "`@require(\"model_type\" == \"gpt2\")`" + `
compares keys, on the left, with what they must be, and uses what rows of ` + "`@config`" + ` before it tell.`,
			Fails: `@warp(8)
kernel add(x: f32[N], y: f32[N]) -> z: f32[N]
    grid i in N by B
{
    z[i] = x[i] + y[i]
}
`,
			Works: `@warps(8)
kernel add(x: f32[N], y: f32[N]) -> z: f32[N]
    grid i in N by B
{
    z[i] = x[i] + y[i]
}
`,
		},
		ErrField: {
			Title: "a field that the value does not have",
			Doc: `In a kernel, axes have ` + "`" + `.start` + "`" + ` and ` + "`" + `.end` + "`" + ` and tensors ` + "`" + `.shape` + "`" + `. In a graph,
structs have the fields that they declare.`,
			Fails: `kernel first(x: f32[N]) -> y: i32[N]
    grid i in N by B
{
    y[i] = i.begin
}
`,
			Works: `kernel first(x: f32[N]) -> y: i32[N]
    grid i in N by B
{
    y[i] = i.start
}
`,
		},
		ErrArgCount: {
			Title: "too few or too many arguments",
			Doc: `A call gives every parameter that has no default. Reductions need ` + "`" + `over` + "`" + ` to say
which axes they reduce.`,
			Fails: `kernel total(x: f32[M, N]) -> y: f32[M]
    grid i in M by BM
{
    axis j in N
    y[i] = sum(x[i, j])
}
`,
			Works: `kernel total(x: f32[M, N]) -> y: f32[M]
    grid i in M by BM
{
    axis j in N
    y[i] = sum(x[i, j], over j)
}
`,
		},
		ErrArgName: {
			Title: "an unknown or repeated argument name",
			Doc:   `Constant parameters are given by name, and so may be the others in a graph.`,
			Fails: `kernel add(x: f32[N], y: f32[N]) -> z: f32[N]
    grid i in N by B
{
    z[i] = x[i] + y[i]
}
graph twice(x: f32[N]) -> y: f32[N] {
    y = add(x, w = x)
}
`,
			Works: `kernel add(x: f32[N], y: f32[N]) -> z: f32[N]
    grid i in N by B
{
    z[i] = x[i] + y[i]
}
graph twice(x: f32[N]) -> y: f32[N] {
    y = add(x, y = x)
}
`,
		},
		ErrRecursion: {
			Title: "a fn, graph or struct that contains itself",
			Doc: `Functions are inlined where they are called and graphs are unrolled, so neither
may call itself, not even by way of others. Loops carry values instead. (A chain of
functions that is only long is no recursion; how deep it may be is said by E0107.)`,
			Fails: `fn power(x) = x * power(x)
`,
			Works: `fn power(x) = for n in 4 with p = x { p * x }
`,
		},
		ErrUnknownType: {
			Title: "a type that nothing declares",
			Doc: `The element types are bool, i8 to i64, u8 to u64, f4e2m1, f8e4m3, f8e5m2, f16,
bf16, f32 and f64. A type parameter is ` + "`" + `T: float` + "`" + `, ` + "`" + `T: int` + "`" + ` or ` + "`" + `T: any` + "`" + `.`,
			Fails: `kernel add(x: float32[N], y: f32[N]) -> z: f32[N]
    grid i in N by B
{
    z[i] = x[i] + y[i]
}
`,
			Works: `kernel add(x: f32[N], y: f32[N]) -> z: f32[N]
    grid i in N by B
{
    z[i] = x[i] + y[i]
}
`,
		},
		ErrFormula: {
			Title: "a kernel without a grid that is no formula",
			Doc: `A kernel without a grid is a formula: the names in the index of its store are the
grid, and a name that a reduction is over is an axis over the whole dimension that
it indexes. Without such names, or an axis that the body declares, nothing tells what
the blocks are.`,
			Fails: `kernel first(x: f32[N]) -> y: f32[1] {
    y[0] = x[0]
}
`,
			Works: `kernel scale(x: f32[N]) -> y: f32[N] {
    y[i] = 2 * x[i]
}
`,
		},
		ErrMixedTypes: {
			Title: "operands of different element types",
			Doc: `Conversions are written: only literals and dimensions adapt to their context. A
type parameter differs from every other type, since it may stand for another:
with ` + "`" + `x: T` + "`" + ` and ` + "`" + `a: f32` + "`" + `, ` + "`" + `x * a` + "`" + ` is written ` + "`" + `x as f32 * a` + "`" + `.`,
			Fails: `kernel add(x: f16[N], y: f32[N]) -> z: f32[N]
    grid i in N by B
{
    z[i] = x[i] + y[i]
}
`,
			Works: `kernel add(x: f16[N], y: f32[N]) -> z: f32[N]
    grid i in N by B
{
    z[i] = x[i] as f32 + y[i]
}
`,
		},
		ErrOperandType: {
			Title: "an operation that the element type has not",
			Doc: `Functions such as exp are of floats, bitwise operators of integers, ` + "`" + `and` + "`" + ` and
` + "`" + `or` + "`" + ` of bool. A type parameter has the operations of its bound: ` + "`" + `T: float` + "`" + `,
` + "`" + `T: int` + "`" + `, or ` + "`" + `T: any` + "`" + `, which has none but copying and comparing.`,
			Fails: `kernel grow(x: i32[N]) -> y: f32[N]
    grid i in N by B
{
    y[i] = exp(x[i])
}
`,
			Works: `kernel grow(x: i32[N]) -> y: f32[N]
    grid i in N by B
{
    y[i] = exp(x[i] as f32)
}
`,
		},
		ErrConstantType: {
			Title: "a constant that the element type cannot hold",
			Doc: `A literal takes the element type of what it meets, which must hold its value: no
fraction in an integer, no 300 in a u8.`,
			Fails: `kernel halve(x: i32[N]) -> y: i32[N]
    grid i in N by B
{
    y[i] = x[i] * 0.5
}
`,
			Works: `kernel halve(x: i32[N]) -> y: i32[N]
    grid i in N by B
{
    y[i] = x[i] / 2
}
`,
		},
		ErrCondition: {
			Title: "a condition that is no bool scalar",
			Doc: `` + "`" + `if` + "`" + ` decides for the whole block, by one bool. To choose element by element,
write ` + "`" + `where(c, a, b)` + "`" + `.`,
			Fails: `kernel relu(x: f32[N]) -> y: f32[N]
    grid i in N by B
{
    y[i] = if x[i] > 0 { x[i] } else { 0 }
}
`,
			Works: `kernel relu(x: f32[N]) -> y: f32[N]
    grid i in N by B
{
    y[i] = where(x[i] > 0, x[i], 0)
}
`,
		},
		ErrBranches: {
			Title: "branches of an if that differ in type",
			Doc: `Both branches of an ` + "`" + `if` + "`" + ` that gives a value have one element type and the same
axes, also when a constant decides between them. A scalar broadcasts to the axes
of the other branch.`,
			Fails: `kernel choose<const FLIP: bool>(x: f32[N], n: i32[N]) -> y: f32[N]
    grid i in N by B
{
    y[i] = if FLIP { x[i] } else { n[i] }
}
`,
			Works: `kernel choose<const FLIP: bool>(x: f32[N], n: i32[N]) -> y: f32[N]
    grid i in N by B
{
    y[i] = if FLIP { x[i] } else { n[i] as f32 }
}
`,
		},
		ErrCarried: {
			Title: "a carried value that changes its type",
			Doc: `A loop carries a value of one element type over the same axes from step to step.
Start it over the axes that it ends with, as in ` + "`" + `zeros(f32, i, j)` + "`" + `.`,
			Fails: `kernel product(a: f32[M, K], b: f32[K, N]) -> c: f32[M, N]
    grid i in M by BM, j in N by BN
{
    c[i, j] = for k in K by BK with acc = 0.0 {
        acc + dot(a[i, k], b[k, j])
    }
}
`,
			Works: `kernel product(a: f32[M, K], b: f32[K, N]) -> c: f32[M, N]
    grid i in M by BM, j in N by BN
{
    c[i, j] = for k in K by BK with acc = zeros(f32, i, j) {
        acc + dot(a[i, k], b[k, j])
    }
}
`,
		},
		ErrValueCount: {
			Title: "no value, or another number of values than names",
			Doc: `A name is bound to one value, ` + "`" + `let (a, b)` + "`" + ` to two. A loop that carries nothing
gives nothing. A value that nothing uses is a mistake.`,
			Fails: `kernel pair(x: f32[N]) -> y: f32[N]
    grid i in N by B
{
    let (a, b, c) = (x[i], 2 * x[i])
    y[i] = a + b + c
}
`,
			Works: `kernel pair(x: f32[N]) -> y: f32[N]
    grid i in N by B
{
    let (a, b) = (x[i], 2 * x[i])
    y[i] = a + b
}
`,
		},
		ErrWrongType: {
			Title: "a value of another element type than its place",
			Doc: `What is stored, passed, or read with ` + "`" + `else` + "`" + ` has the element type that is
declared there. Convert it with ` + "`" + `as` + "`" + `. Sums and products of narrow floats are
f32, so that they are converted before they are stored.`,
			Fails: `kernel total<T: float>(x: T[M, N]) -> y: T[M]
    grid i in M by BM
{
    axis j in N
    y[i] = sum(x[i, j], over j)
}
`,
			Works: `kernel total<T: float>(x: T[M, N]) -> y: T[M]
    grid i in M by BM
{
    axis j in N
    y[i] = sum(x[i, j], over j) as T
}
`,
		},
		ErrTypeParam: {
			Title: "an element type that a type parameter does not accept, or that nothing determines",
			Doc: `A type parameter is bound by the arguments that have it; one that only outputs have
is given by name: ` + "`" + `dequantise(q, scale, T = bf16)` + "`" + ` in a graph, T=bf16 on the command line. ` + "`" + `T: float` + "`" + ` accepts the
floats that add up in f32: f4e2m1, f8e4m3, f8e5m2, f16, bf16 and f32, so that the type of
a sum does not depend on T; write f64 out where it is meant. ` + "`" + `T: int` + "`" + ` accepts the
integers and ` + "`" + `T: any` + "`" + ` every type.`,
			Fails: `kernel fill<T: float>(x: f32[N]) -> y: f32[N]
    grid i in N by B
{
    y[i] = x[i]
}
`,
			Works: `kernel fill<T: float>(x: f32[N]) -> y: T[N]
    grid i in N by B
{
    y[i] = x[i] as T
}
`,
		},
		ErrSumType: {
			Title: "a sum whose type would depend on a type parameter",
			Doc: `Sums of narrow integers are i32 and those of wide ones have their own type, so
that a sum over ` + "`" + `T: int` + "`" + ` has no one type. Convert the operand first. Sums of
` + "`" + `T: float` + "`" + ` are f32.`,
			Fails: `kernel total<T: int>(x: T[M, N]) -> y: i32[M]
    grid i in M by BM
{
    axis j in N
    y[i] = sum(x[i, j], over j)
}
`,
			Works: `kernel total<T: int>(x: T[M, N]) -> y: i32[M]
    grid i in M by BM
{
    axis j in N
    y[i] = sum(x[i, j] as i32, over j)
}
`,
		},
		ErrDeclType: {
			Title: "a type that a declaration may not have",
			Doc: `A kernel takes tensors and scalars and gives tensors. A graph takes structs too.
A fn takes and gives tiles: an element type, or nothing, never a shape.`,
			Fails: `fn double(x: f32[N]) = 2 * x
`,
			Works: `fn double(x: f32) = 2 * x
`,
		},
		ErrIndexType: {
			Title: "an index that is no integer",
			Doc:   `An index is an axis, or a scalar or a tile of any integer type.`,
			Fails: `kernel look(ids: f32[N], table: f32[V]) -> y: f32[N]
    grid i in N by B
{
    y[i] = table[ids[i]] else 0
}
`,
			Works: `kernel look(ids: f32[N], table: f32[V]) -> y: f32[N]
    grid i in N by B
{
    y[i] = table[ids[i] as i32] else 0
}
`,
		},
		ErrBitcast: {
			Title: "a bitcast between types whose widths do not fit",
			Doc: `` + "`" + `bitcast(x, d)` + "`" + ` looks at the bits of numbers as numbers of another type, which
must be as wide. Of a tensor that a kernel only reads it gives a view of its
memory, with narrower elements too, or with wider ones where the last dimension
is known to hold whole ones: a multiple by what it is, as ` + "`" + `4 * N` + "`" + `, or by
` + "`" + `assume(N % 4 == 0)` + "`" + `. bool has no bits of its own, and the width of a type
parameter is not known.`,
			Fails: `kernel bits(x: f32[N]) -> y: i16[N]
    grid i in N by B
{
    y[i] = bitcast(x[i], i16)
}
`,
			Works: `kernel bits(x: f32[N]) -> y: i32[N]
    grid i in N by B
{
    y[i] = bitcast(x[i], i32)
}
`,
		},
		ErrNotScalar: {
			Title: "a tile where a scalar is needed",
			Doc:   `The ends of a range, and the value that ` + "`" + `full` + "`" + ` repeats, are scalars.`,
			Fails: `kernel spread(x: f32[N]) -> y: f32[N]
    grid i in N by B
{
    y[i] = full(f32, x[i], i)
}
`,
			Works: `kernel spread(x: f32[N]) -> y: f32[N]
    grid i in N by B
{
    y[i] = x[i] + full(f32, 0.5, i)
}
`,
		},
		ErrNotMutable: {
			Title: "an inout argument that may not be written",
			Doc: `Values never change. Only what a graph itself takes as ` + "`" + `inout` + "`" + `, or a part of it,
can be passed where a kernel writes, and not twice in one call. So that it is known what
lies where, no choice gives and no loop carries a struct or an array of it.`,
			Fails: `kernel put(x: f32[N], inout y: f32[N])
    grid i in N by B
{
    y[i] = x[i]
}

graph step(x: f32[N], state: f32[N]) -> y: f32[N] {
    put(x, state)
    y = x
}
`,
			Works: `kernel put(x: f32[N], inout y: f32[N])
    grid i in N by B
{
    y[i] = x[i]
}

graph step(x: f32[N], inout state: f32[N]) -> y: f32[N] {
    put(x, state)
    y = x
}
`,
		},
		ErrAxisDim: {
			Title: "an axis that walks another dimension",
			Doc: `An axis belongs to the dimension that it walks, and indexes only that dimension
of a tensor. Two dimensions are the same when they have the same name (or are
the same expression), not when they happen to have the same size.`,
			Fails: `kernel bias(x: f32[M, N], b: f32[N]) -> y: f32[M, N]
    grid i in M by BM, j in N by BN
{
    y[i, j] = x[i, j] + b[i]
}
`,
			Works: `kernel bias(x: f32[M, N], b: f32[N]) -> y: f32[M, N]
    grid i in M by BM, j in N by BN
{
    y[i, j] = x[i, j] + b[j]
}
`,
		},
		ErrIndexCount: {
			Title: "too few or too many indices",
			Doc: `An access in a kernel has one index for every dimension of the tensor. (In a
graph, dimensions that a slice does not name stay whole.)`,
			Fails: `kernel copy(x: f32[M, N]) -> y: f32[M, N]
    grid i in M by BM, j in N by BN
{
    y[i, j] = x[i]
}
`,
			Works: `kernel copy(x: f32[M, N]) -> y: f32[M, N]
    grid i in M by BM, j in N by BN
{
    y[i, j] = x[i, j]
}
`,
		},
		ErrEscape: {
			Title: "a value over an axis whose scope has ended",
			Doc: `An axis lives in the block that declares it, and so does every tile over it. A
tile over a loop's axis differs from step to step: reduce it inside the loop and
carry the result.`,
			Fails: `kernel last(x: f32[M, K]) -> y: f32[M]
    grid i in M by BM
{
    let t = for k in K by BK with t = zeros(f32, i) {
        x[i, k]
    }
    y[i] = t
}
`,
			Works: `kernel last(x: f32[M, K]) -> y: f32[M]
    grid i in M by BM
{
    let t = for k in K by BK with t = zeros(f32, i) {
        t + sum(x[i, k], over k)
    }
    y[i] = t
}
`,
		},
		ErrNoAxis: {
			Title: "a reduction over an axis that the tile has not",
			Doc:   `A tile is reduced over its own axes. The message shows which those are.`,
			Fails: `kernel total(x: f32[M, N]) -> y: f32[M]
    grid i in M by BM
{
    axis j in N
    axis k in N
    y[i] = sum(x[i, j], over k)
}
`,
			Works: `kernel total(x: f32[M, N]) -> y: f32[M]
    grid i in M by BM
{
    axis j in N
    y[i] = sum(x[i, j], over j)
}
`,
		},
		ErrContraction: {
			Title: "operands that do not contract, or an accumulator of other axes",
			Doc: `` + "`" + `dot(a, b)` + "`" + ` sums over the axes that both operands have. ` + "`" + `mma(a, b, acc)` + "`" + ` sums
over those that both have and acc has not; acc has all the others, no more and no
fewer. Two axes over one dimension are different axes.`,
			Fails: `kernel product(a: f32[M, K], b: f32[K, N]) -> c: f32[M, N]
    grid i in M by BM, j in N by BN
{
    axis k in K
    axis l in K
    c[i, j] = dot(a[i, k], b[l, j])
}
`,
			Works: `kernel product(a: f32[M, K], b: f32[K, N]) -> c: f32[M, N]
    grid i in M by BM, j in N by BN
{
    axis k in K
    c[i, j] = dot(a[i, k], b[k, j])
}
`,
		},
		ErrStoreAxes: {
			Title: "a stored tile with an axis that no index has",
			Doc: `The axes of a stored tile are among those of the indices; those that it lacks
broadcast. Reduce the others, or index with them.`,
			Fails: `kernel total(x: f32[M, N]) -> y: f32[M]
    grid i in M by BM
{
    axis j in N
    y[i] = x[i, j]
}
`,
			Works: `kernel total(x: f32[M, N]) -> y: f32[M]
    grid i in M by BM
{
    axis j in N
    y[i] = max(x[i, j], over j)
}
`,
		},
		ErrShape: {
			Title: "shapes that can never agree",
			Doc: `The arguments of a call give each dimension one size. Sizes that could agree are
checked when the graph is bound; those that never can are errors here.`,
			Fails: `kernel add(x: f32[N], y: f32[N]) -> z: f32[N]
    grid i in N by B
{
    z[i] = x[i] + y[i]
}
graph sum3(x: f32[N], y: f32[2 * N]) -> z: f32[N] {
    z = add(x, y)
}
`,
			Works: `kernel add(x: f32[N], y: f32[N]) -> z: f32[N]
    grid i in N by B
{
    z[i] = x[i] + y[i]
}
graph sum3(x: f32[N], y: f32[2 * N]) -> z: f32[N] {
    z = add(x, y[.. N])
}
`,
		},
		ErrView: {
			Title: "a view with another number of elements",
			Doc: `A view shows the elements of a tensor in another shape: all of them, and no
others.`,
			Fails: `graph fold(x: f32[B, S]) -> y: f32[2 * B, S] {
    y = view(x, [2 * B, S])
}
`,
			Works: `graph fold(x: f32[B, S]) -> y: f32[B * S] {
    y = view(x, [B * S])
}
`,
		},
		ErrUnboundDim: {
			Title: "a dimension that no argument determines",
			Doc: `A launch reads the size of a dimension off an argument's shape, so some input has
it as a dimension by itself, or a multiple of it and more (` + "`2 * N`, `N + 1`, `G * N + K`" + `) of
numbers, constants and dimensions that are known, not only inside another expression. A
number that no shape tells is a constant parameter.`,
			Fails: `kernel widen(x: f32[N]) -> y: f32[M]
    grid i in M by B
{
    y[i] = x[0]
}
`,
			Works: `kernel widen<const M: int>(x: f32[N]) -> y: f32[M]
    grid i in M by B
{
    y[i] = x[0]
}
`,
		},
		ErrAxisAsValue: {
			Title: "an axis where a value is needed, or the reverse",
			Doc: `An axis is no number: its positions are ` + "`" + `index(i)` + "`" + `. Inside the brackets of an
access it stands for them. A tensor is no value either: only its elements are.`,
			Fails: `kernel ramp(x: f32[N]) -> y: f32[N]
    grid i in N by B
{
    y[i] = x[i] + i as f32
}
`,
			Works: `kernel ramp(x: f32[N]) -> y: f32[N]
    grid i in N by B
{
    y[i] = x[i] + index(i) as f32
}
`,
		},
		ErrRename: {
			Title: "a rename to an axis of other positions",
			Doc: `` + "`" + `rename(x, i -> j)` + "`" + ` gives the same tile over another axis, which must hold the
same positions: both are the whole of one dimension, or the same part of it.`,
			Fails: `kernel square(x: f32[N, N], v: f32[M, N]) -> y: f32[M, N]
    grid i in M by BM, k in N by BN
{
    axis j in N
    y[i, k] = rename(v[i, j], j -> k)
}
`,
			Works: `kernel square(x: f32[N, N], v: f32[M, N]) -> y: f32[M, N]
    grid i in M by BM
{
    axis j in N
    axis k in N
    y[i, k] = rename(v[i, j], j -> k) + sum(x[j, k], over j)
}
`,
		},
		ErrShapeOp: {
			Title: "a shape operation whose axes or sizes do not fit",
			Doc: `Splitting, merging, joining and slicing keep every element: the axes of the
result have room for exactly those that are there. They count elements along
axes that a block has as a whole (` + "`" + `axis d in D` + "`" + `), not along those that a grid or
a loop walks in parts, whose extent is the planner's.`,
			Fails: `kernel heads(x: f32[M, 12]) -> y: f32[M, 3, 5]
    grid i in M by BM
{
    axis d in 12
    axis h in 3
    axis e in 5
    y[i, h, e] = split(x[i, d], d -> (h, e))
}
`,
			Works: `kernel heads(x: f32[M, 12]) -> y: f32[M, 3, 4]
    grid i in M by BM
{
    axis d in 12
    axis h in 3
    axis e in 4
    y[i, h, e] = split(x[i, d], d -> (h, e))
}
`,
		},
		ErrBounds: {
			Title: "an index that is not proven in bounds",
			Doc: `Every read is proven to lie inside its tensor, or says with ` + "`" + `else` + "`" + ` what an element
outside reads. An axis proves it. Sums of positions are proven by linear
arithmetic: with ` + "`" + `axis p in D[.. D / 2]` + "`" + `, both ` + "`" + `x[p]` + "`" + ` and ` + "`" + `x[p + D / 2]` + "`" + ` are in
bounds. An index computed from data never is. (Stores need no proof: elements
outside are dropped.)`,
			Fails: `kernel shift(x: f32[N]) -> y: f32[N]
    grid i in N by B
{
    y[i] = x[i + 1]
}
`,
			Works: `kernel shift(x: f32[N]) -> y: f32[N]
    grid i in N by B
{
    y[i] = x[i + 1] else 0
}
`,
		},
		ErrSubRange: {
			Title: "a constant range that is not proven inside its dimension",
			Doc: `The range of an ` + "`" + `axis` + "`" + ` lies inside its dimension whatever the size of that is.
` + "`" + `D[.. D / 2]` + "`" + ` does; ` + "`" + `D[.. 64]` + "`" + ` does not when D may be less.`,
			Fails: `kernel head(x: f32[M, D]) -> y: f32[M]
    grid i in M by BM
{
    axis d in D[.. 64]
    y[i] = sum(x[i, d], over d)
}
`,
			Works: `kernel head(x: f32[M, D]) -> y: f32[M]
    grid i in M by BM
{
    axis d in D[.. D / 2]
    y[i] = sum(x[i, d], over d)
}
`,
		},
		ErrSlice: {
			Title: "a slice outside the dimension, or one that begins within a byte",
			Doc: `A slice lies inside the dimension that it cuts, and begins with a byte: of f4e2m1,
two elements of which share one, with an element at an even place in memory. Ends that could be outside are
checked when the graph is bound; those that always are, are errors here.`,
			Fails: `graph tail(x: f32[N]) -> y: f32[N] {
    y = x[1 .. N + 1]
}
`,
			Works: `graph tail(x: f32[N]) -> y: f32[N - 1] {
    y = x[1 .. N]
}
`,
		},
		ErrRace: {
			Title: "blocks that would write one element",
			Doc: `Blocks run in any order, so no two may write one element: every axis of the grid
tells the indices of a store apart, by itself (` + "`" + `y[i]` + "`" + `), with something that is the
same in all blocks added (` + "`" + `y[i + n]` + "`" + `), or as the larger part of a mixed number
(` + "`" + `y[h * D + d]` + "`" + ` with d below D). An index read from data tells nothing apart. Use
` + "`" + `atomic_add` + "`" + ` where blocks add up, or walk the axis with ` + "`" + `for` + "`" + ` inside the block.`,
			Fails: `kernel total(x: f32[M, N]) -> y: f32[M]
    grid i in M by BM, j in N by BN
{
    y[i] = sum(x[i, j], over j)
}
`,
			Works: `kernel total(x: f32[M, N]) -> y: f32[M]
    grid i in M by BM
{
    y[i] = for j in N by BN with s = zeros(f32, i) {
        s + sum(x[i, j], over j)
    }
}
`,
		},
		ErrInoutRead: {
			Title: "an inout tensor read where another block may write",
			Doc: `An inout tensor is read only at elements that the block itself writes, or that none
writes: any other may have been written by another block already, or not yet. That none does
must follow from the indices, as where a row is read up to ` + "`" + `start[b]` + "`" + ` and stored there.
Lines of a formula that have different grids run one after the other, and cannot where one
needs the tensor, through a ` + "`" + `let` + "`" + `, from before an earlier line and something else from
behind it.`,
			Fails: `kernel smooth(inout x: f32[N])
    grid i in N by B
{
    x[i] = (x[i] + x[i + 1] else 0) / 2
}
`,
			Works: `kernel smooth(x: f32[N]) -> y: f32[N]
    grid i in N by B
{
    y[i] = (x[i] + (x[i + 1] else 0)) / 2
}
`,
		},
		ErrReadOnly: {
			Title: "a store to an input",
			Doc: `Inputs and values never change. Store to an output, declare the tensor ` + "`" + `inout` + "`" + `,
or bind a new value with ` + "`" + `let` + "`" + `.`,
			Fails: `kernel clear(x: f32[N]) -> y: f32[N]
    grid i in N by B
{
    x[i] = 0
    y[i] = x[i]
}
`,
			Works: `kernel clear(inout x: f32[N]) -> y: f32[N]
    grid i in N by B
{
    y[i] = x[i]
    x[i] = 0
}
`,
		},
		ErrNeverStored: {
			Title: "an output without a value",
			Doc: `Every output of a kernel is stored to, and every output of a graph is assigned. Elements
of an output that no store reaches are 0 (W0601). A tensor that is to keep its other elements
is a parameter, ` + "`" + `inout y: f32[N]` + "`" + `.`,
			Fails: `kernel both(x: f32[N]) -> (y: f32[N], z: f32[N])
    grid i in N by B
{
    y[i] = x[i]
}
`,
			Works: `kernel both(x: f32[N]) -> (y: f32[N], z: f32[N])
    grid i in N by B
{
    y[i] = x[i]
    z[i] = 2 * x[i]
}
`,
		},
		ErrOutputRead: {
			Title: "an output that is read",
			Doc: `An output has no value before the kernel has run. Keep what was stored in a ` + "`" + `let` + "`" + `,
or declare the tensor ` + "`" + `inout` + "`" + `. In a formula, lines behind those that store an output read it; a
line that stores to it as well does not.`,
			Fails: `kernel twice(x: f32[N]) -> y: f32[N]
    grid i in N by B
{
    y[i] = x[i]
    y[i] = 2 * y[i]
}
`,
			Works: `kernel twice(x: f32[N]) -> y: f32[N]
    grid i in N by B
{
    let v = x[i]
    y[i] = 2 * v
}
`,
		},
		ErrAssignedMore: {
			Title: "an output assigned more than once",
			Doc:   `A graph gives each output one value, once, and not inside a loop.`,
			Fails: `graph same(x: f32[N]) -> y: f32[N] {
    y = x
    y = x
}
`,
			Works: `graph same(x: f32[N]) -> y: f32[N] {
    y = x
}
`,
		},
		ErrNotConstant: {
			Title: "an expression that is not constant where one is needed",
			Doc: `Dimensions, extents, defaults and constant parameters are known before a kernel
runs: numbers, constants and dimensions, and arithmetic on them.`,
			Fails: `kernel part(x: f32[N], n: i32) -> y: f32[N]
    grid i in N by B
{
    axis r in n
    y[i] = x[i] + sum(full(f32, 1, r), over r)
}
`,
			Works: `kernel part<const R: int = 4>(x: f32[N]) -> y: f32[N]
    grid i in N by B
{
    axis r in R
    y[i] = x[i] + sum(full(f32, 1, r), over r)
}
`,
		},
		ErrConstantValue: {
			Title: "a constant expression without a value",
			Doc: `A constant expression is computed exactly, in 64 bits. Division by 0 and numbers
that do not fit are errors. (When a kernel runs, x / 0 is 0.)`,
			Fails: `const STEP = 10 / (3 - 3)
`,
			Works: `const STEP = 10 / 3
`,
		},
		ErrTune: {
			Title: "a tune clause or an extent that cannot be",
			Doc: `` + "`" + `tune` + "`" + ` limits the extent of an axis, by the name after its ` + "`" + `by` + "`" + `. Extents are at
least 1, and need not be powers of two. Where the program uses ` + "`" + `i.start` + "`" + ` or ` + "`" + `i.end` + "`" + `, these are the bounds
of a run of as many positions as the largest choice says, which the other choices must divide; and where a
result depends on an extent, a ` + "`" + `@target` + "`" + ` may not give another one.`,
			Fails: `kernel add(x: f32[N], y: f32[N]) -> z: f32[N]
    tune BN in {64, 128}
    grid i in N by B
{
    z[i] = x[i] + y[i]
}
`,
			Works: `kernel add(x: f32[N], y: f32[N]) -> z: f32[N]
    tune B in {64, 128}
    grid i in N by B
{
    z[i] = x[i] + y[i]
}
`,
		},
		ErrConstParam: {
			Title: "a constant parameter without a value, or of another type",
			Doc: `A constant parameter is given by name, ` + "`" + `f(x, CAUSAL = false)` + "`" + `, unless it has a
default.`,
			Fails: `kernel scale<const TWICE: bool>(x: f32[N]) -> y: f32[N]
    grid i in N by B
{
    y[i] = if TWICE { 2 * x[i] } else { x[i] }
}
graph g(x: f32[N]) -> y: f32[N] {
    y = scale(x)
}
`,
			Works: `kernel scale<const TWICE: bool>(x: f32[N]) -> y: f32[N]
    grid i in N by B
{
    y[i] = if TWICE { 2 * x[i] } else { x[i] }
}
graph g(x: f32[N]) -> y: f32[N] {
    y = scale(x, TWICE = true)
}
`,
		},
		ErrImport: {
			Title: "a file that cannot be imported",
			Doc: `` + "`" + `import "std/nn"` + "`" + ` is a file of the standard library, every other path is relative
to the importing file.`,
			Fails: `import "nowhere"
`,
			Works: `-- main.tile --
import "shapes"
fn area(x) = double(x) * x
-- shapes.tile --
fn double(x) = 2 * x
`,
		},
		ErrImportCycle: {
			Title: "files that import each other",
			Doc: `Imports have an order: a file can be read before those that import it. Move what
two files share into a third.`,
			Fails: `-- main.tile --
import "other"
fn one(x) = x
-- other.tile --
import "main"
fn two(x) = 2 * x
`,
			Works: `-- main.tile --
import "other"
fn one(x) = two(x)
-- other.tile --
fn two(x) = 2 * x
`,
		},
		ErrImportedName: {
			Title: "one name from two files",
			Doc: `The names of an imported file are used as they are, so that none of them may be
declared here, or in another imported file.`,
			Fails: `-- main.tile --
import "other"
fn double(x) = x + x
-- other.tile --
fn double(x) = 2 * x
`,
			Works: `-- main.tile --
import "other"
fn twice(x) = double(x)
-- other.tile --
fn double(x) = 2 * x
`,
		},
	} {
		codeTable[code] = row
	}
}
