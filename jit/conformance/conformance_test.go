package conformance_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"tilec/jit"
	"tilec/jit/backend"
	"tilec/jit/cuda"
	"tilec/jit/jittest"
	"tilec/jit/jittest/sweep"
	"tilec/jit/log"
	"tilec/jit/target"
	"tilec/lang"
	"tilec/typecheck/size"
	"tilec/typecheck/typed"
)

// TestConformance runs the programs of testdata/conformance on the device under
// test. An archive holds NAME.tile, a program, beside NAME.run, what is run of
// it and what must come out, a blank line between runs:
//
//	run KERNEL NAME=VALUE ...          a kernel or graph, with scalars, constants, dimensions, element types and pins
//	in  NAME f32[2,3] 1 2 3 4 5 6      a tensor; w.blocks[0].b names a part of a struct
//	out NAME f32[2,3] ulp=2 1 2 3 ...  an output or inout, exactly or within units in the last place
//	say TEXT                           a line that the run prints, all of them in order
//	error TEXT                         what the message of the error has in it, with which the run ends
//	debug                              a debug build
//
// The values may be `arange`, or `fill V`.
func TestConformance(t *testing.T) {
	every := 1
	if jittest.OnEmulator(t) {
		every = sweep.OneIn(2) // all runs take the emulator a minute; the others have other plans, in tests below
	}
	conformance(t, jittest.Device(t), every, 0, func(*jit.Compiler) {})
}

// TestConformanceWide runs them once more as programs of dimensions beyond 2^31
// run: positions in 64 bits change no result.
func TestConformanceWide(t *testing.T) {
	if testing.Short() {
		t.Skip("every program once more takes as long as TestConformance")
	}
	every := 1
	if jittest.OnEmulator(t) {
		every = sweep.OneIn(4) // all runs take the emulator a minute
	}
	conformance(t, jittest.Device(t), every, 1, widen)
}

// TestConformanceOfBlocks reads the block programs of all of them back from their text, and runs some in the interpreter that does what those say; all
// where the variable TILEC_TEST_DEVICE is "blocks".
func TestConformanceOfBlocks(t *testing.T) {
	sweep.Once(t)
	every := sweep.OneIn(20)
	machine, err := target.Find(target.Default)
	require.NoError(t, err)
	device := jittest.NewBlocks(machine)
	device.Every = every
	conformance(t, device, 1, 0, func(*jit.Compiler) {})
	launches, left := device.Interpreted()
	t.Logf("%d launches were interpreted; not interpreted: %v", launches, left)
	require.Greater(t, launches, 900/every, "%v", left)
}

// TestConformanceVaried runs them under other plans than those that the planner chooses: no plan changes a result. Each choice of plans is a test of
// its own, so that a machine with more processors runs them at once.
func TestConformanceVaried(t *testing.T) { varied(t, 0) }

func TestConformanceVariedOnce(t *testing.T) { varied(t, 1) }

func TestConformanceVariedTwice(t *testing.T) { varied(t, 2) }

func TestConformanceVariedThrice(t *testing.T) { varied(t, 3) }

func varied(t *testing.T, seed int) {
	every := 1
	switch {
	case jittest.OnEmulator(t): // all runs of one choice take the emulator a minute
		every = sweep.OneIn(4)
	case seed > 1 && testing.Short():
		every = 3
	}
	conformance(t, jittest.Device(t), every, seed+1, func(c *jit.Compiler) { vary(c, seed) })
}

// widen compiles every kernel as for dimensions of more than 2^31 elements.
func widen(c *jit.Compiler) { c.Wide = true }

// vary gives every kernel another plan of those that the planner may choose: of the extents of each parameter the first,
// the last, or one that follows from the seed.
func vary(c *jit.Compiler, seed int) {
	c.Extents = func(kernel string, open map[string][]int64) map[string]int64 {
		chosen := map[string]int64{}
		for name, values := range open {
			switch seed {
			case 0:
				chosen[name] = values[0]
			case 1:
				chosen[name] = values[len(values)-1]
			default:
				h := fnv.New64a()
				fmt.Fprint(h, seed, kernel, name)
				chosen[name] = values[h.Sum64()%uint64(len(values))]
			}
		}
		return chosen
	}
}

