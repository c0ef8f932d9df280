package graph_test

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tilec/jit"
	"tilec/jit/compile"
	"tilec/jit/graph"
	"tilec/jit/jittest"
	"tilec/jit/target"
	"tilec/lang"
	"tilec/typecheck/typed"
)

// launches gives the launches of graph g of a program, on a GPU, after each pass that changed them.
func launches(t *testing.T, path, source, name string, opts graph.Options) (bound *graph.Bound, after map[string]string) {
	t.Helper()
	return launchesFor(t, "sm_90a", path, source, name, opts)
}

// launchesFor is launches for a machine.
func launchesFor(t *testing.T, machine, path, source, name string, opts graph.Options) (bound *graph.Bound, after map[string]string) {
	t.Helper()
	program, problems := jit.Load(path, []byte(source), nil)
	require.Empty(t, problems)
	var device jit.Device = jit.OpenCPU()
	if machine != "cpu" {
		var err error
		device, err = jit.OpenDevice("emu:" + machine)
		require.NoError(t, err)
	}
	after = map[string]string{}
	opts.Dump = func(pass string, launches lang.Listing) { after[pass] = launches.String() }
	var g *typed.Graph
	for _, h := range program.Graphs {
		if h.Name == name {
			g = h
		}
	}
	require.NotNil(t, g)
	bound, err := graph.BindSizes(&jit.NewCompiler(device, nil).Compiler, g, opts)
	require.NoError(t, err)
	return bound, after
}

// Each pass does to its example what its row says.
func TestPassesDoAsTheirExamplesSay(t *testing.T) {
	for _, p := range graph.Passes() {
		t.Run(p.Name, func(t *testing.T) {
			assert.NotEmpty(t, p.Doc)
			_, after := launches(t, p.Name+".tile", p.Source, "g", graph.Options{Dims: map[string]int64{"N": 100}})
			assert.Equal(t, p.Before, after[""])
			assert.Equal(t, p.After, after[p.Name])
		})
	}
}

// A step of GPT-2 has five launches a layer, and an embedding, the last norm and the head; of one text four, for the heads' parts of the
// projection are added up where the two products behind attention read them. Of several texts with long caches the parts
// of attention are joined by a launch of their own, of a large batch norms have launches of their own.
func TestLaunchesOfAStep(t *testing.T) {
	for _, c := range []struct {
		texts, room int64
		ofALayer    int
	}{
		{1, 256, 4}, {1, 1024, 4}, {4, 256, 5}, {8, 256, 5}, {8, 1024, 6}, {16, 256, 5}, {32, 256, 7},
	} {
		bound, after := launches(t, "gpt.tile", gptSource(t), "forward", graph.Options{
			Dims:  map[string]int64{"B": c.texts, "S": 1, "L": 2, "C": 768, "H": 12, "F": 3072, "V": 50257, "P": 1024, "R": c.room},
			Types: map[string]lang.DType{"T": lang.BF16},
		})
		assert.Equal(t, 2*c.ofALayer+3, len(bound.Calls), "%d texts, room for %d: %s", c.texts, c.room, after["beside"])
	}
}

// Norms are computed in the products behind them where that delays these by less than a launch: of short rows, and of one row, of a longer one where
// it is reduced once. A layer of a Llama has six launches then: what is normalised and multiplied, what is turned and stored, two of attention, and the unit's two.
func TestNormsInProducts(t *testing.T) {
	llama, err := os.ReadFile("../../gpt/llama.tile")
	require.NoError(t, err)
	for _, c := range []struct {
		texts, width int64
		llama        bool
		launches     int // of a layer
		within       int // norms of it that are in products
	}{
		{1, 1024, false, 5, 2}, {2, 1024, false, 5, 2}, {4, 1024, false, 7, 0}, {1, 1280, false, 5, 2}, {1, 1600, false, 7, 0}, {16, 768, false, 5, 2},
		{1, 2048, true, 6, 2}, {2, 2048, true, 9, 0}, {1, 3072, true, 8, 0},
	} {
		name, text := "gpt.tile", gptSource(t)
		options := graph.Options{
			Dims:  map[string]int64{"B": c.texts, "S": 1, "L": 1, "C": c.width, "H": c.width / 64, "F": 4 * c.width, "V": 50257, "P": 1024, "R": 256},
			Types: map[string]lang.DType{"T": lang.BF16},
		}
		if c.llama {
			name, text = "llama.tile", string(llama)
			options = graph.Options{
				Dims:   map[string]int64{"B": c.texts, "S": 1, "L": 1, "C": c.width, "KV": 8, "D": 64, "F": 4 * c.width, "V": 128256, "R": 1024},
				Consts: map[string]lang.Literal{"H": {DType: lang.I32, Int: c.width / 64}},
				Types:  map[string]lang.DType{"T": lang.BF16, "W": lang.BF16},
			}
		}
		bound, after := launches(t, name, text, "forward", options)
		within, others := 0, 0
		for _, call := range bound.Calls {
			name := call.Spec.Name()
			if strings.HasPrefix(name, "layernorm > ") || strings.HasPrefix(name, "rmsnorm > ") {
				within++
			}
			if name == "embedding" || name == "lookup" || name == "rotary_angles" || name == "head" {
				others++
			}
		}
		assert.Equal(t, c.within, within, "%d texts, %d wide: %s", c.texts, c.width, after["beside"])
		assert.Equal(t, c.launches, len(bound.Calls)-others-1, "%d texts, %d wide: %s", c.texts, c.width, after["beside"]) // but for the last norm
	}
}

