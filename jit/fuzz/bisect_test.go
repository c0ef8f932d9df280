package fuzz

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tilec/jit"
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

// bind binds the only kernel of a source, or the graph of that name, to inputs of random numbers.
func bind(t *testing.T, source, name string, dims map[string]int64) func(*jit.Compiler) (*jit.Launch, error) {
	p, ds := jit.Load("k.tile", []byte(source), nil)
	require.NoError(t, ds.Err())
	f, err := jit.FindFunction(p, name)
	require.NoError(t, err)
	r := rand.New(rand.NewPCG(1, 2))
	args := jit.Args{}
	for _, x := range f.Params {
		var shape []int64
		for _, s := range x.Type.Shape {
			shape = append(shape, dims[s.String()])
		}
		a := jit.NewArray(lang.F32, shape...)
		for i := range a.Len() {
			require.NoError(t, a.SetFloat(i, r.NormFloat64()))
		}
		args[x.Name] = a
	}
	return func(c *jit.Compiler) (*jit.Launch, error) { return f.On(c).Bind(args) }
}

func bisectOn(t *testing.T, device jit.Device, name string) *Bisection {
	c := bisected[name]
	b, err := Bisect(device, bind(t, c.source, "k", c.dims), 1)
	require.NoError(t, err)
	return b
}

func bisectDevices(t *testing.T) []jit.Device {
	emulator, err := jit.OpenEmulator("sm_90a")
	require.NoError(t, err)
	return []jit.Device{jit.OpenCPU(), emulator}
}

// Where nothing is wrong, none has a fault, and the forms of every launch are within their bounds on the CPU.
func TestNothingIsAtFault(t *testing.T) {
	for name, c := range bisected {
		for _, d := range bisectDevices(t) {
			b := bisectOn(t, d, name)
			require.Nil(t, b.Problem, "%s on %s: %+v", name, d.ID(), b)
			require.Empty(t, b.Stages)
			require.Positive(t, b.Judged)
			require.Zero(t, b.Left)

			again := &bisector{bind: bind(t, c.source, "k", c.dims), seed: 1}
			all := &every{finder: finder{Witness: NewWitness(d, 1), only: -1}}
			l, err := again.bind(jit.NewCompiler(d, nil))
			require.NoError(t, err)
			l.Program.Observe(all)
			require.NoError(t, l.Run())
			l.Close()
			require.Len(t, all.launches, b.Launches)
			for _, at := range all.launches {
				stages, err := again.stages(at, d)
				require.NoError(t, err)
				names := []string{}
				for _, s := range stages {
					assert.Nil(t, s.Problem, "%s on %s, %s", name, d.ID(), s.Name)
					assert.Empty(t, s.Skipped, "%s on %s, %s", name, d.ID(), s.Name)
					names = append(names, s.Name)
				}
				assert.Equal(t, "build", names[0])
				assert.Equal(t, "plan", names[len(names)-1])
				if name == "a long row" && d.ID() == "emu" {
					assert.Contains(t, names, "pass stream")
				}
			}
		}
	}
}

// every is an observer that keeps all launches.
type every struct {
	finder
	launches []*jit.Observation
}

func (e *every) Before(o *jit.Observation) error {
	e.launches = append(e.launches, o)
	return e.finder.Before(o)
}

// wrongPasses are passes that compute something else, and one that fails.
var wrongPasses = map[string]func(f *ir.Func) bool{
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

// withPass runs what a test does with one more pass.
func withPass(name string, run func(f *ir.Func) bool, do func()) {
	defer func() { pass.Extra = nil }()
	pass.Extra = []pass.Pass{{Name: name, Run: func(f *ir.Func, _ *pass.Options) (bool, error) { return run(f), nil }}}
	do()
}

// A pass that computes something else is named, and so is one that fails.
func TestWrongPassIsNamed(t *testing.T) {
	for name, run := range wrongPasses {
		withPass(name, run, func() {
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
		})
	}
}

// Of a program of several launches, the first that is wrong is found, then the pass: with what the launch really read, which
// lies in the memory of another tensor.
func TestWrongPassOfOneLaunchIsNamed(t *testing.T) {
	source := `kernel scale(x: f32[M, N]) -> y: f32[M, N] grid i in M by B, j in N by BN { y[i, j] = x[i, j] * 3.0 }
	kernel shift(x: f32[M, N], w: f32[M]) -> y: f32[M, N] grid i in M by B, j in N by BN { y[i, j] = max(x[i, j], w[i]) + 1.0 }
	kernel both(x: f32[M, N]) -> (r: f32[M], c: f32[N]) {
		r[i] = x[i, 0]
		c[j] = sum(x[i, j], over i)
	}
	graph right(x: f32[M, N], w: f32[M]) -> y: f32[M, N] {
		y = scale(scale(x))
	}
	graph wrong(x: f32[M, N], w: f32[M]) -> y: f32[M, N - 1] {
		let a = scale(x[.., 1 ..])
		let b = shift(a, w)
		y = shift(b * 2.0, w)
	}
	graph parts(x: f32[M, N]) -> (r: f32[M], c: f32[N]) {
		let (p, q) = both(scale(x))
		r = p
		c = q
	}
`
	for _, c := range []struct {
		graph, kernel string
		launch, of    int
	}{{"right", "", 0, 2}, {"wrong", "shift", 2, 4}, {"parts", "both.2", 3, 3}} {
		dims := map[string]int64{"M": 5, "N": 9}
		withPass("adds", wrongPasses["adds"], func() {
			for _, d := range bisectDevices(t) {
				b, err := Bisect(d, bind(t, source, c.graph, dims), 1)
				require.NoError(t, err)
				assert.Equal(t, c.of, b.Launches, c.graph)
				assert.Equal(t, c.launch, b.Launch, "%s: %+v", c.graph, b)
				assert.Equal(t, c.kernel, b.Kernel)
				if c.kernel == "" {
					assert.Nil(t, b.Problem)
					continue
				}
				require.NotNil(t, b.Fault(), "%s: %+v", c.graph, b)
				assert.Equal(t, "pass adds", b.Fault().Name)
				assert.Equal(t, "build", b.Stages[0].Name)
				assert.Empty(t, b.Stages[0].Skipped)
			}
		})
	}
}

// What is wrong behind the last form is the backend's, or the device's.
func TestWrongBackendIsNamed(t *testing.T) {
	emulator, err := jit.OpenEmulator("sm_90a")
	require.NoError(t, err)
	for name := range bisected {
		b := bisectOn(t, faulty{Device: emulator, every: 7}, name)
		require.NotNil(t, b.Fault(), name)
		assert.Equal(t, "backend", b.Fault().Name)
		assert.Equal(t, 1, b.Launch)
	}
}