// conformance runs one of so many of the programs' runs on a device, from a run on.
func conformance(t *testing.T, device backend.Device, every, from int, prepare func(*jit.Compiler)) {
	number := from
	files, err := filepath.Glob(filepath.Join(jittest.Path(t, "testdata/conformance"), "*.txtar"))
	require.NoError(t, err)
	require.NotEmpty(t, files)
	var assembling errgroup.Group // beside the runs that follow
	assembling.SetLimit(runtime.GOMAXPROCS(0))
	defer func() { assert.NoError(t, assembling.Wait()) }()
	for _, file := range files {
		archive, err := txtar.ParseFile(file)
		require.NoError(t, err)
		parts := map[string][]byte{}
		for _, f := range archive.Files {
			parts[f.Name] = f.Data
		}
		topic := strings.TrimSuffix(filepath.Base(file), ".txtar")
		for _, f := range archive.Files {
			name, ok := strings.CutSuffix(f.Name, ".tile")
			if !ok {
				continue
			}
			runs, ok := parts[name+".run"]
			require.Truef(t, ok, "%s: %s.tile has no %s.run", file, name, name)
			t.Run(topic+"/"+name, func(t *testing.T) {
				program, problems := jit.Load(name+".tile", f.Data, nil)
				require.Empty(t, problems)
				var modules bytes.Buffer
				logs, err := log.Parse("ptx", &modules)
				require.NoError(t, err)
				compiler := jit.NewCompiler(device, logs)
				prepare(compiler)
				for i, text := range strings.Split(strings.TrimSpace(string(runs)), "\n\n") {
					if number++; number%every != 0 {
						continue
					}
					c, err := parseCase(text)
					require.NoErrorf(t, err, "run %d", i+1)
					t.Run(fmt.Sprint(i+1), func(t *testing.T) { c.run(t, compiler, program) })
				}
				if jittest.OnEmulator(t) && device == jittest.Device(t) { // a GPU's driver assembles what it runs
					assembling.Go(func() error { return assemble(topic+"/"+name, modules.String(), compiler.Device.Target().Name) })
				}
			})
		}
	}
}

// assembledBefore are the modules that a test has assembled: under other plans most programs are the same.
var assembledBefore sync.Map

// assemble assembles the modules of a program that were not assembled before, where there is an assembler.
func assemble(program, logged, target string) error {
	assembler, err := cuda.FindAssembler()
	if errors.Is(err, cuda.ErrNoAssembler) && os.Getenv(cuda.AssemblerVariable) == "" {
		return nil
	}
	if err != nil {
		return err
	}
	_, logged, _ = strings.Cut(logged, "// ptx: ")
	for _, module := range strings.Split(logged, "\n// ptx: ") {
		if _, text, ok := strings.Cut(module, "\n"); ok {
			if _, before := assembledBefore.LoadOrStore(target+text, true); before {
				continue
			}
			if _, _, err := assembler.Compile(context.Background(), []byte(text), target, cuda.CompileOptions{OptLevel: 1}); err != nil {
				return fmt.Errorf("%s: %w\n%s", program, err, text)
			}
		}
	}
	return nil
}

// conformanceCase is one run of a program.
type conformanceCase struct {
	callee  string
	given   map[string]string
	inputs  map[string]*jittest.Array
	outputs []expected
	says    []string // nil for none
	err     string
	debug   bool
}

type expected struct {
	name string
	want *jittest.Array
	ulps int64
}

func parseCase(text string) (*conformanceCase, error) {
	c := &conformanceCase{given: map[string]string{}, inputs: map[string]*jittest.Array{}}
	for _, line := range strings.Split(text, "\n") {
		words := strings.Fields(line)
		if line == "debug" {
			c.debug = true
			continue
		}
		if len(words) < 2 {
			return nil, fmt.Errorf("cannot read %q", line)
		}
		switch name := words[1]; words[0] {
		case "run":
			c.callee = name
			for _, w := range words[2:] {
				k, v, _ := strings.Cut(w, "=")
				c.given[k] = v
			}
		case "in":
			a, err := parseTensor(words[2:])
			if err != nil {
				return nil, fmt.Errorf("%s: %w", name, err)
			}
			c.inputs[name] = a
		case "say":
			c.says = append(c.says, strings.TrimPrefix(line, "say "))
		case "error":
			c.err = strings.TrimPrefix(line, "error ")
		case "out":
			e := expected{name: name}
			rest := words[2:]
			if len(rest) > 1 && strings.HasPrefix(rest[1], "ulp=") {
				n, err := strconv.ParseInt(rest[1][4:], 10, 64)
				if err != nil {
					return nil, err
				}
				e.ulps = n
				rest = append(rest[:1:1], rest[2:]...)
			}
			var err error
			if e.want, err = parseTensor(rest); err != nil {
				return nil, fmt.Errorf("%s: %w", name, err)
			}
			c.outputs = append(c.outputs, e)
		default:
			return nil, fmt.Errorf("cannot read %q", line)
		}
	}
	if c.callee == "" || len(c.outputs)+len(c.says)+len(c.err) == 0 {
		return nil, fmt.Errorf("a run needs a line `run` and an output that is expected")
	}
	return c, nil
}

