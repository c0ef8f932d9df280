package run

import (
	"encoding/binary"
	"slices"

	"tilec/jit/backend"
	"tilec/jit/cuda"
	"tilec/jit/graph"
	"tilec/jit/ir"
	"tilec/jit/log"
	"tilec/jit/tensor"
)

// This file tells a run as data. All that is left of it is then to put the addresses and the scalars of the caller into the parameters of the
// launches, which C code does in some hundredths of the time that a run takes.

// BareRun is a run as data: launches, one behind the other in one stream.
type BareRun struct {
	*cuda.BareCalls
	// Tensors are the tensor arguments of the program and then its outputs, in order: what a run would check of them.
	Tensors  []BareTensor
	Launches []BareLaunch
	// Turn is an event that is behind the last run, of launches that work in memory of the program's own too: whatever stream a run is in, it has to wait
	// for that, and to record it. Program.Close closes it. It is nil where there is no such memory.
	Turn *cuda.Event
}

// BareTensor is where a tensor may lie.
type BareTensor struct {
	// Align divides the address; a power of two, in bytes.
	Align int64
	// Bytes is from the first element to behind the last one, 1 or more.
	Bytes int64
	// Written: nothing else may lie between the first element and the last one; what a run would look at more closely is left to a run.
	Written bool
}

// BareLaunch is a launch, or memory that is set to zeros.
type BareLaunch struct {
	*cuda.BareLaunch
	// Zeros are bytes that are set to 0, from the address on that is the only parameter; where there are some there is no function to launch.
	Zeros int64
	// Addresses and Scalars say what of a run goes into the parameters.
	Addresses []BareAddress
	Scalars   []BareScalar
}

// BareAddress is a parameter that gets the address of tensor number Tensor and so many bytes more.
type BareAddress struct {
	Parameter, Tensor int
	Add               int64
}

// BareScalar is a parameter that gets the first Bytes bytes of scalar argument number Scalar.
type BareScalar struct {
	Parameter, Scalar, Bytes int
}

