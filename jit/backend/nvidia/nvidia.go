// Package nvidia is the back end that runs PTX on NVIDIA's GPUs, by the CUDA driver.
package nvidia

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"tilec/jit/backend"
	"tilec/jit/cache"
	"tilec/jit/cuda"
	"tilec/jit/ir"
	"tilec/jit/log"
	"tilec/jit/misuse"
	"tilec/jit/ptx"
	"tilec/jit/target"
)

// Device is a CUDA device.
type Device struct {
	backend.Poisoning
	ctx    *cuda.Context
	stream *cuda.Stream
	target target.Machine
	// arch is the device's own architecture, for which machine code is made; the
	// PTX may be for an older target.
	arch string
	// mostPassing is cuda.Device.MostPassing.
	mostPassing int
	// compiler makes machine code that can be kept: the driver's own, or ptxas. Where there is neither, the driver compiles PTX as it loads it.
	compiler cuda.PTXCompiler
	closed   atomic.Bool
	between  between
}

// ErrNoDevice: the driver has no such device.
var ErrNoDevice = errors.New("there is no device")

// Open opens the CUDA device of an ordinal.
func Open(ordinal int) (*Device, error) {
	driver, err := cuda.Open()
	if err != nil {
		return nil, err
	}
	devices := driver.Devices()
	if ordinal < 0 || ordinal >= len(devices) {
		return nil, fmt.Errorf("%w cuda:%d: the driver has %d", ErrNoDevice, ordinal, len(devices))
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
	g := &Device{ctx: ctx, stream: stream, target: target, arch: target.MachineCode(d.Capability()), mostPassing: d.MostPassing}
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

// State is whether the device is open.
func (d *Device) State() backend.State {
	switch {
	case d == nil || d.ctx == nil:
		return backend.StateUnset
	case d.closed.Load():
		return backend.StateClosed
	}
	return backend.StateOpen
}

// Space is its own.
func (d *Device) Space() any { return d }

// Retarget compiles from now on for another PTX target, older than the device
// or its own: code for sm_80 runs on every later device.
func (d *Device) Retarget(name string) error {
	if err := backend.Usable(d, "GPU.Retarget"); err != nil {
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
func (d *Device) Name() string {
	if d.State() == backend.StateUnset {
		return "no device"
	}
	return d.ctx.Device().Name
}

// ID is "cuda:" and the ordinal.
func (d *Device) ID() string {
	if d.State() == backend.StateUnset {
		return "cuda"
	}
	return fmt.Sprintf("cuda:%d", d.ctx.Device().Ordinal)
}

// Target describes the device to the planner.
func (d *Device) Target() target.Machine {
	if d == nil {
		return target.Machine{}
	}
	return d.target
}

// Room is how many bytes of the device's memory are free, and how many it has.
func (d *Device) Room() (free, total int64, err error) {
	f, t, err := d.ctx.MemInfo()
	return int64(f), int64(t), err
}

// Alloc gives device memory.
func (d *Device) Alloc(n int64) (*backend.Memory, error) {
	if err := backend.CheckAlloc(d, "GPU.Alloc", n); err != nil {
		return nil, err
	}
	p, err := d.ctx.Alloc(int(max(n, 1)))
	if err != nil {
		if errors.Is(err, cuda.OutOfMemory) {
			free, have, _ := d.ctx.MemInfo()
			err = &backend.MemoryError{Need: n, Have: int64(have), Free: int64(free), Err: err}
		}
		return nil, d.meanwhile("GPU.Alloc", err)
	}
	m := backend.OnDevice(d, n, uint64(p))
	if d.Poisons() {
		return m, d.Undefine(m, 0, n)
	}
	return m, nil
}

// Free gives memory back.
func (d *Device) Free(m *backend.Memory) {
	if m.Free(d) {
		_ = d.ctx.Free(cuda.Ptr(m.Address()))
	}
}

// Write copies data to the device and waits.
func (d *Device) Write(m *backend.Memory, offset int64, data []byte) error {
	if err := m.Access(d, "GPU.Write", offset, int64(len(data))); err != nil || len(data) == 0 {
		return err
	}
	if err := d.stream.CopyToDevice(cuda.Ptr(m.Address()+uint64(offset)), data); err != nil {
		return d.meanwhile("GPU.Write", err)
	}
	return d.meanwhile("GPU.Write", d.stream.Synchronize())
}

// Read waits for the work given so far and copies its results.
func (d *Device) Read(data []byte, m *backend.Memory, offset int64) error {
	if err := m.Access(d, "GPU.Read", offset, int64(len(data))); err != nil {
		return err
	}
	if len(data) == 0 {
		return d.Sync()
	}
	if err := d.stream.CopyToHost(data, cuda.Ptr(m.Address()+uint64(offset))); err != nil {
		return d.meanwhile("GPU.Read", err)
	}
	return d.meanwhile("GPU.Read", d.stream.Synchronize())
}

// Fill queues setting bytes of m. A stream that is being captured takes it up.
func (d *Device) Fill(m *backend.Memory, offset, n int64, value byte) error {
	if err := m.Access(d, "GPU.Fill", offset, n); err != nil {
		return err
	}
	return d.meanwhile("GPU.Fill", d.queue().Fill(cuda.Ptr(m.Address()+uint64(offset)), value, int(n)))
}

// Poison turns the poisoning of memory on.
func (d *Device) Poison() {
	if d != nil {
		d.TurnOn()
	}
}

// Undefine fills memory with the bytes of poison.
func (d *Device) Undefine(m *backend.Memory, offset, n int64) error {
	return d.Fill(m, offset, n, backend.PoisonByte)
}

// Sync waits for the work given so far.
func (d *Device) Sync() error {
	if err := backend.Usable(d, "GPU.Sync"); err != nil {
		return err
	}
	if d.between.elsewhere.Load() {
		return d.meanwhile("GPU.Sync", d.ctx.Synchronize())
	}
	return d.meanwhile("GPU.Sync", d.stream.Synchronize())
}

// meanwhile is the error of what the driver refused: where another goroutine has closed the device since it was looked at,
// that is what is wrong, whatever the driver says.
func (d *Device) meanwhile(call string, err error) error {
	if err != nil && d.closed.Load() {
		return misuse.New(call, "the device was closed meanwhile", misuse.ErrClosed)
	}
	return err
}

// Close releases the device's context.
func (d *Device) Close() error {
	if d.State() != backend.StateOpen || !d.closed.CompareAndSwap(false, true) {
		return nil
	}
	return d.ctx.Close()
}

// Compile makes machine code of the PTX and loads it.
func (d *Device) Compile(c *backend.Code, t backend.Tools) (backend.Executable, error) {
	m := c.PTX
	t.Logs.Print(log.PTX, c.Func.Name, func() string { return m.Text })
	image, err := d.image(m, t.Cache)
	if err != nil {
		return nil, err
	}
	module, err := d.ctx.Load(image, cuda.CompileOptions{LineInfo: true})
	if err != nil {
		return nil, d.meanwhile("Compiler", err)
	}
	fn, err := module.Function(m.Entry)
	if err != nil {
		return nil, d.meanwhile("Compiler", err)
	}
	return &gpuKernel{device: d, fn: fn, module: m, params: c.Func.Params()}, nil
}

// image is what the driver loads: machine code from the cache, or from the
// compiler; PTX where there is no compiler, for the driver to compile and keep.
func (d *Device) image(m *ptx.Module, store *cache.Cache) ([]byte, error) {
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
	device *Device
	fn     *cuda.Function
	module *ptx.Module
	params []ir.Param

	mu     sync.Mutex
	packed cuda.Params
	// encoded are the tensor maps of earlier launches, by all that they depend on; key is that of the last.
	encoded map[string][]cuda.TensorMap
	key     []byte
}

// cudaTypes and cudaSwizzles are the driver's names for elements and swizzles of so many bytes: a map only moves bits, but for one that rounds.
var (
	cudaTypes    = map[int]cuda.TensorType{1: cuda.TensorUint8, 2: cuda.TensorUint16, 4: cuda.TensorUint32, 8: cuda.TensorUint64}
	cudaSwizzles = map[int]cuda.Swizzle{32: cuda.Swizzle32, 64: cuda.Swizzle64, 128: cuda.Swizzle128}
)

// mostEncoded is after how many different launches the encoded tensor maps are forgotten.
const mostEncoded = 1024

// tensorMaps encodes the kernel's tensor maps for a launch. A graph launches the same again and
// again, and a launch should take no longer for it: what was encoded is found by the arguments.
func (k *gpuKernel) tensorMaps(args []backend.Arg) ([]cuda.TensorMap, error) {
	if len(k.module.Maps) == 0 {
		return nil, nil
	}
	k.key = k.key[:0]
	for i, p := range k.params {
		switch p.Kind {
		case ir.ParamPointer:
			k.key = binary.NativeEndian.AppendUint64(k.key, args[i].Memory.Address()+uint64(args[i].Offset))
		case ir.ParamDim, ir.ParamStride:
			k.key = binary.NativeEndian.AppendUint64(k.key, args[i].Bits)
		}
	}
	if e, ok := k.encoded[string(k.key)]; ok {
		return e, nil
	}
	out := make([]cuda.TensorMap, len(k.module.Maps))
	for i, desc := range k.tensorMapDescs(args) {
		var err error
		if out[i], err = k.device.ctx.TensorMap(desc); err != nil {
			return nil, err
		}
	}
	if k.encoded == nil || len(k.encoded) >= mostEncoded {
		k.encoded = map[string][]cuda.TensorMap{}
	}
	k.encoded[string(k.key)] = out
	return out, nil
}

// tensorMapDescs describes the kernel's tensor maps for a launch.
func (k *gpuKernel) tensorMapDescs(args []backend.Arg) []cuda.TensorMapDesc {
	size, address := backend.Fixed(k.params, args)
	descs := make([]cuda.TensorMapDesc, len(k.module.Maps))
	for i, m := range k.module.Maps {
		s, of := m.Shape(size), cudaTypes[m.Tensor.DType.Size()]
		if m.TF32 {
			of = cuda.TensorTFloat32
		}
		descs[i] = cuda.TensorMapDesc{
			Type: of, Address: cuda.Ptr(address(m.Tensor)),
			Dims: s.Dims, Strides: s.Strides, Box: s.Box, Swizzle: cudaSwizzles[m.Swizzle], L2: cuda.L2Promotion128,
		}
	}
	return descs
}

// Scratch is what the blocks that run at once need.
func (k *gpuKernel) Scratch(blocks int64) (bytes, atOnce int64) {
	return k.module.ScratchShare(blocks, backend.ScratchLimit)
}

// Launch starts the kernel.
func (k *gpuKernel) Launch(_ context.Context, args []backend.Arg) error {
	return k.queue(k.device.queue(), args, false)
}

// queue starts the kernel on a stream. A dependent one may begin before the launch before it has ended.
func (k *gpuKernel) queue(stream *cuda.Stream, args []backend.Arg, dependent bool) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	maps, err := k.tensorMaps(args)
	if err != nil {
		return k.device.meanwhile("Program.Run", err)
	}
	blocks, atOnce, err := k.blocks(args)
	if err != nil {
		return err
	}
	return backend.InBatches(blocks, atOnce, func(first, blocks int64) error {
		c := k.config(blocks)
		c.Programmatic = dependent && first == 0
		c.Passing = k.passing(args)
		return k.device.meanwhile("Program.Run", stream.Launch(k.fn, c, k.pack(args, first, maps)))
	})
}

// passingLimit is how much less than the most that a device says of memory that is read once has an effect: on an H200, whose most is 128 MiB, nothing came of
// just as much.
const passingLimit = 4096

// passing is the largest tensor that the launch reads once, of those that the device can be told of.
func (k *gpuKernel) passing(args []backend.Arg) (p cuda.Passing) {
	if len(k.module.Once) == 0 {
		return p
	}
	most := k.device.mostPassing
	size, address := backend.Fixed(k.params, args)
	for _, t := range k.module.Once {
		n := int64(1)
		for _, d := range t.Shape {
			if d.Known() {
				n *= d.Value
			} else {
				n *= size(d)
			}
		}
		if bytes := int(t.Held().Bytes(n)); bytes > p.Bytes && bytes <= most {
			p = cuda.Passing{From: cuda.Ptr(address(t)), Bytes: min(bytes, most-passingLimit)}
		}
	}
	return p
}

// blocks is how many blocks a launch has, and how many of them at once.
func (k *gpuKernel) blocks(args []backend.Arg) (blocks, atOnce int64, err error) {
	for i, param := range k.params {
		if param.Kind == ir.ParamFirst {
			atOnce = int64(args[i].Bits)
		}
	}
	blocks = k.module.Blocks(func(d *ir.Dim) int64 {
		for i, param := range k.params {
			if param.Kind == ir.ParamDim && param.Dim == d {
				return int64(args[i].Bits)
			}
		}
		return 0
	})
	if blocks > target.MaxBlocks {
		return 0, 0, fmt.Errorf("%d blocks, more than a launch can have", blocks)
	}
	return blocks, atOnce, nil
}

// config is how so many blocks are started.
func (k *gpuKernel) config(blocks int64) cuda.LaunchConfig {
	return cuda.LaunchConfig{Grid: cuda.Dim3{X: uint32(blocks)}, Block: cuda.Dim3{X: uint32(k.module.Threads)}, Shared: k.module.Shared}
}

// pack gives the parameters of a launch from the block first on.
func (k *gpuKernel) pack(args []backend.Arg, first int64, maps []cuda.TensorMap) *cuda.Params {
	p := k.packed.Reset()
	for i, param := range k.params {
		bits := args[i].Bits
		switch param.Kind {
		case ir.ParamPointer, ir.ParamDebug, ir.ParamScratch, ir.ParamTimes:
			bits = args[i].Memory.Address() + uint64(args[i].Offset)
		case ir.ParamFirst:
			bits = uint64(first)
		}
		p.Word(bits, param.Bytes())
	}
	for i := range maps {
		p.TensorMap(&maps[i])
	}
	return p
}

// Time gives how long the device took for each of n runs of work, by its own clock; flush, if any, is overwritten before each.
func (d *Device) Time(n int, flush *backend.Memory, work func() error) ([]time.Duration, error) {
	type span struct{ begin, end *cuda.Event }
	spans := make([]span, 0, n)
	defer func() {
		for _, s := range spans {
			_ = s.begin.Close()
			_ = s.end.Close()
		}
	}()
	for range n {
		begin, err := d.ctx.NewEvent()
		if err != nil {
			return nil, err
		}
		end, err := d.ctx.NewEvent()
		if err != nil {
			return nil, err
		}
		spans = append(spans, span{begin, end})
		if flush != nil {
			if err := d.stream.Fill(cuda.Ptr(flush.Address()), 0, int(flush.Size)); err != nil {
				return nil, err
			}
		}
		if err := d.stream.Record(begin); err != nil {
			return nil, err
		}
		if err := work(); err != nil {
			return nil, err
		}
		if err := d.stream.Record(end); err != nil {
			return nil, err
		}
	}
	if err := d.Sync(); err != nil {
		return nil, err
	}
	times := make([]time.Duration, n)
	for i, s := range spans {
		var err error
		if times[i], err = s.end.Since(s.begin); err != nil {
			return nil, err
		}
	}
	return times, nil
}

// Opener finds the devices "cuda", which is the first, and "cuda:N".
var Opener = backend.Opener{Names: []string{"cuda", "cuda:N"}, Open: func(name string) (backend.Device, error) {
	if name == "cuda" {
		name = "cuda:0"
	}
	number, ok := strings.CutPrefix(name, "cuda:")
	ordinal, err := strconv.Atoi(number)
	if !ok || err != nil || ordinal < 0 {
		return nil, nil
	}
	d, err := Open(ordinal)
	if err != nil {
		return nil, err
	}
	return d, nil
}}