// parseTensor reads `f32[2,3]` and its values.
func parseTensor(words []string) (*jittest.Array, error) {
	if len(words) == 0 {
		return nil, fmt.Errorf("a type is missing")
	}
	name, sizes, ok := strings.Cut(strings.TrimSuffix(words[0], "]"), "[")
	d, known := lang.ParseDType(name)
	if !ok || !known {
		return nil, fmt.Errorf("%q is not the type of a tensor", words[0])
	}
	var shape []int64
	for _, s := range strings.Split(sizes, ",") {
		n, err := strconv.ParseInt(s, 10, 64)
		if err != nil {
			return nil, err
		}
		shape = append(shape, n)
	}
	a := jittest.NewArray(d, shape...)
	values := words[1:]
	value := func(i int) string { return values[i] }
	switch {
	case len(values) == 1 && values[0] == "arange":
		value = strconv.Itoa
	case len(values) == 2 && values[0] == "fill":
		value = func(int) string { return values[1] }
	case len(values) != a.Len():
		return nil, fmt.Errorf("%d values for %s", len(values), words[0])
	}
	for i := range a.Len() {
		element := make([]byte, d.Size())
		if err := put(element, d, value(i)); err != nil {
			return nil, err
		}
		d.PutRawBitsAt(a.Data, int64(i), d.RawBits(element))
	}
	return a, nil
}

// put writes a number as memory holds it.
func put(to []byte, d lang.DType, text string) error {
	var bits uint64
	l, err := literal(d, text)
	switch {
	case err != nil:
		return err
	case d == lang.F64:
		bits = math.Float64bits(l.Float)
	case d == lang.F32:
		bits = uint64(math.Float32bits(float32(l.Float)))
	case d == lang.F16:
		bits = uint64(lang.F16Bits(float32(l.Float)))
	case d == lang.BF16:
		bits = uint64(lang.BF16Bits(float32(l.Float)))
	case d == lang.F4E2M1:
		bits = d.FloatBits(l.Float)
	case d == lang.F8E4M3:
		bits = uint64(lang.F8E4M3Bits(float32(l.Float)))
	case d == lang.F8E5M2:
		bits = uint64(lang.F8E5M2Bits(float32(l.Float)))
	default:
		bits = uint64(l.Int)
	}
	var all [8]byte
	binary.LittleEndian.PutUint64(all[:], bits)
	copy(to[:d.Size()], all[:])
	return nil
}

func literal(d lang.DType, text string) (lang.Literal, error) {
	l := lang.Literal{DType: d}
	var err error
	switch {
	case d.IsFloat():
		l.Float, err = strconv.ParseFloat(text, 64)
	case text == "true":
		l.Int = 1
	case text == "false":
	case d.IsSigned():
		l.Int, err = strconv.ParseInt(text, 10, d.Bits())
	default:
		var n uint64
		n, err = strconv.ParseUint(text, 10, d.Bits())
		l.Int = int64(n)
	}
	return l, err
}

// callee is a kernel or a graph.
type callee struct {
	params  []*typed.GParam
	outputs []string
	consts  []*size.Symbol
	dims    []*size.Symbol
	types   []*typed.TypeParam
	bind    func([]jit.Value, jit.Options) (*jit.Program, error)
}