// BareRun is a run of the program as data, with outputs in memory of the caller's as RunInto has them; nil where a run does more than launches: checks
// of scalars, launches that those decide, something to print or to copy. The program must stay open while it is used. Nobody observes such a run.
func (p *Program) BareRun() *BareRun {
	if p.usable("") != nil {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	device, ok := p.device.(backend.BareDevice)
	if !ok || !p.own || p.closed || p.observer != nil || p.device.Poisons() || p.times != nil || p.compiler.Logs.On(log.Launch) || p.compiler.Logs.On(log.Time) {
		return nil
	}
	b := &BareRun{}
	for i := range p.bound.Inputs {
		in := &p.bound.Inputs[i]
		if in.End == 0 {
			return nil
		}
		b.Tensors = append(b.Tensors, BareTensor{max(in.Align, int64(in.DType.Size())), in.End, in.Inout})
	}
	for i := range p.bound.Outputs {
		if !p.ownResult(i) {
			return nil
		}
		v := &p.bound.Outputs[i]
		b.Tensors = append(b.Tensors, BareTensor{tensor.PowerDivisor(0), v.DType.Bytes(behind(v)), true})
	}
	shared := false
	for i := range p.steps {
		s := &p.steps[i]
		exe, ok := s.compiled.Exe.(backend.BareLauncher)
		if !ok || s.ranged || s.debug != nil || len(s.Spec.Kernel.Assumes) > 0 {
			return nil
		}
		for _, n := range s.Fills {
			b.Launches = append(b.Launches, p.bareZeros(&s.Tensors[n]))
		}
		if s.empty {
			continue
		}
		l := BareLaunch{}
		args := slices.Clone(s.args)
		if !l.fill(p, s, args) {
			return nil
		}
		var err error
		if l.BareLaunch, err = exe.BareLaunch(args); err != nil {
			return nil
		}
		b.Launches = append(b.Launches, l)
		shared = shared || slices.ContainsFunc(args, func(a backend.Arg) bool {
			return a.Memory != nil && (a.Memory == p.arena.Temps || a.Memory == p.arena.Scratch)
		})
	}
	var err error
	if b.BareCalls, err = device.BareCalls(); err != nil {
		return nil
	}
	if shared && p.turn == nil {
		if p.turn, err = device.NewTurn(); err != nil {
			return nil
		}
	}
	b.Turn = p.turn
	return b
}

// lies says where a tensor of a launch is in each run: so many bytes behind the beginning of one of the run's tensors, or of memory that stays, where number is -1.
func (p *Program) lies(v *graph.View) (number int, in *backend.Memory, offset int64) {
	offset = v.DType.Bytes(v.Offset)
	switch {
	case v.Slot.Made:
		return -1, p.bound.Made[v.Slot.Index].Memory, offset
	case !v.Slot.Temp:
		return v.Slot.Index, nil, offset
	}
	if at := slices.IndexFunc(p.bound.Outputs, func(o graph.View) bool { return o.Slot == v.Slot }); at >= 0 {
		return len(p.bound.Inputs) + at, nil, offset
	}
	return -1, p.arena.Temps, p.bound.Temps[v.Slot.Index].Offset + offset
}

// bareZeros sets a tensor to zeros, as prepared does.
func (p *Program) bareZeros(v *graph.View) BareLaunch {
	l := BareLaunch{BareLaunch: &cuda.BareLaunch{Parameters: make([]byte, 8), Offsets: []int{0}}, Zeros: v.DType.Bytes(tensor.Elements(v.Shape))}
	if number, in, offset := p.lies(v); number >= 0 {
		l.Addresses = []BareAddress{{0, number, offset}}
	} else {
		binary.LittleEndian.PutUint64(l.Parameters, in.Address()+uint64(offset))
	}
	return l
}

// fill sets the arguments of a launch that no run changes, and notes what the others are; it reports whether that is all that they need.
func (l *BareLaunch) fill(p *Program, s *step, args []backend.Arg) bool {
	nowhere := backend.Borrowed(p.device, 0, 0)
	pointers, scalars := 0, 0
	for j, param := range s.compiled.Params {
		switch param.Kind {
		case ir.ParamPointer:
			number, in, offset := p.lies(&s.Tensors[s.compiled.TensorParam[pointers]])
			pointers++
			if number < 0 {
				args[j] = backend.Arg{Memory: in, Offset: offset}
				continue
			}
			args[j] = backend.Arg{Memory: nowhere}
			l.Addresses = append(l.Addresses, BareAddress{j, number, offset})
		case ir.ParamScalar:
			c := s.Scalars[scalars]
			scalars++
			if c.Known() {
				args[j].Bits = graph.ScalarBits(c.Value(nil))
				continue
			}
			number, ok := c.Argument()
			bits := param.Scalar.Type.DType.Bits()
			if !ok || bits%8 != 0 || c.DType != param.Scalar.Type.DType {
				return false
			}
			l.Scalars = append(l.Scalars, BareScalar{j, number, bits / 8})
		case ir.ParamScratch:
			args[j] = backend.Arg{Memory: p.arena.Scratch}
		case ir.ParamFirst:
			args[j] = backend.Arg{Bits: uint64(s.atOnce)}
		case ir.ParamDim, ir.ParamStride: // prepare has set them
		default:
			return false
		}
	}
	return true
}

// Recorded is the driver's graph, by its handle, of what the last run was of, for C code to replay: 0 where that run was not recorded. It can be used until the
// program runs again, or is closed. Where possible is false, no run will be.
func (p *Program) Recorded() (graph uintptr, possible bool) {
	if p.usable("") != nil {
		return 0, false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if r, ok := p.recorded.recording.(backend.BareRecording); ok && p.recorded.last.equal(&p.recorded.of) {
		return r.Handle(), true
	}
	return 0, !p.recorded.refused && len(p.steps) >= fewest
}
