package run

import (
	"slices"

	"tilec/jit/backend"
	"tilec/jit/cuda"
	"tilec/jit/graph"
	"tilec/jit/ir"
	"tilec/jit/log"
	"tilec/jit/tensor"
)

// This file tells a program of one launch as data. All that is left of a run is then to put the addresses and the scalars of the caller into the
// launch's parameters, which C code does in some hundredths of the time that a run takes.

// BareLaunch is a launch that is all of a run.
type BareLaunch struct {
	*cuda.BareLaunch
	// Tensors are the tensor arguments of the program and then its outputs, in order: what a run would check of them.
	Tensors []BareTensor
	// Addresses and Scalars say what goes into the parameters.
	Addresses []BareAddress
	Scalars   []BareScalar
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

// BareAddress is a parameter that gets the address of tensor number Tensor and so many bytes more.
type BareAddress struct {
	Parameter, Tensor int
	Add               int64
}

// BareScalar is a parameter that gets the first Bytes bytes of scalar argument number Scalar.
type BareScalar struct {
	Parameter, Scalar, Bytes int
}

// BareLaunch is the program as one launch, with outputs in memory of the caller's as RunInto has them; nil where a run does more than that:
// several launches, none, memory of the program's own, checks of scalars, or something to print. The program must stay open while it is used.
// Nobody observes such a launch.
func (p *Program) BareLaunch() *BareLaunch {
	if p.usable("") != nil {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed || p.observer != nil || len(p.steps) != 1 || p.device.Poisons() || p.times != nil || len(p.bound.Made) > 0 || p.compiler.Logs.On(log.Launch) || p.compiler.Logs.On(log.Time) {
		return nil
	}
	s := &p.steps[0]
	exe, ok := s.compiled.Exe.(backend.BareLauncher)
	if !ok || s.empty || s.ranged || s.debug != nil || s.kept > 0 || len(s.Fills) > 0 || len(s.Spec.Kernel.Assumes) > 0 {
		return nil
	}
	b := &BareLaunch{}
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
	args := slices.Clone(s.args)
	if !b.fill(p, s, args) {
		return nil
	}
	var err error
	if b.BareLaunch, err = exe.BareLaunch(args); err != nil {
		return nil
	}
	return b
}

// fill sets the arguments of the launch that no run changes, and notes what the others are; it reports whether that is all that they need.
func (b *BareLaunch) fill(p *Program, s *step, args []backend.Arg) bool {
	nowhere := backend.Borrowed(p.device, 0, 0)
	pointers, scalars := 0, 0
	for j, param := range s.compiled.Params {
		switch param.Kind {
		case ir.ParamPointer:
			v := &s.Tensors[s.compiled.TensorParam[pointers]]
			pointers++
			number := v.Slot.Index
			if v.Slot.Temp {
				at := slices.IndexFunc(p.bound.Outputs, func(o graph.View) bool { return o.Slot == v.Slot })
				if at < 0 {
					return false
				}
				number = len(p.bound.Inputs) + at
			}
			args[j] = backend.Arg{Memory: nowhere}
			b.Addresses = append(b.Addresses, BareAddress{j, number, v.DType.Bytes(v.Offset)})
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
			b.Scalars = append(b.Scalars, BareScalar{j, number, bits / 8})
		case ir.ParamDim, ir.ParamStride: // prepare has set them
		default:
			return false
		}
	}
	return true
}
