package jit

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"tilec/jit/cache"
	"tilec/jit/cuda"
	"tilec/jit/ir"
	"tilec/jit/plan"
	"tilec/jit/ptx"
	"tilec/jit/target"
)

// GPU is a CUDA device.
type GPU struct {
	poisoning
	ctx    *cuda.Context
	stream *cuda.Stream
	target target.Machine
	// arch is the device's own architecture, for which machine code is made; the
	// PTX may be for an older target.
	arch string
	// compiler makes machine code that can be kept: the driver's own, or ptxas. Where there is neither, the driver compiles PTX as it loads it.
	compiler cuda.PTXCompiler
	closed   atomic.Bool
}

var errNoDevice = errors.New("there is no device")

// OpenGPU opens the CUDA device of an ordinal.
func OpenGPU(ordinal int) (*GPU, error) {
	driver, err := cuda.Open()
	if err != nil {
		return nil, err
	}
	devices := driver.Devices()
	if ordinal < 0 || ordinal >= len(devices) {
		return nil, fmt.Errorf("%w cuda:%d: the driver has %d", errNoDevice, ordinal, len(devices))
	}
	ctx, err := driver.Context(ordinal)
	if err != nil {
		return nil, err
	}
	stream, err := ctx.NewStream()
	if err != nil {
		return nil, err
	}
	d := devices[ordinal]
	target, err := gpuTarget(d)
	if err != nil {
		return nil, err
	}
	g := &GPU{ctx: ctx, stream: stream, target: target, arch: target.MachineCode(d.Capability())}
	if c, err := driver.FindDriverCompiler(); err == nil {
		g.compiler = c
	} else if a, err := cuda.FindAssembler(); err == nil {
		g.compiler = a
	}
	return g, nil
}

// gpuTarget is the PTX target for a device, with the device's own counts and limits.
func gpuTarget(d cuda.Device) (target.Machine, error) {
	t, err := target.ForDevice(d.Capability())
	if err != nil {
		return t, fmt.Errorf("%s has %w", d.Name, err)
	}
	t.SMs, t.SharedPerBlock, t.RegistersPerSM, t.L2Size = d.SMs, d.SharedPerBlock, d.RegistersPerSM, int64(d.L2)
	return t, nil
}

func (d *GPU) state() state {
	switch {
	case d == nil || d.ctx == nil:
		return stateUnset
	case d.closed.Load():
		return stateClosed
	}
	return stateOpen
}

func (d *GPU) space() any { return d }

// Retarget compiles from now on for another PTX target, older than the device
// or its own: code for sm_80 runs on every later device.
func (d *GPU) Retarget(name string) error {
	if err := usable(d, "GPU.Retarget"); err != nil {
		return err
	}
	t, err := target.Find(name)
	if err != nil {
		return err
	}
	if !d.target.Runs(t) {
		return fmt.Errorf("code for %s does not run on %s, whose target is %s", name, d.Name(), d.target.Name)
	}
	t.SMs, t.L2Size = d.target.SMs, d.target.L2Size
	d.target = t
	return nil
}

// Name is what the driver calls the device.
func (d *GPU) Name() string {
	if d.state() == stateUnset {
		return "no device"
	}
	return d.ctx.Device().Name
}

// ID is "cuda:" and the ordinal.
func (d *GPU) ID() string {
	if d.state() == stateUnset {
		return "cuda"
	}
	return fmt.Sprintf("cuda:%d", d.ctx.Device().Ordinal)
}

// Target describes the device to the planner.
func (d *GPU) Target() target.Machine {
	if d == nil {
		return target.Machine{}
	}
	return d.target
}

// Alloc gives device memory.
func (d *GPU) Alloc(n int64) (*Memory, error) {
	if err := allocation(d, "GPU.Alloc", n); err != nil {
		return nil, err
	}
	p, err := d.ctx.Alloc(int(max(n, 1)))
	if err != nil {
		return nil, err
	}
	m := deviceMemory(d, n, uint64(p))
	if d.poisons() {
		return m, d.poison(m, 0, n)
	}
	return m, nil
}

// Free gives memory back.
func (d *GPU) Free(m *Memory) {
	if m.free(d) {
		_ = d.ctx.Free(cuda.Ptr(m.block.address))
	}
}

