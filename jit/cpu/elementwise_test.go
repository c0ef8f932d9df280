package cpu

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tilec/jit/ir"
	"tilec/lang"
)

// operandTypes gives the element types of the operands when the last has type
// d; nil when the operation's rule refuses d.
func operandTypes(op lang.Op, d lang.DType) []lang.DType {
	row := op.Row()
	ok := false
	switch row.Rule {
	case lang.RuleNumeric:
		ok = d.IsFloat() || d.IsInt()
	case lang.RuleFloat, lang.RuleTest:
		ok = d.IsFloat()
	case lang.RuleInt:
		ok = d.IsInt()
	case lang.RuleBool:
		ok = d == lang.Bool
	case lang.RuleBits64:
		ok = d == lang.U64
	case lang.RuleCompare, lang.RuleSelect:
		ok = true
	}
	if !ok {
		return nil
	}
	ts := make([]lang.DType, len(row.Operands))
	for i := range ts {
		ts[i] = d
	}
	if row.Rule == lang.RuleSelect {
		ts[0] = lang.Bool
	}
	return ts
}

// TestEveryOperationIsThere fails when a row of the operation table has no implementation.
func TestEveryOperationIsThere(t *testing.T) {
	for _, op := range lang.Ops() {
		row := op.Row()
		for _, d := range lang.DTypes() {
			switch {
			case op == lang.OpCast:
				for _, to := range lang.DTypes() {
					assert.NotNil(t, cast(d, to), "%s as %s", d, to)
				}
			case op == lang.OpBitcast: // TestBitcasts of package jit
			case row.Elementwise:
				if operandTypes(op, d) != nil {
					assert.NotNil(t, elementwise(op, d), "%s of %s", op, d)
				}
			case row.Group == lang.GroupReduce:
				if (row.Rule == lang.RuleBool) == (d == lang.Bool) && (row.Rule != lang.RuleMean || d.IsFloat()) {
					assert.NotNil(t, reducers[kindOfDType[d]][op], "%s of %s", op, d)
				}
			case row.Group == lang.GroupContract:
				if d != lang.Bool {
					assert.NotNil(t, products[kindOfDType[d]], "%s of %s", op, d)
				}
			case op == lang.OpReduce || op == lang.OpScan || row.Derived:
				// By a function, whose operations have rows; or written with others.
			case op == lang.OpJoin: // the CPU's blocks share no axis
			default:
				assert.NotNil(t, emitters[op], "%s", op)
			}
		}
	}
}

// combinations gives columns of operands: every combination of the values.
func combinations(ts []lang.DType) [][]num {
	if len(ts) == 0 {
		return [][]num{nil}
	}
	var all [][]num
	values := special(ts[0])
	if len(ts) == 3 && len(values) > 20 { // keep ternary operations quick
		values = values[:20:20]
		values = append(values, special(ts[0])[len(special(ts[0]))-6:]...)
	}
	for _, rest := range combinations(ts[1:]) {
		for _, v := range values {
			all = append(all, append([]num{v}, rest...))
		}
	}
	return all
}

// runMap runs an operation over columns of operands and decodes the results.
func runMap(t *testing.T, ts []lang.DType, rows [][]num, build func(k *kernel, args []*ir.Value) *ir.Value) []num {
	k := newKernel("map")
	d := k.dim("N", int64(len(rows)))
	i := k.grid("i", d, 777)
	var args Args
	var values []*ir.Value
	for c, dt := range ts {
		values = append(values, k.load(k.in(fmt.Sprint("x", c), dt, d), i))
		var column []byte
		for _, r := range rows {
			column = append(column, encode(dt, r[c])...)
		}
		args.Tensors = append(args.Tensors, memory(dt, column))
	}
	v := build(k, values)
	od := v.Type.DType
	k.store(k.out("y", od, d), v, i)
	out := make([]byte, od.Bytes(int64(len(rows))))
	args.Tensors = append(args.Tensors, out)
	require.NoError(t, k.compile(t).Run(args))
	results := make([]num, len(rows))
	for i := range results {
		results[i] = element(od, out, i)
	}
	return results
}

func TestElementwise(t *testing.T) {
	for _, op := range lang.Ops() {
		if !op.Row().Elementwise || op == lang.OpCast || op == lang.OpBitcast {
			continue
		}
		for _, d := range lang.DTypes() {
			testElementwise(t, op, d)
		}
	}
}

// testElementwise runs an operation on all combinations of special values.
func testElementwise(t *testing.T, op lang.Op, d lang.DType) {
	ts := operandTypes(op, d)
	if ts == nil {
		return
	}
	t.Run(op.String()+"/"+d.String(), func(t *testing.T) {
		rows := combinations(ts)
		got := runMap(t, ts, rows, func(k *kernel, args []*ir.Value) *ir.Value { return k.Op(op, args...) })
		for i, r := range rows {
			checkElement(t, op, d, r, got[i])
			if t.Failed() {
				return
			}
		}
	})
}