// What is little to compute, as the sum of a few parts, is computed in each launch that reads it, of all or of none.
func TestWhatIsLittleIsComputedByEachReader(t *testing.T) {
	const head = `import "std/nn"

kernel put(x: f32[M, H, K], inout y: f32[M, H, K])
    grid i in M, h in H, k in K by B
{
    y[i, h, k] = x[i, h, k] * 2
}

graph g(parts: f32[M, H, K], g: f32[K], inout other: f32[M, H, K]) -> (y: f32[M, K], z: f32[M, K]) {
`
	const body = "let x = add_parts(parts)\ny = softmax(x)\nz = layernorm(x, g, g)\n"
	for _, c := range []struct {
		name, target, body string
		rows, parts        int64
		launches           int
	}{
		{"a row of a few parts", "sm_90a", body, 1, 8, 2},
		{"many rows, which both would read", "sm_90a", body, 4096, 8, 3},
		{"a norm, for which threads wait for each other", "sm_90a", "let x = layernorm(add_parts(parts), g, g)\ny = softmax(x)\nz = layernorm(x, g, g)\n", 1, 8, 3},
		{"on the CPU, where a launch costs next to nothing", "cpu", body, 1, 8, 3},
		{"parts that are written before the second reads", "sm_90a", "let x = add_parts(other)\ny = softmax(x)\nput(parts, other)\nz = layernorm(x, g, g)\n", 1, 8, 4},
	} {
		t.Run(c.name, func(t *testing.T) {
			bound, after := launchesFor(t, c.target, "g.tile", head+c.body+"}\n", "g", graph.Options{Dims: map[string]int64{"M": c.rows, "H": c.parts, "K": 512}})
			assert.Len(t, bound.Calls, c.launches, "%s", after["beside"])
		})
	}
}

// The blocks of a launch that begins while others run leave these multiprocessors: those of queries, keys and values are 36 of GPT-2's 124M. Where that
// takes larger tiles than pay, they are as many as are fastest alone. All of a product's depth is in a block, of 32 rows too, of which a block has 16
// where not all fit.
func TestLaunchesOfAStepLeaveRoom(t *testing.T) {
	for _, c := range []struct {
		batch, width int64
		tiles        [][2]int64 // of queries, keys and values; the projection, where it is no part of attention; the two products behind attention
	}{
		{1, 768, [][2]int64{{1, 64}, {1, 64}, {1, 16}}},
		{1, 1024, [][2]int64{{1, 32}, {1, 16}, {1, 16}, {1, 16}}},
		{24, 768, [][2]int64{{32, 64}, {16, 32}, {32, 64}, {16, 16}}},
		{32, 768, [][2]int64{{32, 64}, {16, 32}, {32, 64}, {16, 16}}},
	} {
		bound, _ := launchesFor(t, "sm_90a", "gpt.tile", gptSource(t), "forward", graph.Options{
			Dims:  map[string]int64{"B": c.batch, "S": 1, "L": 1, "C": c.width, "H": c.width / 64, "F": 4 * c.width, "V": 50257, "P": 1024, "R": 256},
			Types: map[string]lang.DType{"T": lang.BF16},
		})
		m, err := target.Find("sm_90a")
		require.NoError(t, err)
		var tiles [][2]int64
		for _, call := range bound.Calls {
			if name := call.Spec.Name(); !strings.Contains(name, "project") || name == "attention_projected" {
				continue
			}
			l, err := compile.Lower(call.Spec, m, nil)
			require.NoError(t, err)
			tiles = append(tiles, [2]int64{l.Plan.Extents["i"], l.Plan.Extents["j"]})
			assert.NotContains(t, l.Plan.String(), "stream", call.Spec.Name())
		}
		assert.Equal(t, c.tiles, tiles, "%d rows of %d", c.batch, c.width)
	}
}