func findCallee(compiler *jit.Compiler, p *typed.Program, name string) *callee {
	for _, k := range p.Kernels {
		if k.Name != name {
			continue
		}
		c := &callee{consts: k.Consts, dims: k.Dims, types: k.TypeParams}
		for _, q := range k.Params {
			g := typed.GType{Kind: typed.GScalar, DType: q.DType}
			if q.IsTensor {
				g.Kind = typed.GTensor
			}
			c.params = append(c.params, &typed.GParam{Name: q.Name, Mode: q.Mode, Type: g})
		}
		for _, o := range k.Outputs {
			c.outputs = append(c.outputs, o.Name)
		}
		c.bind = func(v []jit.Value, o jit.Options) (*jit.Program, error) { return compiler.BindKernel(k, v, o) }
		return c
	}
	for _, g := range p.Graphs {
		if g.Name != name {
			continue
		}
		c := &callee{consts: g.Consts, dims: g.Dims, types: g.TypeParams, params: g.Params}
		for _, o := range g.Outputs {
			c.outputs = append(c.outputs, o.Name)
		}
		c.bind = func(v []jit.Value, o jit.Options) (*jit.Program, error) { return compiler.BindGraph(g, v, o) }
		return c
	}
	return nil
}

// options sorts the given names into what they are; what is left are scalars and pins.
func (c *conformanceCase) options(t *testing.T, to *callee) jit.Options {
	o := jit.Options{Dims: map[string]int64{}, Consts: map[string]lang.Literal{}, Types: map[string]lang.DType{}, Pins: map[string]int64{}}
	scalars := map[string]bool{}
	for _, p := range to.params {
		scalars[p.Name] = true
	}
	for _, s := range to.consts {
		if text, ok := c.given[s.Name]; ok {
			l, err := literal(s.DType, text)
			require.NoError(t, err)
			o.Consts[s.Name] = l
		}
	}
	for _, p := range to.types {
		if d, ok := lang.ParseDType(c.given[p.Name]); ok {
			o.Types[p.Name] = d
		}
	}
	dims := map[string]bool{}
	for _, s := range to.dims {
		dims[s.Name] = true
	}
	for name, text := range c.given {
		_, isConst := o.Consts[name]
		_, isType := o.Types[name]
		if isConst || isType || scalars[name] {
			continue
		}
		n, err := strconv.ParseInt(text, 10, 64)
		require.NoErrorf(t, err, "%s=%s", name, text)
		if dims[name] {
			o.Dims[name] = n
		} else {
			o.Pins[name] = n
		}
	}
	return o
}

// inout is a tensor that the run may write.
type inout struct {
	name   string
	tensor *jit.Tensor
}

func (c *conformanceCase) run(t *testing.T, compiler *jit.Compiler, p *typed.Program) {
	written, says, err := c.launch(t, compiler, p)
	if c.err == "" {
		require.NoError(t, err)
	} else {
		require.ErrorContains(t, err, c.err)
	}
	require.Equal(t, c.says, says)
	for _, e := range c.outputs {
		at := -1
		for i, w := range written {
			if w.name == e.name {
				at = i
			}
		}
		require.GreaterOrEqualf(t, at, 0, "%s has no %s", c.callee, e.name)
		e.check(t, compiler.Device, written[at].tensor)
	}
}

