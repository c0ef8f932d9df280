package conformance_test

import (
	"crypto/sha256"
	"encoding/hex"
	"flag"
	"fmt"
	"io/fs"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
	"github.com/stretchr/testify/require"

	"tilec/jit"
	"tilec/jit/cpu"
	"tilec/jit/jittest"
	"tilec/jit/jittest/sweep"
	"tilec/lang"
	"tilec/stdlib"
	"tilec/typecheck/size"
	"tilec/typecheck/typed"
)

// This file runs programs on the CPU as machines differ: with more or fewer
// cores, with the vector loops of AVX-512 or AVX2 and without, with a fused multiply-add and
// without. Every result must have the same bits, of NaN none but that it is one.

// machine is a CPU that results must not depend on.
type machine struct {
	cores int
	// vectors says that there are AVX2 and what comes with it, wide that there is AVX-512.
	vectors, wide bool
}

// machines are for the table, fewMachines for the many programs beside it.
var machines, fewMachines = []machine{{1, true, true}, {2, true, true}, {3, true, false}, {5, true, true}, {16, true, false}, {1, false, false}, {16, false, false}},
	[]machine{{1, true, true}, {5, true, true}, {16, false, false}, {16, true, false}}

// bitsSource is what adds up in many orders, if it is let: products of matrices of every form, long sums, and the
// functions that have vector loops.
const bitsSource = `
kernel product<T: float>(a: T[M, K], b: T[K, N]) -> y: f32[M, N] { y[i, j] = sum(a[i, k] * b[k, j], over k) }
kernel transposed<T: float>(a: T[M, K], b: T[N, K]) -> y: f32[M, N] { y[i, j] = sum(a[i, k] * b[j, k], over k) }
kernel both(a: f32[K, M], b: f32[N, K]) -> y: f32[M, N] { y[i, j] = sum(a[k, i] * b[j, k], over k) }
kernel batched(a: f32[H, M, K], b: f32[H, K, N]) -> y: f32[H, M, N] { y[h, i, j] = sum(a[h, i, k] * b[h, k, j], over k) }
kernel wide(a: f64[M, K], b: f64[K, N]) -> y: f64[M, N] { y[i, j] = sum(a[i, k] * b[k, j], over k) }
kernel steps(a: f32[M, K], b: f32[K, N]) -> y: f32[M, N]
    grid i in M by BM, j in N by BN
{
    y[i, j] = for k in K by BK with acc = zeros(f32, i, j) { mma(a[i, k], b[k, j], acc) }
}
kernel rows<T: float>(a: T[M, K]) -> (s: f32[M], m: f32[M], p: f32[M], x: T[M]) {
    s[i] = sum(a[i, k], over k)
    m[i] = mean(a[i, k], over k)
    p[i] = prod(a[i, k], over k)
    x[i] = max(a[i, k], over k)
}
kernel columns(a: f32[M, K]) -> (s: f32[K], m: f32[K], all: f32[1]) {
    s[k] = sum(a[i, k], over i)
    m[k] = mean(a[i, k] * a[i, k], over i)
    all[0] = sum(a[i, k], over (i, k))
}
kernel scans(a: f32[M, K]) -> (s: f32[M, K], r: f32[M]) {
    s[i, k] = cumsum(a[i, k], over k)
    r[i] = reduce(a[i, k], over k, 0.0, (x, y) => x + y)
}
kernel softmax<T: float>(a: T[M, K]) -> y: T[M, K] {
    let v = a[i, k] as f32
    let e = exp(v - max(v, over k))
    y[i, k] = (e / sum(e, over k)) as T
}
kernel functions<T: float>(a: T[N], b: T[N]) -> (e: T[N], f: T[N], t: T[N], s: T[N], m: T[N], o: T[N], u: T[N], g: T[N]) {
    e[i] = exp(a[i] * 30)
    f[i] = exp2(a[i] * 40)
    t[i] = tanh(a[i])
    s[i] = sigmoid(a[i] * 9)
    m[i] = fma(a[i], b[i], a[i])
    o[i] = max(a[i], b[i]) / min(a[i], b[i]) - a[i] * b[i]
    u[i] = sinh(a[i]) + cosh(b[i]) * expm1(a[i])
    g[i] = erf(a[i]) + sqrt(abs(b[i]))
}
kernel angles<T: float>(a: T[N], b: T[N]) -> (s: T[N], c: T[N], t: T[N], u: T[N], v: T[N]) {
    s[i] = sin(a[i] * 9)
    c[i] = cos(a[i] * 1000)
    t[i] = tan(b[i])
    u[i] = atan2(a[i], b[i])
    v[i] = sin(exp(b[i] * 40))
}
kernel powers<T: float>(a: T[N], b: T[N]) -> (l: T[N], m: T[N], n: T[N], p: T[N], q: T[N]) {
    l[i] = log(abs(a[i]))
    m[i] = log2(abs(b[i]) * 1000)
    n[i] = log1p(abs(a[i]))
    p[i] = abs(a[i]) ** b[i]
    q[i] = rsqrt(abs(a[i])) % abs(b[i])
}
kernel wideAngles(a: f64[N], b: f64[N]) -> (s: f64[N], c: f64[N], t: f64[N], u: f64[N], v: f64[N]) {
    s[i] = sin(a[i] * 9)
    c[i] = cos(a[i] * 1000)
    t[i] = tan(b[i])
    u[i] = atan2(a[i], b[i])
    v[i] = sin(exp(b[i] * 200))
}
kernel widePowers(a: f64[N], b: f64[N]) -> (l: f64[N], m: f64[N], n: f64[N], p: f64[N], q: f64[N]) {
    l[i] = log(abs(a[i]))
    m[i] = log2(abs(b[i]) * 1000)
    n[i] = log1p(abs(a[i]))
    p[i] = abs(a[i]) ** b[i]
    q[i] = rsqrt(abs(a[i])) % abs(b[i])
}
kernel folded(a: f64[N]) -> y: f64[N] {
    y[i] = a[i] * (log(3.0) + sin(0.1) * exp(0.7) ** 2.5 - tan(1.1) / log2(10.0) + tanh(0.3) * erf(0.4) + cosh(0.9) * expm1(0.01))
}
kernel noise(a: f32[N], seed: u64) -> y: f32[N] { y[i] = a[i] + randn(seed, i) }
kernel doubles(a: f64[N]) -> (e: f64[N], f: f64[N], t: f64[N], s: f64[N], u: f64[N], g: f64[N], m: f64[1]) {
    e[i] = exp(a[i] * 30)
    f[i] = exp2(a[i] * 40)
    t[i] = tanh(a[i])
    s[i] = sigmoid(a[i] * 9)
    u[i] = sinh(a[i]) + cosh(a[i]) * expm1(a[i])
    g[i] = erf(a[i])
    m[0] = mean(a[i], over i)
}
`

