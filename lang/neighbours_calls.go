package lang

import "strings"

// This file and those beside it are the words themselves. In the forms, x, t, y and s are tensors over M and N,
// v one over N, a and b are tiles of floats over (i, j), n and m of integers, c of bools; axis j is the whole of N.

// named makes rows of words that have one form. (Inlined where each row of the tables is made, the loop would be 100 KB of the binary; so would that of same.)
//
//go:noinline
func named(words string, row Neighbour) []Neighbour {
	var rows []Neighbour
	for _, w := range strings.Fields(words) {
		row.Word = w
		rows = append(rows, row)
	}
	return rows
}

// same makes rows of functions that have the same name here, for where they are called through a module or as methods.
//
//go:noinline
func same(words, arguments, graph string) []Neighbour {
	var rows []Neighbour
	for _, w := range strings.Fields(words) {
		rows = append(rows, Neighbour{Word: w, Ours: w + "(" + arguments + ")", Graph: graph})
	}
	return rows
}

func rows(parts ...[]Neighbour) []Neighbour {
	var all []Neighbour
	for _, p := range parts {
		all = append(all, p...)
	}
	return all
}

const (
	gridProgram = `kernel k(x: f32[M, N]) -> y: f32[M, N]
    grid i in M by BM
{
    axis j in N
    y[i, j] = x[i, j] / (index(i) - i.start + 1) as f32
}
`
	loopProgram = `kernel k(x: f32[M, K]) -> y: f32[M]
    grid i in M by BM
{
    y[i] = for k in K by BK with acc = zeros(f32, i) { acc + sum(x[i, k], over k) }
}
`
	dotProgram = `kernel k(x: f32[M, K], w: f32[K, N]) -> y: f32[M, N]
    grid i in M by BM, j in N by BN
{
    y[i, j] = for k in K by BK with acc = zeros(f32, i, j) {
        let (a, b) = (x[i, k], w[k, j])
        acc + dot(a, b)
    }
}
kernel l(x: f32[M, K], w: f32[K, N]) -> y: f32[M, N]
    grid i in M by BM, j in N by BN
{
    y[i, j] = for k in K by BK with acc = zeros(f32, i, j) {
        let (a, b) = (x[i, k], w[k, j])
        mma(a, b, acc)
    }
}
`
	scatterProgram = `kernel k(x: f32[M, N], ids: i32[M], inout s: f32[K, N])
    grid i in M by BM
{
    axis j in N
    let (a, n) = (x[i, j], ids[i])
    atomic_xchg(s[n, j], a)
}
`
	transposeProgram = `kernel k(x: f32[M, N]) -> y: f32[N, M] {
    y[j, i] = x[i, j]
}
`
	mergeProgram = `kernel k(x: f32[M, H, E]) -> y: f32[M, H * E]
    grid i in M by BM
{
    axis h in H
    axis e in E
    axis d in H * E
    let v = merge(x[i, h, e], (h, e) -> d)
    y[i, d] = v + merge(split(v, d -> (h, e)), (h, e) -> d)
}
`
	catProgram = `kernel k(x: f32[M, N], t: f32[M, N]) -> y: f32[M, 2 * N]
    grid i in M by BM
{
    axis p in N
    axis q in N
    axis d in 2 * N
    y[i, d] = cat(x[i, p], t[i, q], (p, q) -> d)
}
`
	sliceProgram = `kernel k(x: f32[M, 8]) -> y: f32[M, 4]
    grid i in M by BM
{
    axis j in 8
    axis r in 4
    let a = x[i, j]
    y[i, r] = slice(a, j[2 .. 6] -> r)
}
`
	topkProgram = `kernel k(x: f32[M, N]) -> y: f32[M, 4]
    grid i in M by BM
{
    axis j in N
    axis r in 4
    let a = x[i, j]
    let (v, _) = topk(a, r, over j)
    y[i, r] = v
}
`
	constProgram = `kernel k<const C: int = 4>(x: f32[N]) -> y: f32[N] {
    y[i] = x[i] * C
}
`
	graphProgram = `kernel twice(x: f32[N]) -> y: f32[N] {
    y[i] = x[i] * 2
}
graph g(x: f32[N]) -> y: f32[N] {
    y = twice(x)
}
`
	testProgram = `test "sums" {
    let (a, b) = ([1.0, 2.0], [1.0, 2.0])
    check close(a, b, rel = 1e-5)
    check a == b
}
`
)

