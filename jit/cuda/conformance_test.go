package cuda

import (
	"bytes"
	"context"
	_ "embed"
	"errors"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

//go:embed testdata/vector.ptx
var vectorPTX []byte

//go:embed testdata/hopper.ptx
var hopperPTX []byte

// conformance is what every implementation of the driver has to do, from a
// compute capability on.
var conformance = []struct {
	name  string
	needs int
	run   func(*testing.T, *Context)
}{
	{"device", 0, testDevice},
	{"memory", 0, testMemory},
	{"pinned and stream-ordered memory", 0, testPinnedMemory},
	{"out of memory is a typed error", 0, testOutOfMemory},
	{"vector add", 0, testVectorAdd},
	{"events", 0, testEvents},
	{"order between streams", 0, testStreamOrder},
	{"graph", 0, testGraph},
	{"failed capture leaves the stream usable", 0, testFailedCapture},
	{"global and kernel without parameters", 0, testGlobal},
	{"kernel attributes", 0, testAttributes},
	{"dynamic shared memory beyond the default", 0, testDynamicShared},
	{"PTX error has the compiler's log", 0, testModuleError},
	{"missing kernel is a typed error", 0, testMissingKernel},
	{"wrong parameters are refused", 0, testWrongParams},
	{"goroutines on any thread", 0, testGoroutines},
	{"cubin", 0, testCubin},
	{"cubin from the driver", 0, testDriverCubin},
	{"launch allocates little", 0, testLaunchAllocations},
	{"cluster", 90, testCluster},
	{"programmatic launch", 90, testProgrammatic},
	{"tensor map", 90, testTensorMap},
}

// openDriver skips where there is no driver, and says why there is none.
func openDriver(t testing.TB) *Driver {
	d, err := Open()
	if errors.Is(err, ErrNoDriver) {
		t.Skip(err)
	}
	require.NoError(t, err)
	return d
}

func TestConformance(t *testing.T) {
	d := openDriver(t)
	for _, dev := range d.Devices() {
		t.Run(dev.Name, func(t *testing.T) {
			t.Logf("%v, %v, driver for CUDA %d, by %s", dev, dev.UUID, d.Version(), Implementation)
			runConformance(t, d, dev.Ordinal)
		})
	}
}

func runConformance(t *testing.T, d *Driver, ordinal int) {
	c, err := d.Context(ordinal)
	require.NoError(t, err)
	defer func() { assert.NoError(t, c.Close()) }()
	for _, test := range conformance {
		t.Run(test.name, func(t *testing.T) {
			if have := c.Device().Capability(); have < test.needs {
				t.Skipf("needs compute capability %d, this device has %d", test.needs, have)
			}
			test.run(t, c)
			require.NoError(t, c.Synchronize())
		})
	}
}

// closing closes at the end of the test.
func closing[T interface{ Close() error }](t testing.TB, v T, err error) T {
	t.Helper()
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, v.Close()) })
	return v
}

func load(t testing.TB, c *Context, image []byte) *Module {
	t.Helper()
	m, err := c.Load(image, CompileOptions{})
	return closing(t, m, err)
}

func kernel(t testing.TB, m *Module, name string) *Function {
	t.Helper()
	f, err := m.Function(name)
	require.NoError(t, err)
	return f
}

func stream(t testing.TB, c *Context) *Stream {
	t.Helper()
	s, err := c.NewStream()
	return closing(t, s, err)
}

// onDevice allocates device memory with a content.
func onDevice[T uint8 | uint32 | float32](t testing.TB, c *Context, content []T) Ptr {
	t.Helper()
	p, err := c.Alloc(len(Bytes(content)))
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, c.Free(p)) })
	require.NoError(t, c.CopyToDevice(p, Bytes(content)))
	return p
}

func fromDevice[T uint8 | uint32 | float32](t testing.TB, c *Context, p Ptr, n int) []T {
	t.Helper()
	content := make([]T, n)
	require.NoError(t, c.CopyToHost(Bytes(content), p))
	return content
}