// bitsRuns are the launches of bitsSource.
var bitsRuns = []struct {
	kernel string
	dims   []map[string]int64
	types  []lang.DType
}{
	{"product", matrixSizes, []lang.DType{lang.F32, lang.BF16}},
	{"transposed", matrixSizes, []lang.DType{lang.F32, lang.F16}},
	{"both", matrixSizes, nil},
	{"batched", []map[string]int64{{"H": 5, "M": 33, "K": 65, "N": 17}, {"H": 48, "M": 1, "K": 200, "N": 96}}, nil},
	{"wide", []map[string]int64{{"M": 17, "K": 130, "N": 33}}, nil},
	{"steps", matrixSizes, nil},
	{"rows", []map[string]int64{{"M": 70, "K": 1000}, {"M": 3, "K": 70001}, {"M": 5000, "K": 19}}, []lang.DType{lang.F32, lang.BF16}},
	{"columns", []map[string]int64{{"M": 1000, "K": 70}, {"M": 19, "K": 5000}}, nil},
	{"scans", []map[string]int64{{"M": 40, "K": 3000}}, nil},
	{"softmax", []map[string]int64{{"M": 64, "K": 1027}, {"M": 2, "K": 50257}}, []lang.DType{lang.F32, lang.BF16}},
	{"functions", []map[string]int64{{"N": 30011}}, []lang.DType{lang.F32, lang.F16, lang.BF16}},
	{"angles", []map[string]int64{{"N": 30011}}, []lang.DType{lang.F32, lang.F16, lang.BF16}},
	{"powers", []map[string]int64{{"N": 30011}}, []lang.DType{lang.F32, lang.F16, lang.BF16}},
	{"doubles", []map[string]int64{{"N": 5003}}, nil},
	{"wideAngles", []map[string]int64{{"N": 5003}}, nil},
	{"widePowers", []map[string]int64{{"N": 5003}}, nil},
	{"folded", []map[string]int64{{"N": 7}}, nil},
	{"noise", []map[string]int64{{"N": 5003}}, nil},
}