// Of a prompt, what stands behind the last layer's attention is computed for the last position alone.
func TestAPromptNeedsOneRowOfTheLastLayer(t *testing.T) {
	_, after := launches(t, "gpt.tile", gptSource(t), "forward", graph.Options{
		Dims:  map[string]int64{"B": 1, "S": 128, "L": 3, "C": 768, "H": 12, "F": 3072, "V": 50257, "P": 1024, "R": 1024},
		Types: map[string]lang.DType{"T": lang.BF16},
	})
	text := after["narrow"]
	last := strings.LastIndex(text, "= attention(")
	require.Positive(t, last)
	behind := text[last+strings.Index(text[last:], "\n"):]
	assert.Equal(t, 4, strings.Count(behind, " = project(")+strings.Count(behind, " = head("))
	assert.NotContains(t, behind, "[128, ")
}

// A product is computed where it is read only where that is predicted to be faster: summed up row by row it would be a product of vectors. What stands behind it along the channels of an image is computed where
// it is stored, whatever else the image's shape is.
func TestProductsStayProducts(t *testing.T) {
	const source = `import "std/math"

kernel product(x: f32[M, K], w: f32[N, K]) -> y: f32[M, N] {
    y[i, j] = sum(x[i, k] * w[j, k], over k)
}

kernel total(x: f32[M, N]) -> y: f32[M] {
    y[i] = sum(x[i, j], over j)
}

kernel along(x: f32[B, C, P], b: f32[C]) -> y: f32[B, C, P] {
    y[n, c, p] = x[n, c, p] + b[c]
}

kernel conv(x: f32[B, C, H, W], w: f32[O, C, 3, 3]) -> y: f32[B, O, H - 2, W - 2] {
    y[n, o, h, v] = sum(x[n, c, h + r, v + s] * w[o, c, r, s], over (c, r, s))
}

graph totals(x: f32[M, K], w: f32[N, K]) -> y: f32[M] {
    y = total(relu(product(x, w)))
}

graph rows(x: f32[M, K], w: f32[N, K], b: f32[N]) -> y: f32[M, N, 1] {
    y = relu(along(view(product(x, w), [M, N, 1]), b))
}

graph images(x: f32[B, C, H, W], w: f32[O, C, 3, 3], b: f32[O]) -> y: f32[B, O, (H - 2) * (W - 2)] {
    y = relu(along(view(conv(x, w), [B, O, (H - 2) * (W - 2)]), b))
}
`
	for _, c := range []struct {
		graph    string
		dims     map[string]int64
		launches int
	}{
		{"totals", map[string]int64{"M": 1024, "K": 8192, "N": 8192}, 2},
		{"rows", map[string]int64{"M": 1024, "K": 512, "N": 512}, 1},
		{"rows", map[string]int64{"M": 1, "K": 512, "N": 512}, 1},
		{"images", map[string]int64{"B": 2, "C": 8, "H": 18, "W": 19, "O": 32}, 1},
	} {
		_, after := launches(t, "g.tile", source, c.graph, graph.Options{Dims: c.dims})
		assert.Equal(t, c.launches, strings.Count(after["fuse"], " = "), "%s: %s", c.graph, after["fuse"])
	}
}

func gptSource(t testing.TB) string {
	data, err := os.ReadFile(jittest.Path(t, "gpt/gpt.tile"))
	require.NoError(t, err)
	text := strings.ReplaceAll(string(data), "start: i32,", "start: i32[B],")
	text = regexp.MustCompile(`@generate|@logits`).ReplaceAllString(text, "") // they say how the command calls it
	for _, attribute := range []string{"@config(", "@require("} {
		for at := strings.Index(text, attribute); at >= 0; at = strings.Index(text, attribute) {
			end := at + len(attribute)
			for open := 1; open > 0; end++ {
				switch text[end] {
				case '(':
					open++
				case ')':
					open--
				}
			}
			text = text[:at] + text[end:]
		}
	}
	return text
}
