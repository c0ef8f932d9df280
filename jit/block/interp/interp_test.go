package interp

import (
	"fmt"
	"math"
	"math/rand"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"tilec/jit/block"
	"tilec/jit/cpu"
	"tilec/jit/ir"
	"tilec/jit/jittest/sweep"
	"tilec/jit/target"
	"tilec/lang"
)

// program is a kernel with extents, settings and the sizes of a launch.
type program struct {
	name     string
	extents  map[string]int64
	settings block.Settings
	sizes    map[string]int64
	scalars  []uint64
	machine  string
	// dims are sizes that take the place of those that the kernel has.
	dims map[string]int64
	// alone is the kernel that one block runs instead of several; "" for the same.
	alone string
}

// kernel reads a kernel, and gives its axes the program's extents.
func (e program) kernel(t *testing.T, name string) *ir.Func {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", name+".tir"))
	if err != nil {
		text, err = os.ReadFile(filepath.Join("..", "..", "ir", "testdata", name+".tir"))
	}
	require.NoError(t, err)
	f, err := ir.Parse(name, string(text))
	require.NoError(t, err)
	for _, d := range f.Dims {
		if n, ok := e.dims[d.Name]; ok {
			d.Value = n
		}
	}
	for _, a := range f.Axes {
		if n, ok := e.dims[a.Dim.Name]; a.Kind == ir.Whole && ok {
			a.Len = n
		}
		switch extent, ok := e.extents[a.Name]; {
		case ok:
			a.Extent = extent
		case a.Scalar:
			a.Extent = 1
		case a.Kind == ir.Whole:
			a.Extent = a.Len
		}
	}
	return f
}

// decide decides a program.
func (e program) decide(t *testing.T) *block.Program {
	t.Helper()
	f := e.kernel(t, e.name)
	machine := e.machine
	if machine == "" {
		machine = "sm_90a"
	}
	m, err := target.Find(machine)
	require.NoError(t, err)
	p, err := block.Decide(f, e.settings, m)
	require.NoError(t, err)
	require.NoError(t, p.Verify())
	return p
}

// onCPU is what the CPU runs beside: the kernel with rows in scratch memory, or another where blocks share an axis.
func (e program) onCPU(t *testing.T) *ir.Func {
	name := e.name
	if e.alone != "" {
		name = e.alone
	}
	f := e.kernel(t, name)
	for _, x := range f.Tensors {
		x.Shared = false
	}
	return f
}

// compare runs a program in the interpreter and its tile IR on the CPU. The error is that of the interpreter, or says which results differ
// by more than a tolerance.
func (e program) compare(t *testing.T, p *block.Program, order Order, tolerance float64) error {
	t.Helper()
	size := func(d *ir.Dim) int64 {
		if d.Known() {
			return d.Value
		}
		n, ok := e.sizes[d.Name]
		require.True(t, ok, "no size for %s", d.Name)
		return n
	}
	r := rand.New(rand.NewSource(1))
	args := Args{Tensors: map[*ir.Tensor][]byte{}, Scalars: map[*ir.Value]uint64{}, Size: size}
	want := cpu.Args{Scalars: e.scalars}
	for _, x := range p.Func.Tensors {
		if x.Scratch {
			continue
		}
		n := int64(1)
		for _, d := range x.Shape {
			n *= size(d)
		}
		mine := make([]byte, x.DType.Bytes(n))
		for i := range n {
			if x.DType.IsFloat() {
				x.DType.PutRawBitsAt(mine, i, x.DType.FloatBits(r.NormFloat64()))
			} else {
				x.DType.PutRawBitsAt(mine, i, uint64(r.Intn(100)))
			}
		}
		args.Tensors[x] = mine
		want.Tensors = append(want.Tensors, append([]byte(nil), mine...))
	}
	for i, v := range p.Func.Scalars {
		args.Scalars[v] = e.scalars[i]
	}
	for _, d := range p.Func.Dims {
		if !d.Known() {
			want.Dims = append(want.Dims, size(d))
		}
	}
	if err := Run(p, args, order); err != nil {
		return err
	}
	c, err := cpu.Compile(e.onCPU(t))
	require.NoError(t, err)
	require.NoError(t, c.Run(want))
	for i, x := range p.Func.Tensors {
		if x.Mode == lang.In || x.Scratch {
			continue
		}
		for n := range x.DType.Elements(int64(len(want.Tensors[i]))) {
			a, b := x.DType.ElementAt(want.Tensors[i], n), x.DType.ElementAt(args.Tensors[x], n)
			if a != b && !(math.IsNaN(a) && math.IsNaN(b)) && !(math.Abs(a-b) <= tolerance*(1+math.Abs(a))) {
				return fmt.Errorf("%s: element %d of %s is %v, the tile IR gives %v", e.name, n, x.Name, b, a)
			}
		}
	}
	return nil
}

func f32(f float32) uint64 { return uint64(math.Float32bits(f)) }