var matrixSizes = []map[string]int64{
	{"M": 96, "K": 300, "N": 130}, {"M": 1, "K": 777, "N": 259}, {"M": 70, "K": 515, "N": 1}, {"M": 7, "K": 3, "N": 5}, {"M": 128, "K": 33, "N": 64}, {"M": 2, "K": 4096, "N": 6},
}

// TestSameBits runs the table, the programs of the conformance tests on random numbers and the kernels of the library.
func TestSameBits(t *testing.T) {
	sweep.Once(t)
	t.Run("table", func(t *testing.T) { sameOn(t, machines, tableDigests) })
	t.Run("library", func(t *testing.T) { sameOn(t, fewMachines, libraryDigests) })
	t.Run("conformance", func(t *testing.T) { sameOn(t, fewMachines, conformanceDigests) })
}

var updateBits = flag.Bool("update.bits", false, "write testdata/bits.txt anew")

// TestSameBitsOnEveryProcessor compares the table with what a processor of another day computed. It is for the others:
//
//	GOARCH=arm64 go test -tags nodriver -exec qemu-aarch64 ./jit/conformance -run TestSameBitsOnEveryProcessor
func TestSameBitsOnEveryProcessor(t *testing.T) {
	sweep.Once(t)
	const file = "testdata/bits.txt"
	got := strings.Join(tableDigests(t), "\n") + "\n"
	if *updateBits {
		require.NoError(t, os.WriteFile(file, []byte(got), 0o644))
	}
	want, err := os.ReadFile(file)
	require.NoError(t, err)
	golden, lines := strings.Split(string(want), "\n"), strings.Split(got, "\n")
	for i := range min(len(golden), len(lines)) {
		require.Equal(t, golden[i], lines[i], "%s:%d: run with -update.bits on amd64 where a plan or a function is meant to be another", file, i+1)
	}
	require.Len(t, lines, len(golden))
}

// digestsVariable names the file to which a run of TestSameBitsElsewhere writes what it computed.
const digestsVariable = "TILEC_TEST_DIGESTS"

// TestSameBitsElsewhere runs the table in a process that sees a processor without AVX2 and FMA, which package math
// and the compiler's own code look for as well.
func TestSameBitsElsewhere(t *testing.T) {
	sweep.Once(t)
	digests := strings.Join(append(tableDigests(t), libraryDigests(t)...), "\n")
	if out := os.Getenv(digestsVariable); out != "" {
		require.NoError(t, os.WriteFile(out, []byte(digests), 0o600))
		return
	}
	if runtime.GOARCH != "amd64" {
		t.Skip("the switches are amd64's")
	}
	out := filepath.Join(t.TempDir(), "digests")
	child := exec.Command(os.Args[0], "-test.run=^TestSameBitsElsewhere$")
	child.Env = append(os.Environ(), "GODEBUG=cpu.avx2=off,cpu.fma=off,cpu.sse41=off", digestsVariable+"="+out)
	text, err := child.CombinedOutput()
	require.NoError(t, err, string(text))
	there, err := os.ReadFile(out)
	require.NoError(t, err)
	require.Equal(t, strings.Split(string(there), "\n"), strings.Split(digests, "\n"))
}