// one is a launch of a single thread.
var one = LaunchConfig{Grid: Dim3{X: 1}, Block: Dim3{X: 1}}

func testDevice(t *testing.T, c *Context) {
	d := c.Device()
	require.GreaterOrEqual(t, c.Driver().Version(), 11000)
	assert.NotEmpty(t, d.Name)
	assert.NotEqual(t, UUID{}, d.UUID)
	assert.Positive(t, d.Memory)
	for name, v := range map[string]int{
		"Major": d.Major, "SMs": d.SMs, "L2": d.L2, "SharedPerSM": d.SharedPerSM,
		"RegistersPerSM": d.RegistersPerSM, "ThreadsPerSM": d.ThreadsPerSM, "BlocksPerSM": d.BlocksPerSM,
		"Clock": d.Clock, "MemoryClock": d.MemoryClock, "MemoryBusWidth": d.MemoryBusWidth,
	} {
		assert.Positive(t, v, name)
	}
	assert.Equal(t, 32, d.WarpSize)
	assert.Equal(t, 1024, d.ThreadsPerBlock)
	assert.GreaterOrEqual(t, d.SharedPerBlock, 48<<10)
	free, total, err := c.MemInfo()
	require.NoError(t, err)
	assert.LessOrEqual(t, free, total)
	assert.Positive(t, free)
}

func testMemory(t *testing.T, c *Context) {
	s := stream(t, c)
	const n = 1000
	source := make([]uint32, n)
	for i := range source {
		source[i] = uint32(i * i)
	}
	a, b := onDevice(t, c, source), onDevice(t, c, make([]uint32, n))
	require.Equal(t, source, fromDevice[uint32](t, c, a, n))

	require.NoError(t, c.CopyOnDevice(b, a+4, 4*(n-1)))
	require.Equal(t, source[1:], fromDevice[uint32](t, c, b, n-1))

	require.NoError(t, c.Fill(b, 0xa5, 4*n))
	require.Equal(t, slices.Repeat([]uint32{0xa5a5a5a5}, n), fromDevice[uint32](t, c, b, n))

	require.NoError(t, s.Fill32(b, 12345, n))
	require.NoError(t, s.Fill(b+4, 1, 4))
	require.NoError(t, s.CopyOnDevice(b+8, a+8, 4))
	want := append([]uint32{12345, 0x01010101, 4}, slices.Repeat([]uint32{12345}, n-3)...)
	require.Equal(t, want, fromDevice[uint32](t, c, b, n), "a synchronous copy waits for the stream")

	require.NoError(t, s.CopyToDevice(b, Bytes([]uint32{7})))
	got := []uint32{0}
	require.NoError(t, s.CopyToHost(Bytes(got), b))
	require.NoError(t, s.Synchronize())
	require.Equal(t, uint32(7), got[0])

	require.NoError(t, c.CopyToDevice(a, nil), "nothing to copy is no error")
	_, err := c.Alloc(0)
	require.ErrorContains(t, err, "must be positive")
}

func testPinnedMemory(t *testing.T, c *Context) {
	s := stream(t, c)
	in, err := c.AllocHost(1 << 20)
	require.NoError(t, err)
	out, err := c.AllocHost(1 << 20)
	require.NoError(t, err)
	for i := range in {
		in[i] = byte(i * 7)
	}
	p, err := s.Alloc(1 << 20)
	require.NoError(t, err)
	require.NoError(t, s.CopyToDevice(p, in))
	require.NoError(t, s.CopyToHost(out, p))
	require.NoError(t, s.Free(p))
	require.NoError(t, s.Synchronize())
	require.Equal(t, in, out)
	require.NoError(t, c.FreeHost(in))
	require.NoError(t, c.FreeHost(out))
}