var memoryNeighbours = rows(
	named("program_id bid", Neighbour{Ours: "grid i in M by BM", Graph: InKernel, Example: gridProgram,
		More: "the axis is its positions, `index(i)` all of a block's and `i.start` the first"}),
	named("num_programs num_blocks", Neighbour{Ours: "i.end - i.start", Graph: InKernel,
		More: "how many blocks there are is the compiler's choice; this is how many positions the block has"}),
	named("num_tiles range static_range static_iter enumerate", Neighbour{Ours: "for k in K by BK", Graph: InKernel, Example: loopProgram,
		More: "a loop walks a dimension in parts; `for n in 12` counts"}),
	named("load", Neighbour{Ours: "x[i, j]", Graph: InKernel, More: "indexing with axes reads, and what does not exist is not read; `x[i, j + 1] else 0` where an index may lie outside"}),
	named("store", Neighbour{Ours: "y[i, j] = a", Graph: InKernel, More: "what does not exist is not stored"}),
	named("make_tensor_descriptor load_tensor_descriptor store_tensor_descriptor tensor_descriptor cutile_tensor_descriptor make_block_ptr advance load_advanced_indexing", Neighbour{
		Ours: "x[i, j]", Graph: InKernel, More: "how data moves, by TMA or otherwise, is the planner's choice"}),
	named("gather take take_along_axis", Neighbour{Ours: "x[n, j] else 0", Graph: InKernel, More: "an index may be a tile of integers; `pick(a, j, n) else 0` of a tile"}),
	named("scatter store_advanced_indexing put put_along_axis", Neighbour{Ours: "atomic_xchg(s[n, j], a)", Graph: InKernel, Example: scatterProgram,
		More: "blocks that could meet say that any of them may win; where none can, `y[n, j] = a`"}),
	same("atomic_add atomic_max atomic_min atomic_xchg", "s[i, j], a", InKernel),
	same("atomic_and atomic_or atomic_xor", "counts[n], 1", InKernel),
	same("atomic_cas", "counts[n], 0, 1", InKernel),
	named("histogram bincount", Neighbour{Ours: "atomic_add(counts[n], 1)", Graph: InKernel}),

	named("arange", Neighbour{Ours: "iota(j)", Graph: "arange(i32, [M, N])", More: "it counts the elements of an axis; `index(j)` is their positions in the dimension"}),
	same("zeros ones", "f32, i, j", "zeros(f32, [M, N])"),
	same("full", "f32, 0.5, i, j", "full(f32, 0.5, [M, N])"),
	named("zeros_like empty empty_like", Neighbour{Ours: "zeros(f32, i, j)", Graph: "zeros(f32, [M, N])"}),
	named("ones_like", Neighbour{Ours: "ones(f32, i, j)", Graph: "ones(f32, [M, N])"}),
	named("full_like", Neighbour{Ours: "full(f32, 0.5, i, j)", Graph: "full(f32, 0.5, [M, N])"}),
	named("array asarray", Neighbour{Ours: "x: f32[M, N]", Graph: "[[1.0, 2.0], [3.0, 4.0]]", More: "arrays are parameters", Example: gridProgram}),
	named("eye identity", Neighbour{Ours: "where(index(i) == index(j), 1.0, 0.0)", Graph: InKernel}),
	named("linspace", Neighbour{Ours: "index(j) as f32 / (N - 1) as f32", Graph: InKernel, More: "scale and shift it"}),
	named("meshgrid indices", Neighbour{Ours: "index(i)", Graph: InKernel, More: "tiles of positions broadcast by the names of their axes"}),
	named("rand random random_sample rand4x philox philox_impl uniform uint_to_uniform_float", Neighbour{Ours: "rand(seed, i, j)", Graph: "rand(f32, [M, N], 1)",
		More: "by position, so it does not depend on blocks"}),
	named("randn normal standard_normal randn4x pair_uniform_to_normal", Neighbour{Ours: "randn(seed, i, j)", Graph: "randn(f32, [M, N], 1)"}),
	named("randint randint4x integers", Neighbour{Ours: "random_bits(seed, i, j) % 10", Graph: "random_bits([M, N], 1) % 10"}),
)