func checkElement(t *testing.T, op lang.Op, d lang.DType, r []num, got num) {
	at := func(i int) num {
		if i < len(r) {
			return r[i]
		}
		return num{}
	}
	rule := op.Row().Rule
	switch {
	case rule == lang.RuleCompare, rule == lang.RuleTest, rule == lang.RuleBool:
		assert.Equal(t, wantTest(op, d, at(0), at(1)), got.i.Sign() != 0, "%s of %v", op, r)
	case rule == lang.RuleSelect:
		want := r[2]
		if r[0].i.Sign() != 0 {
			want = r[1]
		}
		assert.Equal(t, encode(d, want), encode(d, got), "%s of %v", op, r)
	case d.IsFloat():
		want, exact := wantFloat(op, d, at(0).f, at(1).f, at(2).f)
		checkFloat(t, op.Row().Ulp, d, want, exact, got.f, fmt.Sprintf("%s of %v", op, r))
	default:
		want := wantInt(op, d, at(0).i, at(1).i, at(2).i)
		assert.Zero(t, want.Cmp(got.i), "%s of %v is %v, want %v", op, r, got.i, want)
	}
}

// checkFloat compares a result with the exact one, or, where only the float64
// result is known, with that and the row's bound: in f32, and a rounding more
// where the type is narrower.
func checkFloat(t *testing.T, ulp float64, d lang.DType, want float64, exact bool, got float64, what string) {
	f := formats[d]
	if exact {
		same := got == want && math.Signbit(got) == math.Signbit(want) || got != got && want != want
		assert.True(t, same, "%s is %v, want %v", what, got, want)
		return
	}
	rounded := f.round(want)
	if rounded == got || rounded != rounded && got != got {
		return
	}
	bound := ulp * formats[lang.F32].ulp(want)
	if d == lang.F64 {
		bound = f.ulp(want)
	} else if d != lang.F32 {
		bound += f.ulp(want) / 2
	}
	if math.IsInf(got, 0) && !math.IsInf(want, 0) { // a bound that reaches past the largest number
		got = math.Copysign(f.most+f.ulp(f.most), got)
	}
	assert.True(t, math.Abs(got-want) <= bound, "%s is %v, want %v ± %v", what, got, want, bound)
}

func TestCast(t *testing.T) {
	for _, from := range lang.DTypes() {
		for _, to := range lang.DTypes() {
			rows := combinations([]lang.DType{from})
			if from == lang.I64 || from == lang.U64 { // ties that two roundings would get wrong
				for _, x := range []num{wantCast(lang.F64, from, num{f: 0x1p61 + 0x1p53}), wantCast(lang.F64, from, num{f: 0x1p40 + 0x1p32 + 1})} {
					rows = append(rows, []num{x})
				}
			}
			if from == lang.F64 {
				for _, x := range []float64{1 + 0x1p-8 + 0x1p-40, 1 + 0x1p-11 + 0x1p-50, 1e300, -1e-300, 0x1p-25 + 0x1p-70, 0x1p63, -0x1p63, 0x1p64, 255.9, -0.9} {
					rows = append(rows, []num{{f: x}})
				}
			}
			got := runMap(t, []lang.DType{from}, rows, func(k *kernel, args []*ir.Value) *ir.Value {
				op := &ir.Op{Code: lang.OpCast, Args: args}
				op.Results = []*ir.Value{k.Func.NewValue(args[0].Type.With(to), op)}
				k.Block.Ops = append(k.Block.Ops, op)
				return op.Result()
			})
			for i, r := range rows {
				want := wantCast(from, to, r[0])
				if to.IsFloat() {
					checkFloat(t, 0, to, want.f, true, got[i].f, fmt.Sprintf("%v %s as %s", r[0], from, to))
				} else {
					assert.Zero(t, want.i.Cmp(got[i].i), "%v %s as %s is %v, want %v", r[0], from, to, got[i].i, want.i)
				}
				if t.Failed() {
					return
				}
			}
		}
	}
}

// TestMathBounds samples the functions that softmax and activations live on
// over all float32 exponents, against float64.
func TestMathBounds(t *testing.T) {
	functions := map[lang.Op]func(float64) float64{
		lang.OpExp: math.Exp, lang.OpExp2: math.Exp2, lang.OpTanh: math.Tanh,
		lang.OpSigmoid: func(x float64) float64 { return 1 / (1 + math.Exp(-x)) },
	}
	const step = 4099 // a prime: about a million of all 2^32 patterns
	var in []float32
	for b := uint64(0); b < 1<<32; b += step {
		if x := math.Float32frombits(uint32(b)); x == x {
			in = append(in, x)
		}
	}
	for x := -110.0; x < 100; x += 0.001 {
		in = append(in, float32(x))
	}
	for op, f := range functions {
		out := make([]float32, len(in))
		rows[kF32][op](ptr(out), ptr(in), nil, nil, len(in))
		worst, at := 0.0, float32(0)
		for i, x := range in {
			want := f(float64(x))
			if math.Abs(want) > math.MaxFloat32 {
				want = math.Inf(1)
			}
			if float64(out[i]) == want {
				continue
			}
			if e := math.Abs(float64(out[i])-want) / formats[lang.F32].ulp(want); !(e <= worst) {
				worst, at = e, x
			}
		}
		t.Logf("%s: %.3f ulp at %v", op, worst, at)
		assert.LessOrEqual(t, worst, op.Row().Ulp, "%s at %v", op, at)
	}
}