func testOutOfMemory(t *testing.T, c *Context) {
	_, err := c.Alloc(1 << 46)
	require.ErrorIs(t, err, OutOfMemory)
	var e *Error
	require.ErrorAs(t, err, &e)
	assert.Equal(t, "CUDA_ERROR_OUT_OF_MEMORY", e.Name)
	assert.NotEmpty(t, e.Description)
	assert.Equal(t, "cuMemAlloc_v2", e.Call)
	assert.ErrorContains(t, err, "70368744177664 bytes")
}

// addVectors adds two vectors of n elements and checks the sum.
func addVectors(t *testing.T, c *Context, s *Stream, add *Function, n int) {
	x, y, want := make([]float32, n), make([]float32, n), make([]float32, n)
	for i := range x {
		x[i], y[i] = float32(i), float32(3*i)+0.5
		want[i] = x[i] + y[i]
	}
	a, b, sum := onDevice(t, c, x), onDevice(t, c, y), onDevice(t, c, make([]float32, n))
	cfg := LaunchConfig{Grid: Dim3{X: uint32((n + 255) / 256)}, Block: Dim3{X: 256}}
	require.NoError(t, s.Launch(add, cfg, new(Params).Ptr(a).Ptr(b).Ptr(sum).Uint32(uint32(n))))
	require.NoError(t, s.Synchronize())
	require.Equal(t, want, fromDevice[float32](t, c, sum, n))
}

func testVectorAdd(t *testing.T, c *Context) {
	add := kernel(t, load(t, c, vectorPTX), "add")
	for _, n := range []int{1, 256, 100_001} {
		addVectors(t, c, stream(t, c), add, n)
	}
}

func testEvents(t *testing.T, c *Context) {
	s := stream(t, c)
	step := kernel(t, load(t, c, vectorPTX), "step")
	p := onDevice(t, c, []uint32{0})
	e, err := c.NewEvent()
	start := closing(t, e, err)
	e, err = c.NewEvent()
	end := closing(t, e, err)
	require.NoError(t, s.Record(start))
	for range 100 {
		require.NoError(t, s.Launch(step, one, new(Params).Ptr(p).Uint32(1).Uint8(1)))
	}
	require.NoError(t, s.Record(end))
	require.NoError(t, end.Synchronize())
	took, err := end.Since(start)
	require.NoError(t, err)
	assert.Positive(t, took)
	require.Equal(t, []uint32{100}, fromDevice[uint32](t, c, p, 1))
}

func testStreamOrder(t *testing.T, c *Context) {
	a, b := stream(t, c), stream(t, c)
	step := kernel(t, load(t, c, vectorPTX), "step")
	p := onDevice(t, c, []uint32{1})
	e, err := c.NewOrderEvent()
	ready := closing(t, e, err)
	want := uint32(1)
	for i := range uint32(50) {
		require.NoError(t, a.Launch(step, one, new(Params).Ptr(p).Uint32(3).Uint8(uint8(i))))
		want = want*3 + i
		require.NoError(t, a.Record(ready))
		require.NoError(t, b.Wait(ready))
		a, b = b, a
	}
	require.Equal(t, []uint32{want}, fromDevice[uint32](t, c, p, 1))
}