// launch runs the case once and gives what it may have written, the lines that it printed, and how it ended.
func (c *conformanceCase) launch(t *testing.T, compiler *jit.Compiler, p *typed.Program) (written []inout, says []string, err error) {
	device := compiler.Device
	to := findCallee(compiler, p, c.callee)
	require.NotNilf(t, to, "there is no %s", c.callee)
	opts := c.options(t, to)
	var upload func(path string, g typed.GType) jit.Value
	used := map[string]bool{}
	upload = func(path string, g typed.GType) jit.Value {
		v := jit.Value{Elems: []jit.Value{}}
		switch g.Kind {
		case typed.GTensor:
			a := c.inputs[path]
			require.NotNilf(t, a, "no input for %s", path)
			used[path] = true
			m, err := device.Alloc(int64(len(a.Data)))
			require.NoError(t, err)
			t.Cleanup(func() { device.Free(m) })
			require.NoError(t, device.Write(m, 0, a.Data))
			tensor := &jit.Tensor{DType: a.DType, Shape: a.Shape, Memory: m}
			written = append(written, inout{path, tensor})
			return jit.TensorValue(tensor)
		case typed.GScalar:
			text, ok := c.given[path]
			if !ok {
				return jit.Value{} // its default
			}
			l, err := literal(g.DType.Resolve(nil), text)
			require.NoError(t, err)
			return jit.Value{Scalar: &l}
		case typed.GStruct:
			for _, f := range g.Fields {
				v.Elems = append(v.Elems, upload(path+"."+f.Name, f.Type))
			}
		case typed.GArray:
			for i := 0; c.begins(fmt.Sprintf("%s[%d]", path, i)); i++ {
				v.Elems = append(v.Elems, upload(fmt.Sprintf("%s[%d]", path, i), *g.Elem))
			}
		}
		return v
	}
	var args []jit.Value
	for _, q := range to.params {
		args = append(args, upload(q.Name, q.Type))
	}
	for name := range c.inputs {
		require.Truef(t, used[name], "%s has no %s", c.callee, name)
	}
	var said bytes.Buffer
	compiler.Output, opts.Debug = &said, c.debug
	program, err := to.bind(args, opts)
	var results []jit.Value
	if err == nil {
		t.Cleanup(func() { program.Close() })
		results, err = program.Run(args)
	}
	for line := range strings.Lines(said.String()) {
		says = append(says, strings.TrimSuffix(line, "\n"))
	}
	for i, r := range results {
		written = append(written, inout{to.outputs[i], r.Tensor})
	}
	return written, says, err
}

// begins tells whether an input is at a path or inside.
func (c *conformanceCase) begins(path string) bool {
	for name := range c.inputs {
		if strings.HasPrefix(name, path) {
			return true
		}
	}
	return false
}

func (e expected) check(t *testing.T, device backend.Device, got *jit.Tensor) {
	require.Equal(t, e.want.DType, got.DType, e.name)
	require.Equal(t, e.want.Shape, got.Shape, e.name)
	data := make([]byte, got.Bytes())
	require.NoError(t, jit.ReadTensor(device, got, data))
	element := func(data []byte, i int) []byte {
		b := make([]byte, got.DType.Size())
		got.DType.PutRawBits(b, got.DType.RawBitsAt(data, int64(i)))
		return b
	}
	for i := range e.want.Len() {
		g, w := element(data, i), element(e.want.Data, i)
		if !bytes.Equal(g, w) && !near(got.DType, g, w, e.ulps) {
			t.Errorf("%s, element %d: %s, required %s", e.name, i, show(got.DType, g), show(got.DType, w))
		}
	}
}

// near tells whether two floats are both NaN, both zero, or at most so many units in the last place apart.
func near(d lang.DType, a, b []byte, ulps int64) bool {
	if !d.IsFloat() {
		return false
	}
	x, y := float(d, a), float(d, b)
	switch {
	case x == y, x != x && y != y:
		return true
	case x != x || y != y || math.Signbit(x) != math.Signbit(y):
		return false
	}
	// Of one sign, floats are in the order of their bits.
	return max(bitsOf(a), bitsOf(b))-min(bitsOf(a), bitsOf(b)) <= uint64(ulps)
}

func bitsOf(b []byte) uint64 {
	var all [8]byte
	copy(all[:], b)
	return binary.LittleEndian.Uint64(all[:])
}

func float(d lang.DType, b []byte) float64 { return d.Element(b) }

func show(d lang.DType, b []byte) string {
	if d.IsFloat() {
		return strconv.FormatFloat(float(d, b), 'g', 9, 64)
	}
	return fmt.Sprintf("%#x", bitsOf(b))
}

// A test of the conformance reader itself: what it must refuse.
func TestConformanceCasesAreRead(t *testing.T) {
	for _, text := range []string{
		"in x f32[1] 1\nout y f32[1] 1", // runs nothing
		"run f\nin x f32[1] 1",          // expects nothing
		"run f\nout y f32[2] 1",         // too few values
		"run f\nout y q32[1] 1",
		"run f\nout y i8[1] 300",
		"run f\nsee y f32[1] 1",
	} {
		_, err := parseCase(text)
		require.Error(t, err, text)
	}
	c, err := parseCase("run f B=3\nin x f32[2,2] arange\nout y i32[3] ulp=1 fill 7")
	require.NoError(t, err)
	require.Equal(t, 3.0, c.inputs["x"].Float(3))
	require.Equal(t, 7.0, c.outputs[0].want.Float(2))
}