var shapeNeighbours = rows(
	named("reshape ravel flatten resize", Neighbour{Ours: "merge(a, (h, e) -> d)", Graph: "view(x, [M * N])", Example: mergeProgram,
		More: "axes are named, so it says which become one; `split(a, d -> (h, e))` is the reverse"}),
	named("view", Neighbour{Ours: "merge(a, (h, e) -> d)", Graph: "view(x, [M * N])", Example: mergeProgram, More: "`split(a, d -> (h, e))` is the reverse"}),
	named("permute transpose trans swapaxes moveaxis", Neighbour{Ours: "y[j, i] = x[i, j]", Graph: InKernel, Example: transposeProgram,
		More: "axes have names, so the order in which they stand is the transposition"}),
	named("expand_dims unsqueeze squeeze atleast_2d", Neighbour{Ours: "x[i, j] * v[j]", Graph: InKernel, More: "tiles broadcast by the names of their axes"}),
	named("broadcast_to broadcast broadcast_arrays", Neighbour{Ours: "broadcast(a, i, j)", Graph: InKernel, More: "rarely needed: tiles broadcast by the names of their axes"}),
	named("cat join stack hstack vstack concatenate concat interleave append", Neighbour{Ours: "cat(a, b, (p, q) -> d)", Graph: InKernel, Example: catProgram,
		More: "it names the axes that are joined"}),
	named("split array_split", Neighbour{Ours: "pick(a, j, 0)", Graph: InKernel, More: "the elements at a position of an axis; `split(a, d -> (h, e))` makes two axes of one"}),
	named("extract", Neighbour{Ours: "slice(a, j[2 .. 6] -> r)", Graph: InKernel, Example: sliceProgram}),
	named("slice", Neighbour{Ours: "slice(a, j[2 .. 6] -> r)", Graph: "x[0 .. 4]", Example: sliceProgram}),
	named("insert", Neighbour{Ours: "insert(a, j, 0, 1.0)", Graph: InKernel}),
	named("flip flipud fliplr", Neighbour{Ours: "pick(a, j, N - 1 - index(j))", Graph: InKernel}),
	named("roll", Neighbour{Ours: "pick(a, j, (index(j) + 1) % N) else 0", Graph: InKernel}),
	named("repeat", Neighbour{Ours: "pick(a, j, index(j) / 2)", Graph: InKernel}),
	named("tile", Neighbour{Ours: "pick(a, j, index(j) % 4) else 0", Graph: InKernel}),
	named("pad", Neighbour{Ours: "x[i, j - 1] else 0", Graph: InKernel}),
	named("diff", Neighbour{Ours: "(x[i, j + 1] else 0) - x[i, j]", Graph: InKernel}),
	named("diag diagonal", Neighbour{Ours: "sum(where(index(i) == index(j), a, 0), over j)", Graph: InKernel}),
	named("trace", Neighbour{Ours: "sum(where(index(i) == index(j), a, 0), over j)", Graph: InKernel, More: "and an `atomic_add` of its sum"}),
	named("tril", Neighbour{Ours: "where(index(i) >= index(j), a, 0)", Graph: InKernel}),
	named("triu", Neighbour{Ours: "where(index(i) <= index(j), a, 0)", Graph: InKernel}),
	named("cast astype to convert astile to_tensor asfarray", Neighbour{Ours: "a as f16", Graph: "x as f16", More: "convert with `as`"}),
	named("float", Neighbour{Ours: "n as f32", Graph: "n as f32", More: "convert with `as`; infinity is `inf`"}),
	named("int long", Neighbour{Ours: "a as i32", Graph: "x as i32", More: "convert with `as`"}),
	named("half", Neighbour{Ours: "a as f16", Graph: "x as f16", More: "convert with `as`"}),
	named("double", Neighbour{Ours: "a as f64", Graph: "x as f64", More: "convert with `as`"}),
	named("bitcast pack_to_bytes unpack_from_bytes frombuffer", Neighbour{Ours: "bitcast(a, i32)", Graph: "bitcast(x, i32)"}),
	named("contiguous clone copy ascontiguousarray detach cpu cuda", Neighbour{Ours: "y[i, j] = x[i, j]", Graph: "y = x", More: "values never change, so nothing is copied to keep it"}),
	named("len", Neighbour{Ours: "x.shape[0]", Graph: "x.shape[0]", More: "a dimension is also known by its name"}),
	named("shape size numel stride", Neighbour{Ours: "x.shape[0]", Graph: "x.shape[0]", More: "a dimension is also known by its name, and strides are the compiler's affair"}),
)