// Write copies data to the device and waits.
func (d *GPU) Write(m *Memory, offset int64, data []byte) error {
	if err := m.access(d, "GPU.Write", offset, int64(len(data))); err != nil || len(data) == 0 {
		return err
	}
	if err := d.stream.CopyToDevice(cuda.Ptr(m.address()+uint64(offset)), data); err != nil {
		return err
	}
	return d.stream.Synchronize()
}

// Read waits for the work given so far and copies its results.
func (d *GPU) Read(data []byte, m *Memory, offset int64) error {
	if err := m.access(d, "GPU.Read", offset, int64(len(data))); err != nil {
		return err
	}
	if len(data) == 0 {
		return d.Sync()
	}
	if err := d.stream.CopyToHost(data, cuda.Ptr(m.address()+uint64(offset))); err != nil {
		return err
	}
	return d.stream.Synchronize()
}

// Fill queues setting bytes of m. A stream that is being captured takes it up.
func (d *GPU) Fill(m *Memory, offset, n int64, value byte) error {
	if err := m.access(d, "GPU.Fill", offset, n); err != nil {
		return err
	}
	return d.stream.Fill(cuda.Ptr(m.address()+uint64(offset)), value, int(n))
}

func (d *GPU) poison(m *Memory, offset, n int64) error { return d.Fill(m, offset, n, poisonByte) }

// Sync waits for the work given so far.
func (d *GPU) Sync() error {
	if err := usable(d, "GPU.Sync"); err != nil {
		return err
	}
	return d.stream.Synchronize()
}

// Close releases the device's context.
func (d *GPU) Close() error {
	if d.state() != stateOpen || !d.closed.CompareAndSwap(false, true) {
		return nil
	}
	return d.ctx.Close()
}

func (d *GPU) compile(l *Lowered, c *Compiler) (executable, error) {
	m := l.module
	c.Logs.Print(StagePTX, l.Func.Name, func() string { return m.Text })
	image, err := d.image(m, c.Cache)
	if err != nil {
		return nil, err
	}
	module, err := d.ctx.Load(image, cuda.CompileOptions{LineInfo: true})
	if err != nil {
		return nil, err
	}
	fn, err := module.Function(m.Entry)
	if err != nil {
		return nil, err
	}
	return &gpuKernel{device: d, fn: fn, module: m, params: l.Func.Params()}, nil
}

// lowerPTX makes PTX of planned IR, or finds it in the cache.
func lowerPTX(f *ir.Func, p *plan.Plan, t target.Machine, store *cache.Cache) (*ptx.Module, error) {
	if store == nil {
		return ptx.Compile(f, p, t)
	}
	key := cache.NewKey("ptx").Add("target", fmt.Sprintf("%+v", t)).Add("plan", p.String()).Add("ir", f.String()).Add("lines", sourceLines(f)).Sum()
	var kept storedModule
	if data, ok := store.Get(key); ok && json.Unmarshal(data, &kept) == nil {
		return &ptx.Module{Text: kept.Text, Entry: kept.Entry, Threads: kept.Threads, Shared: kept.Shared, Cluster: kept.Cluster, Scratch: f.ScratchBytes(),
			Split: kept.Split, Buffers: kept.Buffers, Hinted: kept.hinted(f), Grid: f.Grid(), Params: f.Params(), Maps: kept.tensorMaps(f)}, nil
	}
	m, err := ptx.Compile(f, p, t)
	if err != nil {
		return nil, err
	}
	if data, err := json.Marshal(storedModule{m.Text, m.Entry, m.Threads, m.Shared, m.Cluster, m.Split, m.Buffers, effects(f, m), keptMaps(f, m)}); err == nil {
		store.Put(key, data)
	}
	return m, nil
}

// sourceLines is where in the sources the operations come from: PTX says it, and the text of the IR does not.
func sourceLines(f *ir.Func) string {
	var b strings.Builder
	f.Walk(func(op *ir.Op) bool {
		if op.At.IsValid() {
			line, _ := op.At.Position()
			fmt.Fprintf(&b, "%s:%d\n", op.At.Source.Path, line)
		}
		return true
	})
	return b.String()
}

// storedModule is what the cache keeps of a ptx.Module; the rest is the kernel's own.
type storedModule struct {
	Text, Entry                     string
	Threads, Shared, Cluster, Split int
	Buffers                         []string
	// Effects are of the hints of accesses, in the order of the IR.
	Effects []string
	Maps    []keptMap
}

// keptMap is a tensor map with its tensor by number.
type keptMap struct {
	ptx.TensorMap
	Number int
}