// examples are the IR's example kernels under plans that have the forms of blocks.
var examples = []program{
	{name: "add", extents: map[string]int64{"i": 1024}, settings: block.Settings{Warps: 4, Stages: 1}, sizes: map[string]int64{"N": 3000}},
	{name: "softmax", extents: map[string]int64{"i": 4}, settings: block.Settings{Warps: 4, Stages: 1}, sizes: map[string]int64{"M": 6}},
	{name: "softmax", extents: map[string]int64{"i": 1}, settings: block.Settings{Warps: 4, Stages: 1}, sizes: map[string]int64{"M": 2}},
	{name: "layernorm", extents: map[string]int64{"i": 2}, settings: block.Settings{Warps: 4, Stages: 1}, sizes: map[string]int64{"M": 5}, scalars: []uint64{f32(1e-5)}},
	{name: "embed", extents: map[string]int64{"s": 4, "c": 256}, settings: block.Settings{Warps: 4, Stages: 1}, sizes: map[string]int64{"B": 2, "S": 5}, dims: map[string]int64{"V": 90, "C": 512}},
	{name: "linear_gelu", extents: map[string]int64{"i": 64, "j": 192, "k": 32}, settings: block.Settings{Warps: 8, Stages: 3}, sizes: map[string]int64{"M": 5}, dims: map[string]int64{"K": 320, "N": 192}},
	{name: "linear_gelu", extents: map[string]int64{"i": 64, "j": 192, "k": 32}, settings: block.Settings{Warps: 8, Stages: 3}, sizes: map[string]int64{"M": 5}, machine: "sm_80", dims: map[string]int64{"K": 320, "N": 192}},
	{name: "linear_gelu", extents: map[string]int64{"i": 128, "j": 128, "k": 64}, settings: block.Settings{Warps: 8, Stages: 4}, sizes: map[string]int64{"M": 130}, dims: map[string]int64{"K": 320, "N": 256}},
	{name: "linear_gelu", extents: map[string]int64{"i": 64, "j": 128, "k": 64}, settings: block.Settings{Warps: 4, Stages: 4, Persist: 2}, sizes: map[string]int64{"M": 130}, dims: map[string]int64{"K": 320, "N": 256}},
	{name: "linear_gelu", extents: map[string]int64{"i": 64, "j": 128, "k": 64}, settings: block.Settings{Warps: 4, Stages: 4, Persist: 1}, sizes: map[string]int64{"M": 130}, dims: map[string]int64{"K": 320, "N": 256}},
	{name: "attention", extents: map[string]int64{"i": 64, "j": 64}, settings: block.Settings{Warps: 4, Stages: 2}, sizes: map[string]int64{"B": 1, "S": 150}, scalars: []uint64{f32(0.125)}, dims: map[string]int64{"H": 2}},
	{name: "attention", extents: map[string]int64{"i": 64, "j": 64}, settings: block.Settings{Warps: 4, Stages: 2}, sizes: map[string]int64{"B": 1, "S": 150}, scalars: []uint64{f32(0.125)}, machine: "sm_80", dims: map[string]int64{"H": 2}},
	{name: "attention", extents: map[string]int64{"i": 128, "j": 64}, settings: block.Settings{Warps: 8, Stages: 2, Forms: map[string]int64{"overlap": 3}}, sizes: map[string]int64{"B": 1, "S": 150}, scalars: []uint64{f32(0.125)}, dims: map[string]int64{"H": 2}},
	{name: "centre", extents: map[string]int64{"i": 1}, settings: block.Settings{Warps: 4, Stages: 1, Forms: map[string]int64{"kept": 3}}, sizes: map[string]int64{"M": 3}},
	{name: "centre", extents: map[string]int64{"i": 1}, settings: block.Settings{Warps: 4, Stages: 1, Forms: map[string]int64{"kept": 2}}, sizes: map[string]int64{"M": 3}},
	{name: "share", extents: map[string]int64{"i": 1}, settings: block.Settings{Warps: 2, Stages: 1}, sizes: map[string]int64{"M": 2}, alone: "alone"},
	{name: "linear_gelu", extents: map[string]int64{"i": 64, "j": 64, "k": 32}, settings: block.Settings{Warps: 4, Stages: 3}, sizes: map[string]int64{"M": 5}, machine: "sm_80", dims: map[string]int64{"K": 100, "N": 140}},
	{name: "centre", extents: map[string]int64{"i": 1}, settings: block.Settings{Warps: 4, Stages: 1, Forms: map[string]int64{"kept": 4}}, sizes: map[string]int64{"M": 9}},
	{name: "words", extents: map[string]int64{"i": 1}, settings: block.Settings{Warps: 2, Stages: 1, Forms: map[string]int64{"kept": 2}}, sizes: map[string]int64{"M": 9}},
	{name: "words", extents: map[string]int64{"i": 1}, settings: block.Settings{Warps: 2, Stages: 1, Forms: map[string]int64{"kept": 3}}, sizes: map[string]int64{"M": 9}},
	{name: "words", extents: map[string]int64{"i": 1}, settings: block.Settings{Warps: 2, Stages: 1, Forms: map[string]int64{"kept": 4}}, sizes: map[string]int64{"M": 300}},
	{name: "neighbours", extents: map[string]int64{"n": 16, "j": 32}, settings: block.Settings{Warps: 2, Stages: 1}, sizes: map[string]int64{"H": 3}, alone: "neighbour"},
	{name: "neighbours", extents: map[string]int64{"n": 32, "j": 32}, settings: block.Settings{Warps: 2, Stages: 1}, sizes: map[string]int64{"H": 3}, alone: "neighbour"},
}

func TestExamplesAgreeWithTheirTileIR(t *testing.T) {
	for _, e := range examples {
		t.Run(e.name, func(t *testing.T) {
			for order := range ProducersLast + 3 - Order(sweep.OneIn(2)) {
				require.NoError(t, e.compare(t, e.decide(t), order, 1.0/64))
			}
		})
	}
}
