package fuzz

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tilec/jit"
	"tilec/jit/backend"
	"tilec/jit/backend/cpu"
	"tilec/jit/backend/emulator"
	"tilec/jit/ir"
	"tilec/jit/pass"
	"tilec/lang"
)

// bisected are kernels with the sizes of their dimensions, of which every input is a tensor of f32.
var bisected = map[string]struct {
	source string
	dims   map[string]int64
}{
	"softmax": {`kernel k(x: f32[M, N]) -> y: f32[M, N] grid i in M by BM {
		axis j in N
		let e = exp(x[i, j] - max(x[i, j], over j))
		y[i, j] = e / sum(e, over j)
	}`, map[string]int64{"M": 5, "N": 37}},
	"a long row": {`kernel k(x: f32[M, N]) -> y: f32[M, N] grid i in M by BM {
		axis j in N
		y[i, j] = x[i, j] / (1.0 + sum(abs(x[i, j]), over j))
	}`, map[string]int64{"M": 2, "N": 40000}},
	"a product that blocks share": {`@split(k, 4)
		kernel k(a: f32[M, K], b: f32[K, N]) -> c: f32[M, N] { c[i, j] = sum(a[i, k] * b[k, j], over k) }`, map[string]int64{"M": 9, "K": 45, "N": 21}},
	"a scan that blocks share": {`@split(j, 4)
		kernel k(x: f32[M, N]) -> y: f32[M, N] grid i in M by BM {
			axis j in N
			y[i, j] = cumsum(x[i, j], over j)
		}`, map[string]int64{"M": 2, "N": 3000}},
	"a formula in parts": {`kernel k(a: f32[M, N]) -> (r: f32[M], c: f32[N]) { 
		r[i] = sum(a[i, j], over j)
		c[j] = sum(a[i, j], over i)
	}`, map[string]int64{"M": 6, "N": 7}},
}

func bisectOn(t *testing.T, device backend.Device, name string) *Bisection {
	c := bisected[name]
	p, ds := jit.Load("k.tile", []byte(c.source), nil)
	require.NoError(t, ds.Err())
	r := rand.New(rand.NewPCG(1, 2))
	inputs := map[string]Input{}
	for _, x := range p.Kernels[0].Params {
		var shape []int64
		for _, s := range x.Shape {
			shape = append(shape, c.dims[s.String()])
		}
		a := jit.NewArray(lang.F32, shape...)
		for i := range a.Len() {
			require.NoError(t, a.SetFloat(i, r.NormFloat64()))
		}
		inputs[x.Name] = Input{Array: a}
	}
	b, err := Bisect(device, p.Kernels[0], jit.Options{Dims: c.dims}, inputs)
	require.NoError(t, err)
	require.Positive(t, b.Elements)
	require.Less(t, b.Unknown, b.Elements)
	return b
}

func bisectDevices(t *testing.T) []backend.Device {
	emulator, err := emulator.Open("sm_90a")
	require.NoError(t, err)
	return []backend.Device{cpu.Open(), emulator}
}

// Where nothing is wrong, every form of a kernel is judged, and none has a fault.
func TestNothingIsAtFault(t *testing.T) {
	for name := range bisected {
		for _, d := range bisectDevices(t) {
			b := bisectOn(t, d, name)
			require.Nil(t, b.Fault(), "%s on %s: %+v", name, d.ID(), b)
			for _, s := range b.Stages {
				assert.Empty(t, s.Skipped, "%s on %s, %s", name, d.ID(), s.Name)
			}
			names := []string{}
			for _, s := range b.Stages {
				names = append(names, s.Name)
			}
			assert.Equal(t, "build", names[0])
			assert.Equal(t, "backend", names[len(names)-1])
			assert.Contains(t, names, "plan")
			if name == "a long row" && d.ID() == "emu" {
				assert.Contains(t, names, "pass stream")
			}
		}
	}
}

// A pass that computes something else is named, and so is one that fails.
func TestWrongPassIsNamed(t *testing.T) {
	defer func() { pass.Extra = nil }()
	wrong := map[string]func(f *ir.Func) bool{
		"adds": func(f *ir.Func) bool {
			changed := false
			f.Walk(func(op *ir.Op) bool {
				if op.Code == lang.OpSum || op.Code == lang.OpMax && len(op.Args) == 2 {
					op.Code, changed = map[lang.Op]lang.Op{lang.OpSum: lang.OpReduceMax, lang.OpMax: lang.OpMin}[op.Code], true
				}
				return true
			})
			return changed
		},
		"panics": func(*ir.Func) bool { panic("no") },
	}
	for name, run := range wrong {
		pass.Extra = []pass.Pass{{Name: name, Run: func(f *ir.Func, _ *pass.Options) (bool, error) { return run(f), nil }}}
		for _, d := range bisectDevices(t) {
			for _, kernel := range []string{"softmax", "a formula in parts", "a long row"} {
				fault := bisectOn(t, d, kernel).Fault()
				require.NotNil(t, fault, "%s of %s on %s", name, kernel, d.ID())
				assert.Equal(t, "pass "+name, fault.Name)
				if name == "panics" {
					assert.Equal(t, Crash, fault.Problem.Kind)
				}
			}
		}
	}
}

// What is wrong behind the last form is the backend's, or the device's.
func TestWrongBackendIsNamed(t *testing.T) {
	emulator, err := emulator.Open("sm_90a")
	require.NoError(t, err)
	for name := range bisected {
		fault := bisectOn(t, faulty{Device: emulator, every: 7}, name).Fault()
		require.NotNil(t, fault)
		assert.Equal(t, "backend", fault.Name)
	}
}