func keptMaps(f *ir.Func, m *ptx.Module) []keptMap {
	var kept []keptMap
	for _, t := range m.Maps {
		c := keptMap{*t, slices.Index(f.Tensors, t.Tensor)}
		c.Tensor = nil
		kept = append(kept, c)
	}
	return kept
}

func (s *storedModule) tensorMaps(f *ir.Func) []*ptx.TensorMap {
	var maps []*ptx.TensorMap
	for _, c := range s.Maps {
		t := c.TensorMap
		t.Tensor = f.Tensors[c.Number]
		maps = append(maps, &t)
	}
	return maps
}

func effects(f *ir.Func, m *ptx.Module) []string {
	var texts []string
	f.Walk(func(op *ir.Op) bool {
		if op.Hint.Given() {
			texts = append(texts, m.Hinted[op])
		}
		return true
	})
	return texts
}

// hinted gives the effects back to the accesses of the same kernel.
func (s *storedModule) hinted(f *ir.Func) map[*ir.Op]string {
	m := map[*ir.Op]string{}
	texts := s.Effects
	f.Walk(func(op *ir.Op) bool {
		if op.Hint.Given() && len(texts) > 0 {
			m[op], texts = texts[0], texts[1:]
		}
		return true
	})
	return m
}

// image is what the driver loads: machine code from the cache, or from the
// compiler; PTX where there is no compiler, for the driver to compile and keep.
func (d *GPU) image(m *ptx.Module, store *cache.Cache) ([]byte, error) {
	if d.compiler == nil {
		return []byte(m.Text), nil
	}
	key := cache.NewKey("cubin").Add("compiler", d.compiler.Version()).Add("target", d.arch).Add("ptx", m.Text).Sum()
	if data, ok := store.Get(key); ok {
		return data, nil
	}
	cubin, _, err := d.compiler.Compile(context.Background(), []byte(m.Text), d.arch, cuda.CompileOptions{LineInfo: true})
	if err != nil {
		return []byte(m.Text), nil // older than the PTX, perhaps: the driver has the last word
	}
	store.Put(key, cubin)
	return cubin, nil
}

type gpuKernel struct {
	device *GPU
	fn     *cuda.Function
	module *ptx.Module
	params []ir.Param

	mu     sync.Mutex
	packed cuda.Params
	// encoded are the tensor maps of earlier launches, by all that they depend on; key is that of the last.
	encoded map[string][]cuda.TensorMap
	key     []byte
}

// cudaTypes and cudaSwizzles are the driver's names for elements and swizzles of so many bytes: a map only moves bits.
var (
	cudaTypes    = map[int]cuda.TensorType{1: cuda.TensorUint8, 2: cuda.TensorUint16, 4: cuda.TensorUint32, 8: cuda.TensorUint64}
	cudaSwizzles = map[int]cuda.Swizzle{32: cuda.Swizzle32, 64: cuda.Swizzle64, 128: cuda.Swizzle128}
)

// mostEncoded is after how many different launches the encoded tensor maps are forgotten.
const mostEncoded = 1024

// tensorMaps encodes the kernel's tensor maps for a launch. A graph launches the same again and
// again, and a launch should take no longer for it: what was encoded is found by the arguments.
func (k *gpuKernel) tensorMaps(args []launchArg) ([]cuda.TensorMap, error) {
	if len(k.module.Maps) == 0 {
		return nil, nil
	}
	k.key = k.key[:0]
	for i, p := range k.params {
		switch p.Kind {
		case ir.ParamPointer:
			k.key = binary.NativeEndian.AppendUint64(k.key, args[i].memory.address()+uint64(args[i].offset))
		case ir.ParamDim, ir.ParamStride:
			k.key = binary.NativeEndian.AppendUint64(k.key, args[i].bits)
		}
	}
	if e, ok := k.encoded[string(k.key)]; ok {
		return e, nil
	}
	size, address := fixedBy(k.params, args)
	out := make([]cuda.TensorMap, len(k.module.Maps))
	for i, m := range k.module.Maps {
		s := m.Shape(size)
		var err error
		out[i], err = k.device.ctx.TensorMap(cuda.TensorMapDesc{
			Type: cudaTypes[m.Tensor.DType.Size()], Address: cuda.Ptr(address(m.Tensor)),
			Dims: s.Dims, Strides: s.Strides, Box: s.Box, Swizzle: cudaSwizzles[m.Swizzle], L2: cuda.L2Promotion128,
		})
		if err != nil {
			return nil, err
		}
	}
	if k.encoded == nil || len(k.encoded) >= mostEncoded {
		k.encoded = map[string][]cuda.TensorMap{}
	}
	k.encoded[string(k.key)] = out
	return out, nil
}