// sameOn compares what a function of the machine gives on all of these. A digest says what it is of.
func sameOn(t *testing.T, machines []machine, digests func(t *testing.T) []string) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	defer cpu.UseVectors(cpu.UseVectors(true))
	defer cpu.UseWide(cpu.UseWide(true))
	var first []string
	for i, m := range machines {
		if i%sweep.OneIn(2) == 1 {
			continue
		}
		runtime.GOMAXPROCS(m.cores)
		cpu.UseVectors(m.vectors)
		cpu.UseWide(m.wide)
		got := digests(t)
		if first == nil {
			first = got
			require.Greater(t, len(first), 10)
		}
		require.Equalf(t, first, got, "%d cores, vectors: %t, wide ones: %t", m.cores, m.vectors, m.wide)
	}
}

// digest is short for the bits of a tensor; every NaN is the same.
func digest(name string, d lang.DType, data []byte) string {
	h := sha256.New()
	for size := d.Size(); len(data) > 0; data = data[size:] {
		if v := data[:size]; d.IsFloat() && math.IsNaN(float(d, v)) {
			h.Write([]byte("NaN"))
		} else {
			h.Write(v)
		}
	}
	return name + " " + hex.EncodeToString(h.Sum(nil)[:8])
}

func tableDigests(t *testing.T) (digests []string) {
	program, problems := jit.Load("bits.tile", []byte(bitsSource), nil)
	require.Empty(t, problems)
	for _, r := range bitsRuns {
		types := r.types
		if types == nil {
			types = []lang.DType{lang.F32}
		}
		for _, d := range types {
			for _, dims := range r.dims {
				for _, k := range program.Kernels {
					if k.Name == r.kernel {
						digests = append(digests, kernelDigests(t, k, dims, d)...)
					}
				}
			}
		}
	}
	return digests
}

// libraryDigests runs every kernel of the library at a part of its typical sizes.
func libraryDigests(t *testing.T) (digests []string) {
	kernels := 0
	files, err := fs.Glob(stdlib.FS, "*.tile")
	require.NoError(t, err)
	for _, file := range files {
		source, err := stdlib.FS.ReadFile(file)
		require.NoError(t, err)
		program, problems := jit.Load(file, source, nil)
		require.Empty(t, problems)
		for _, k := range program.Kernels {
			if k.SizeHints == nil || strings.Contains(string(source), "atomic_") {
				continue
			}
			dims := map[string]int64{}
			for s, n := range k.SizeHints {
				if dims[s.Name] = n; n > 64 {
					dims[s.Name] = max(n/16, 32)
				}
			}
			d := lang.F32
			if kernels%2 == 1 {
				d = lang.BF16
			}
			got := kernelDigests(t, k, dims, d)
			if digests = append(digests, got...); got != nil {
				kernels++
			}
		}
	}
	require.Greater(t, kernels, 25)
	return digests
}