var reduceNeighbours = rows(
	same("sum max min mean prod argmax argmin cumsum cumprod", "a, over j", InKernel),
	same("any all", "c, over j", InKernel),
	named("amax nanmax", Neighbour{Ours: "max(a, over j)", Graph: InKernel}),
	named("amin nanmin", Neighbour{Ours: "min(a, over j)", Graph: InKernel}),
	named("nansum", Neighbour{Ours: "sum(where(isnan(a), 0, a), over j)", Graph: InKernel}),
	named("average", Neighbour{Ours: "mean(a, over j)", Graph: InKernel}),
	named("var", Neighbour{Ours: "mean((a - mean(a, over j)) ** 2, over j)", Graph: InKernel}),
	named("std", Neighbour{Ours: "sqrt(mean((a - mean(a, over j)) ** 2, over j))", Graph: InKernel}),
	named("norm", Neighbour{Ours: "sqrt(sum(a * a, over j))", Graph: InKernel}),
	named("ptp", Neighbour{Ours: "max(a, over j) - min(a, over j)", Graph: InKernel}),
	named("count_nonzero", Neighbour{Ours: "sum((a != 0) as i32, over j)", Graph: InKernel}),
	named("searchsorted", Neighbour{Ours: "sum((a < 0.5) as i32, over j)", Graph: InKernel, More: "how many elements lie before the value"}),
	named("logsumexp", Neighbour{Ours: "log(sum(exp(a - max(a, over j)), over j)) + max(a, over j)", Graph: InKernel}),
	named("softmax", Neighbour{Ours: "exp(a - max(a, over j)) / sum(exp(a - max(a, over j)), over j)", Graph: InKernel, More: "`softmax` of std/nn is a kernel"}),
	named("reduce", Neighbour{Ours: "reduce(a, over j, 0.0, (p, q) => p + q)", Graph: InKernel}),
	named("xor_sum", Neighbour{Ours: "reduce(n, over j, 0, (p, q) => p ^ q)", Graph: InKernel}),
	named("reduce_or", Neighbour{Ours: "reduce(n, over j, 0, (p, q) => p | q)", Graph: InKernel}),
	named("scan associative_scan accumulate", Neighbour{Ours: "scan(a, over j, 0.0, (p, q) => p + q)", Graph: InKernel}),
	named("cummax", Neighbour{Ours: "scan(a, over j, -inf, (p, q) => max(p, q))", Graph: InKernel}),
	named("sort bitonic_merge", Neighbour{Ours: "sort(a, over j)", Graph: InKernel}),
	named("argsort", Neighbour{Ours: "let (_, at) = sort((a, index(j)), over j)", Graph: InKernel, More: "the first is the key, and the others move with it"}),
	named("median quantile percentile", Neighbour{Ours: "pick(sort(a, over j), j, N / 2) else 0", Graph: InKernel}),
	named("topk argpartition partition", Neighbour{Ours: "topk(a, r, over j)", Graph: InKernel, Example: topkProgram, More: "as many as the axis r has places, and where they stand"}),
	named("dot matmul mm bmm inner tensordot vdot linear", Neighbour{Ours: "dot(a, b)", Graph: InKernel, Example: dotProgram,
		More: "it contracts the axes that both have; `linear` of std/nn is a kernel that does"}),
	named("mma addmm", Neighbour{Ours: "mma(a, b, acc)", Graph: InKernel, Example: dotProgram}),
	named("dot_scaled mma_scaled", Neighbour{Ours: "mma(a, b, acc)", Graph: InKernel, Example: dotProgram, More: "then multiply by the scales"}),
	named("einsum", Neighbour{Ours: "sum(a * b, over j)", Graph: InKernel, More: "the names of the axes are the subscripts"}),
	named("outer kron", Neighbour{Ours: "x[i, j] * v[j]", Graph: InKernel, More: "tiles broadcast by the names of their axes"}),
)