func (k *gpuKernel) scratch(blocks int64) (bytes, atOnce int64) {
	return k.module.ScratchShare(blocks, scratchLimit)
}

func (k *gpuKernel) launch(_ context.Context, args []launchArg) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	maps, err := k.tensorMaps(args)
	if err != nil {
		return err
	}
	sizes := map[*ir.Dim]int64{}
	atOnce := int64(0)
	for i, param := range k.params {
		switch param.Kind {
		case ir.ParamDim:
			sizes[param.Dim] = int64(args[i].bits)
		case ir.ParamFirst:
			atOnce = int64(args[i].bits)
		}
	}
	blocks := k.module.Blocks(func(d *ir.Dim) int64 { return sizes[d] })
	if blocks > target.MaxBlocks {
		return fmt.Errorf("%d blocks, more than a launch can have", blocks)
	}
	return inParts(blocks, atOnce, func(first, blocks int64) error {
		return k.device.stream.Launch(k.fn, cuda.LaunchConfig{
			Grid: cuda.Dim3{X: uint32(blocks)}, Block: cuda.Dim3{X: uint32(k.module.Threads)}, Shared: k.module.Shared,
		}, k.pack(args, first, maps))
	})
}

// pack gives the parameters of a launch from the block first on.
func (k *gpuKernel) pack(args []launchArg, first int64, maps []cuda.TensorMap) *cuda.Params {
	p := k.packed.Reset()
	for i, param := range k.params {
		switch arg := args[i]; param.Kind {
		case ir.ParamPointer, ir.ParamDebug, ir.ParamScratch:
			p.Uint64(arg.memory.address() + uint64(arg.offset))
		case ir.ParamScalar:
			switch param.Scalar.Type.DType.Bits() {
			case 8:
				p.Uint8(uint8(arg.bits))
			case 16:
				p.Uint16(uint16(arg.bits))
			case 32:
				p.Uint32(uint32(arg.bits))
			default:
				p.Uint64(arg.bits)
			}
		case ir.ParamDim:
			if param.Dim.Wide {
				p.Int64(int64(arg.bits))
			} else {
				p.Int32(int32(arg.bits))
			}
		case ir.ParamStride:
			p.Int64(int64(arg.bits))
		case ir.ParamFirst:
			p.Int32(int32(first))
		}
	}
	for i := range maps {
		p.TensorMap(&maps[i])
	}
	return p
}

// OpenDevice opens a device by its name on the command line: "cpu", "cuda",
// "cuda:1", "emu" or "emu:sm_80" for the emulator of a GPU target, or "auto" for
// the first GPU and, without one, the CPU. Any other name is a *NameError.
func OpenDevice(name string) (Device, error) {
	ordinal, isGPU := 0, name == "cuda"
	if rest, ok := strings.CutPrefix(name, "cuda:"); ok {
		n, err := strconv.Atoi(rest)
		if err != nil || n < 0 {
			return nil, unknownDevice(name)
		}
		ordinal, isGPU = n, true
	}
	if target, ok := strings.CutPrefix(name, "emu:"); ok {
		e, err := OpenEmulator(target)
		if err != nil {
			return nil, fmt.Errorf("device %s: %w", name, err)
		}
		return e, nil
	}
	switch {
	case isGPU:
		return OpenGPU(ordinal)
	case name == "emu":
		return OpenEmulator(DefaultEmulatorTarget)
	case name == "cpu":
		return OpenCPU(), nil
	case name == "auto":
		g, err := OpenGPU(0)
		if errors.Is(err, cuda.ErrNoDriver) || errors.Is(err, errNoDevice) {
			return OpenCPU(), nil
		}
		if err != nil {
			// A GPU that does not work is worth knowing of; a silent fall to the CPU would hide it.
			return nil, fmt.Errorf("%w; choose --device cpu to do without the GPU", err)
		}
		return g, nil
	}
	return nil, unknownDevice(name)
}

func unknownDevice(name string) error {
	return &NameError{What: "device", Name: name, Known: []string{"auto", "cpu", "cuda", "cuda:N", "emu", "emu:TARGET"}, unlike: true}
}
