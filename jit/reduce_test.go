package jit

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"tilec/jit/graph"
	"tilec/jit/ir"
	"tilec/lang"
)

// reduceKernel is `y[kept...] = op(x[i, j], over reduced)`: kept axes walk the
// grid, reduced ones are whole.
func reduceKernel(op lang.Op, d lang.DType, m, n int64, overI, overJ bool) *ir.Func {
	f := &ir.Func{Name: op.String(), Body: &ir.Block{}}
	b := ir.Builder{Func: f, Block: f.Body}
	axis := func(name string, size int64, over bool) *ir.Axis {
		dim := &ir.Dim{Name: name, Value: -1, Divisor: 1}
		a := &ir.Axis{Name: name, Kind: ir.Grid, Dim: dim, Tile: "B" + name}
		if over || name == "j" { // innermost dimensions are always known
			dim.Value = size
		}
		if over {
			a.Kind, a.Len, a.Tile = ir.Whole, size, ""
		}
		f.Dims = append(f.Dims, dim)
		return a
	}
	i, j := axis("i", m, overI), axis("j", n, overJ)
	y := &ir.Tensor{Name: "y", Mode: lang.Out, Align: 16}
	var over []*ir.Axis
	var store []*ir.Value
	for k, a := range []*ir.Axis{i, j} {
		if [2]bool{overI, overJ}[k] {
			over = append(over, a)
			continue
		}
		f.Axes = append(f.Axes, a)
		y.Shape = append(y.Shape, a.Dim)
	}
	f.Axes = append(f.Axes, over...)
	x := &ir.Tensor{Name: "x", DType: d, Shape: []*ir.Dim{i.Dim, j.Dim}, Align: 16}
	index := map[*ir.Axis]*ir.Value{}
	for _, a := range []*ir.Axis{i, j} {
		index[a] = b.Emit(&ir.Op{Code: lang.OpIndex, Axis: a})[0]
	}
	v := b.Emit(&ir.Op{Code: lang.OpLoad, Tensor: x, Args: []*ir.Value{index[i], index[j]}, Checked: []bool{false, false}})[0]
	r := b.Emit(&ir.Op{Code: op, Args: []*ir.Value{v}, Over: over})[0]
	y.DType = r.Type.DType
	for _, a := range f.Axes[:len(f.Axes)-len(over)] {
		store = append(store, index[a])
	}
	f.Tensors = []*ir.Tensor{x, y}
	b.Emit(&ir.Op{Code: lang.OpStore, Tensor: y, Args: append(store, r), Checked: make([]bool, len(store))})
	return f
}

func TestReductions(t *testing.T) {
	c := testCompiler(t)
	shapes := [][2]int64{{1, 1}, {3, 17}, {17, 3}, {5, 129}, {33, 64}, {40, 100}}
	for _, op := range lang.Ops() {
		row := op.Row()
		if row.Group != lang.GroupReduce {
			continue
		}
		for _, d := range lang.DTypes() {
			isBool := row.Rule == lang.RuleBool
			if isBool != (d == lang.Bool) || row.Rule == lang.RuleMean && !d.IsFloat() {
				continue
			}
			for _, over := range [][2]bool{{false, true}, {true, false}, {true, true}} {
				if row.Rule == lang.RuleArg && over == [2]bool{true, true} {
					continue // one axis only
				}
				for _, s := range shapes {
					t.Run(fmt.Sprintf("%s/%s/%v/%v", op, d, over, s), func(t *testing.T) {
						f := reduceKernel(op, d, s[0], s[1], over[0], over[1])
						y := f.Tensors[1].DType
						rows := int64(1)
						for k := range over {
							if !over[k] {
								rows *= s[k]
							}
						}
						x := reductionInput(op, d, int(s[0]*s[1]))
						out := runIR(t, c, f, map[string]int64{"i": 4, "j": 8}, map[string]int64{"i": s[0], "j": s[1]}, [][]byte{x, make([]byte, y.Bytes(rows))})
						for r := range rows {
							var elements []ir.Const
							for i := range s[0] {
								for j := range s[1] {
									if !over[0] && !over[1] || !over[0] && i != r || !over[1] && j != r {
										continue
									}
									elements = append(elements, decode(d, x, int(i*s[1]+j)))
								}
							}
							checkReduction(t, op, d, y, elements, decode(y, out[1], int(r)))
						}
					})
				}
			}
		}
	}
}