func testGraph(t *testing.T, c *Context) {
	s := stream(t, c)
	step := kernel(t, load(t, c, vectorPTX), "step")
	p := onDevice(t, c, []uint32{2})
	params := new(Params) // used again at once: a launch keeps its own copy
	captured := func(want bool) {
		got, err := s.Capturing()
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
	captured(false)
	g, err := s.Capture(func() error {
		captured(true)
		for _, k := range []uint8{1, 200, 3} {
			if err := s.Launch(step, one, params.Reset().Ptr(p).Uint32(5).Uint8(k)); err != nil {
				return err
			}
		}
		return nil
	})
	graph := closing(t, g, err)
	captured(false)
	require.Equal(t, 3, graph.Nodes())
	require.Equal(t, []uint32{2}, fromDevice[uint32](t, c, p, 1), "capturing runs nothing")
	want := uint32(2)
	for range 4 {
		require.NoError(t, graph.Launch(s))
		want = ((want*5+1)*5+200)*5 + 3
	}
	require.Equal(t, []uint32{want}, fromDevice[uint32](t, c, p, 1))
}

func testFailedCapture(t *testing.T, c *Context) {
	s := stream(t, c)
	step := kernel(t, load(t, c, vectorPTX), "step")
	p := onDevice(t, c, []uint32{2})
	failure := errors.New("failure")
	_, err := s.Capture(func() error {
		require.NoError(t, s.Launch(step, one, new(Params).Ptr(p).Uint32(5).Uint8(1)))
		return failure
	})
	require.Equal(t, failure, err)
	require.NoError(t, s.Launch(step, one, new(Params).Ptr(p).Uint32(7).Uint8(2)))
	require.Equal(t, []uint32{16}, fromDevice[uint32](t, c, p, 1))
}

func testGlobal(t *testing.T, c *Context) {
	m := load(t, c, vectorPTX)
	p, size, err := m.Global("counter")
	require.NoError(t, err)
	require.Equal(t, 4, size)
	require.NoError(t, c.CopyToDevice(p, Bytes([]uint32{10})))
	cfg := LaunchConfig{Grid: Dim3{X: 3}, Block: Dim3{X: 64}}
	require.NoError(t, stream(t, c).Launch(kernel(t, m, "count"), cfg, nil))
	require.Equal(t, []uint32{10 + 3*64}, fromDevice[uint32](t, c, p, 1))
	_, _, err = m.Global("absent")
	require.ErrorIs(t, err, NotFound)
}

func testAttributes(t *testing.T, c *Context) {
	add := kernel(t, load(t, c, vectorPTX), "add")
	r, err := add.Resources()
	require.NoError(t, err)
	assert.Positive(t, r.Registers)
	assert.Zero(t, r.Local)
	assert.Zero(t, r.StaticShared)
	assert.Equal(t, 1024, r.MaxThreads)
	full, err := add.BlocksPerSM(256, 0)
	require.NoError(t, err)
	one, err := add.BlocksPerSM(256, c.Device().SharedPerBlock)
	require.NoError(t, err)
	assert.Equal(t, 1, one, "a block with all the shared memory has a multiprocessor to itself")
	assert.Greater(t, full, one)
}

func testDynamicShared(t *testing.T, c *Context) {
	reach := kernel(t, load(t, c, vectorPTX), "reach")
	p := onDevice(t, c, []uint32{0})
	s := stream(t, c)
	most := c.Device().SharedPerBlock
	for _, size := range []int{1024, most, 2048} {
		cfg := one
		cfg.Shared = size
		require.NoError(t, s.Launch(reach, cfg, new(Params).Ptr(p).Uint32(uint32(size))))
		require.Equal(t, []uint32{uint32(size)}, fromDevice[uint32](t, c, p, 1))
	}
	got, err := reach.Attribute(AttrMaxDynamicShared)
	require.NoError(t, err)
	require.Equal(t, most, got)

	cfg := one
	cfg.Shared = most + 1024
	err = s.Launch(reach, cfg, new(Params).Ptr(p).Uint32(4))
	require.ErrorIs(t, err, InvalidValue)
	require.ErrorContains(t, err, `kernel "reach"`)
}

func testModuleError(t *testing.T, c *Context) {
	broken := strings.Replace(string(vectorPTX), "add.f32", "nonsense.f32", 1)
	line := 1 + strings.Count(broken[:strings.Index(broken, "nonsense")], "\n")
	_, err := c.Load([]byte(broken), CompileOptions{Verbose: true})
	require.ErrorIs(t, err, InvalidPTX)
	var e *Error
	require.ErrorAs(t, err, &e)
	assert.Equal(t, "cuModuleLoadDataEx", e.Call)
	assert.Contains(t, e.Detail, "nonsense")
	assert.Regexp(t, `line `+itoa(line)+`\b`, e.Detail)

	_, err = c.Load(nil, CompileOptions{})
	require.ErrorContains(t, err, "empty")
	_, err = c.Load(vectorPTX, CompileOptions{OptLevel: 9})
	require.ErrorContains(t, err, "optimisation level 9")
	m, err := c.Load(vectorPTX, CompileOptions{OptLevel: 3, MaxRegisters: 32, LineInfo: true, Verbose: true})
	closing(t, m, err)
	t.Logf("log of a verbose compilation: %q", m.Log())
}

func testMissingKernel(t *testing.T, c *Context) {
	_, err := load(t, c, vectorPTX).Function("absent")
	require.ErrorIs(t, err, NotFound)
	require.ErrorContains(t, err, `kernel "absent"`)
}

func testWrongParams(t *testing.T, c *Context) {
	step := kernel(t, load(t, c, vectorPTX), "step")
	if !step.paramsKnown {
		t.Skip("the driver cannot tell a kernel's signature")
	}
	s := stream(t, c)
	for _, wrong := range []struct {
		params *Params
		says   string
	}{
		{nil, "it takes 3 parameters, 0 were given"},
		{new(Params).Uint64(0).Uint32(1).Uint8(1).Uint8(1), "it takes 3 parameters, 4 were given"},
		{new(Params).Uint64(0).Uint8(1).Uint8(1), "parameter 1 has 4 bytes, 1 were given"},
		{new(Params).Uint64(0).Uint32(1).Uint32(1), "parameter 2 has 1 bytes, 4 were given"},
	} {
		require.ErrorContains(t, s.Launch(step, one, wrong.params), wrong.says)
	}
}

func testGoroutines(t *testing.T, c *Context) {
	add := kernel(t, load(t, c, vectorPTX), "add")
	var wg sync.WaitGroup
	for g := range 16 {
		s := stream(t, c)
		wg.Go(func() {
			for i := range 4 {
				addVectors(t, c, s, add, 1000+100*g+i)
			}
		})
	}
	wg.Wait()
}

func testCubin(t *testing.T, c *Context) {
	a, err := FindAssembler()
	if errors.Is(err, ErrNoAssembler) {
		t.Skip(err)
	}
	require.NoError(t, err)
	compileAndAdd(t, c, a)
}

func testDriverCubin(t *testing.T, c *Context) {
	d, err := c.Driver().FindDriverCompiler()
	if err != nil {
		t.Skip(err)
	}
	compileAndAdd(t, c, d)
	_, log, err := d.Compile(context.Background(), bytes.Replace(vectorPTX, []byte("add.f32"), []byte("nonsense.f32"), 1), "sm_80", CompileOptions{})
	require.Error(t, err)
	assert.Contains(t, log, "nonsense")
}

func compileAndAdd(t *testing.T, c *Context, compiler PTXCompiler) {
	cubin, log, err := compiler.Compile(context.Background(), vectorPTX, "sm_"+itoa(c.Device().Capability()), CompileOptions{Verbose: true, LineInfo: true, OptLevel: 3})
	require.NoError(t, err)
	assert.Contains(t, log, "registers")
	addVectors(t, c, stream(t, c), kernel(t, load(t, c, cubin), "add"), 1000)
}

func testLaunchAllocations(t *testing.T, c *Context) {
	s := stream(t, c)
	step := kernel(t, load(t, c, vectorPTX), "step")
	p := onDevice(t, c, []uint32{0})
	params := new(Params)
	n := testing.AllocsPerRun(100, func() {
		if err := s.Launch(step, one, params.Reset().Ptr(p).Uint32(1).Uint8(1)); err != nil {
			t.Fatal(err)
		}
	})
	assert.LessOrEqual(t, n, 4.0, "allocations for a launch")
}

func testCluster(t *testing.T, c *Context) {
	f := kernel(t, load(t, c, hopperPTX), "cluster")
	p := onDevice(t, c, make([]uint32, 8))
	cfg := LaunchConfig{Grid: Dim3{X: 8}, Block: Dim3{X: 1}, Cluster: Dim3{X: 4}}
	require.NoError(t, stream(t, c).Launch(f, cfg, new(Params).Ptr(p)))
	require.Equal(t, []uint32{40, 41, 42, 43, 40, 41, 42, 43}, fromDevice[uint32](t, c, p, 8))
	n, err := f.ActiveClusters(cfg)
	require.NoError(t, err)
	assert.Positive(t, n)

	cfg.Cluster.X = 3
	err = stream(t, c).Launch(f, cfg, new(Params).Ptr(p))
	require.ErrorContains(t, err, "cluster 3×1×1", "a grid of 8 is not a multiple of 3")
}

func testProgrammatic(t *testing.T, c *Context) {
	f := kernel(t, load(t, c, hopperPTX), "dependent")
	s := stream(t, c)
	p := onDevice(t, c, []uint32{1})
	cfg := one
	cfg.Programmatic = true
	queue := func() (err error) {
		for i := range uint32(20) {
			err = errors.Join(err, s.Launch(f, cfg, new(Params).Ptr(p).Uint32(3).Uint32(i)))
		}
		return err
	}
	want := uint32(1)
	for i := range uint32(40) {
		want = want*3 + i%20
	}
	require.NoError(t, queue())
	g, err := s.Capture(queue)
	graph := closing(t, g, err)
	require.NoError(t, graph.Launch(s))
	require.Equal(t, []uint32{want}, fromDevice[uint32](t, c, p, 1))
}

func testTensorMap(t *testing.T, c *Context) {
	const rows, cols, boxRows, boxCols = 20, 44, 8, 32
	content := make([]float32, rows*cols)
	for i := range content {
		content[i] = float32(i + 1)
	}
	m, err := c.TensorMap(TensorMapDesc{
		Type:    TensorFloat32,
		Address: onDevice(t, c, content),
		Dims:    []uint64{cols, rows},
		Strides: []uint64{4 * cols},
		Box:     []uint32{boxCols, boxRows},
		L2:      L2Promotion128,
	})
	require.NoError(t, err)
	const x, y = 16, 14 // the box leaves the tensor on two sides
	out := onDevice(t, c, make([]float32, boxRows*boxCols))
	cfg := LaunchConfig{Grid: Dim3{X: 1}, Block: Dim3{X: boxRows * boxCols}}
	params := new(Params).Uint32(x).TensorMap(&m).Uint32(y).Ptr(out)
	require.NoError(t, stream(t, c).Launch(kernel(t, load(t, c, hopperPTX), "box"), cfg, params))
	want := make([]float32, boxRows*boxCols)
	for r := range boxRows {
		for k := range boxCols {
			if y+r < rows && x+k < cols {
				want[r*boxCols+k] = content[(y+r)*cols+x+k]
			}
		}
	}
	require.Equal(t, want, fromDevice[float32](t, c, out, boxRows*boxCols))
}

// faultVariable makes this test binary the process of TestFaultIsReported.
const faultVariable = "TILEC_CUDA_TEST_FAULT"

// A fault makes the whole context unusable, so it happens in a process of its own.
func TestFaultIsReported(t *testing.T) {
	d := openDriver(t)
	if os.Getenv(faultVariable) == "" {
		cmd := exec.Command(os.Args[0], "-test.run=^TestFaultIsReported$", "-test.v")
		cmd.Env = append(os.Environ(), faultVariable+"=1")
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, string(out))
		return
	}
	c, err := d.Context(0)
	require.NoError(t, err)
	m, err := c.Load(vectorPTX, CompileOptions{})
	require.NoError(t, err)
	s, err := c.NewStream()
	require.NoError(t, err)
	require.NoError(t, s.Launch(kernel(t, m, "poke"), one, new(Params).Ptr(16)))
	require.ErrorIs(t, s.Synchronize(), IllegalAddress)
}