// kernelDigests runs a kernel on random arguments; nil where the sizes are none that it can have.
func kernelDigests(t *testing.T, k *typed.Kernel, dims map[string]int64, d lang.DType) (digests []string) {
	name := fmt.Sprint(k.Name, " ", d, " ", dims)
	compiler := jit.NewCompiler(jit.OpenCPU(), nil)
	opts := jit.Options{Dims: dims, Types: map[string]lang.DType{}}
	types := map[*typed.TypeParam]lang.DType{}
	for _, p := range k.TypeParams {
		opts.Types[p.Name], types[p] = d, d
	}
	sizeOf := func(s *size.Symbol) (int64, bool) {
		if n, ok := dims[s.Name]; ok {
			return n, true
		}
		if s.Default != nil {
			return s.Default.Int, true
		}
		return 0, false
	}
	var args []jit.Value
	var written []inout
	for _, p := range k.Params {
		of := p.DType.Resolve(types)
		if !p.IsTensor {
			args = append(args, jit.Value{Scalar: &lang.Literal{DType: of, Int: 1, Float: 0.7}})
			continue
		}
		var shape []int64
		for _, s := range p.Shape {
			n, err := s.Eval(sizeOf)
			if err != nil || n < 0 {
				return nil
			}
			shape = append(shape, n)
		}
		a := spread(of, name+p.Name, shape...)
		m, err := compiler.Device.Alloc(int64(len(a.Data)))
		require.NoError(t, err)
		require.NoError(t, compiler.Device.Write(m, 0, a.Data))
		tensor := &jit.Tensor{DType: of, Shape: shape, Memory: m}
		args = append(args, jit.TensorValue(tensor))
		if p.Mode == lang.InOut {
			written = append(written, inout{p.Name, tensor})
		}
	}
	program, err := compiler.BindKernel(k, args, opts)
	if err != nil {
		return nil
	}
	defer program.Close()
	results, err := program.Run(args)
	if err != nil {
		return nil
	}
	for i, r := range results {
		written = append(written, inout{k.Outputs[i].Name, r.Tensor})
	}
	return writtenDigests(t, name, compiler.Device, written)
}

// spread makes an array of random numbers around 0 that are the same on every processor, as those of
// jittest.Normal need not be: of sums, and products with powers of two.
func spread(d lang.DType, seed string, shape ...int64) *jittest.Array {
	r := jittest.Rand(seed)
	a := jittest.NewArray(d, shape...)
	for i := range a.Len() {
		a.SetFloat(i, r.Float64()+r.Float64()+r.Float64()+r.Float64()+r.Float64()+r.Float64()-3)
	}
	return a
}

func writtenDigests(t *testing.T, name string, device jit.Device, written []inout) (digests []string) {
	for _, w := range written {
		data := make([]byte, w.tensor.Bytes())
		require.NoError(t, jit.ReadTensor(device, w.tensor, data))
		digests = append(digests, digest(name+" "+w.name, w.tensor.DType, data))
	}
	return digests
}

// conformanceDigests runs the programs of the conformance tests with random floats for the whole numbers that they
// are tested with. Not those with atomics, which add floats in any order.
func conformanceDigests(t *testing.T) (digests []string) {
	files, err := filepath.Glob(filepath.Join(jittest.Path(t, "testdata/conformance"), "*.txtar"))
	require.NoError(t, err)
	for _, file := range files {
		archive, err := txtar.ParseFile(file)
		require.NoError(t, err)
		parts := map[string][]byte{}
		for _, f := range archive.Files {
			parts[f.Name] = f.Data
		}
		for _, f := range archive.Files {
			name, ok := strings.CutSuffix(f.Name, ".tile")
			if !ok || strings.Contains(string(f.Data), "atomic_") {
				continue
			}
			program, problems := jit.Load(name+".tile", f.Data, nil)
			require.Empty(t, problems)
			for i, text := range strings.Split(strings.TrimSpace(string(parts[name+".run"])), "\n\n") {
				c, err := parseCase(text)
				require.NoError(t, err)
				for input, a := range c.inputs {
					if a.DType.IsFloat() {
						c.inputs[input] = jittest.Normal(a.DType, name+input, a.Shape...)
					}
				}
				written, says, err := c.launch(t, jit.NewCompiler(jit.OpenCPU(), nil), program)
				run := fmt.Sprint(name, " ", i+1)
				digests = append(digests, fmt.Sprintf("%s: %v, %q", run, err, says))
				if err == nil {
					digests = append(digests, writtenDigests(t, run, jit.OpenCPU(), written)...)
				}
			}
		}
	}
	return digests
}