// reductionInput makes small numbers, with NaN and infinities where the result is exact with them.
func reductionInput(op lang.Op, d lang.DType, n int) []byte {
	r := rand.New(rand.NewPCG(uint64(op), uint64(n)))
	data := make([]byte, d.Bytes(int64(n)))
	for i := range n {
		l := literal(d, float64(r.IntN(21)-10))
		switch {
		case d.IsFloat() && op == lang.OpProd:
			l = literal(d, 1+r.NormFloat64()/8)
		case d.IsFloat() && (op == lang.OpSum || op == lang.OpMean):
			l = literal(d, r.NormFloat64())
		case d.IsFloat() && i%37 == 36:
			l = literal(d, math.NaN())
		case d == lang.Bool:
			l = literal(d, float64(r.IntN(2)))
		}
		d.PutRawBitsAt(data, int64(i), graph.ScalarBits(l))
	}
	return data
}

func checkReduction(t *testing.T, op lang.Op, d, y lang.DType, xs []ir.Const, got ir.Const) {
	t.Helper()
	switch op {
	case lang.OpSum, lang.OpMean, lang.OpProd:
		if !d.IsFloat() {
			sum := int64(0)
			if op == lang.OpProd {
				sum = 1
			}
			for _, x := range xs {
				if op == lang.OpProd {
					sum *= x.Int
				} else {
					sum += x.Int
				}
			}
			width := 64 - y.Bits()
			require.Equal(t, uint64(sum)<<width, uint64(got.Int)<<width)
			return
		}
		sum, size := 0.0, 0.0
		if op == lang.OpProd {
			sum = 1
		}
		for _, x := range xs {
			if op == lang.OpProd {
				sum *= x.Float
			} else {
				sum += x.Float
				size += math.Abs(x.Float)
			}
		}
		u := math.Ldexp(1, -24)
		if y == lang.F64 {
			u = math.Ldexp(1, -53)
		}
		// n-1 additions (or products) round once each; a mean divides once more.
		n := float64(len(xs))
		if op == lang.OpProd {
			size = math.Abs(sum)
		}
		bound := n * u * size
		if op == lang.OpMean {
			sum, bound = sum/n, (n+1)*u*size/n
		}
		require.InDelta(t, sum, got.Float, bound*1.0001+1e-300) // the reference rounds too, in f64
	case lang.OpAny, lang.OpAll:
		want := op == lang.OpAll
		for _, x := range xs {
			if (x.Int != 0) != want && want || !want && x.Int != 0 {
				want = !want
				break
			}
		}
		require.Equal(t, want, got.Int != 0)
	default:
		best := 0
		for k := range xs {
			if before(op, d, xs[k], xs[best]) {
				best = k
			}
		}
		switch {
		case op == lang.OpArgMax || op == lang.OpArgMin:
			require.Equal(t, int64(best), got.Int)
		case d.IsFloat():
			require.Zero(t, ulps(d, got.Float, xs[best].Float), "got %v, want %v", got.Float, xs[best].Float)
		default:
			require.Equal(t, xs[best].Int, got.Int)
		}
	}
}

// before reports whether a goes before b strictly: NaN first of all.
func before(op lang.Op, d lang.DType, a, b ir.Const) bool {
	largest := op == lang.OpArgMax || op == lang.OpReduceMax
	if d.IsFloat() {
		if math.IsNaN(a.Float) || math.IsNaN(b.Float) {
			return math.IsNaN(a.Float) && !math.IsNaN(b.Float)
		}
		return largest && a.Float > b.Float || !largest && a.Float < b.Float
	}
	if d == lang.U64 {
		return largest && uint64(a.Int) > uint64(b.Int) || !largest && uint64(a.Int) < uint64(b.Int)
	}
	return largest && a.Int > b.Int || !largest && a.Int < b.Int
}
