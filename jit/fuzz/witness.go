package fuzz

import (
	"fmt"
	"time"

	"tilec/jit"
	"tilec/jit/backend"
	"tilec/lang"
)

// Witness judges every launch of a program while it runs, by what the launch really read: so the first kernel that is
// wrong is known, and none is blamed for what another gave it. It is a jit.Observer.
type Witness struct {
	// Judgements are what is found so far, those of one result of one kernel together.
	Judgements []Judgement
	// First is the first judgement of something wrong, and Launch the number of that launch, from 0 on; nil when nothing is.
	First  *Judgement
	Launch int
	// Of is how many launches the program has.
	Of int
	// Spent is the time that judging took.
	Spent time.Duration

	device   backend.Device
	arith    Arithmetic
	seed     uint64
	evidence *Evidence
}

const (
	// runWork is the work that judging all launches of a program may be, launchWork the least that each gets.
	runWork    = 100e6
	launchWork = 1e6
)

// NewWitness makes a witness of programs on a device; blocks are drawn by a seed.
func NewWitness(device backend.Device, seed uint64) *Witness {
	return &Witness{device: device, arith: ArithmeticOf(device.Target().IsGPU()), seed: seed}
}

// Before keeps what a launch reads.
func (w *Witness) Before(o *jit.Observation) error {
	defer w.timed(time.Now())
	e := &Evidence{Spec: o.Spec, Extents: o.Extents, Splits: o.Splits}
	for _, x := range o.Operands {
		y := Operand{Param: x.Param}
		if x.Tensor == nil {
			y.Scalar = *x.Scalar
			e.Operands = append(e.Operands, y)
			continue
		}
		y.DType, y.Shape, y.Empty = x.Tensor.DType, x.Tensor.Shape, x.Fresh && !x.Filled
		y.Shared = x.Shared
		if !x.Filled && !x.Fresh {
			var err error
			if y.Before, err = w.read(x.Tensor); err != nil {
				return err
			}
		}
		e.Operands = append(e.Operands, y)
	}
	w.evidence, w.Of = e, o.Of
	return nil
}

// After judges what the launch left.
func (w *Witness) After(o *jit.Observation) (err error) {
	defer w.timed(time.Now())
	e := w.evidence
	w.evidence = nil
	for i, x := range o.Operands {
		if x.Tensor == nil || x.Param.Mode == lang.In {
			continue
		}
		if e.Operands[i].After, err = w.read(x.Tensor); err != nil {
			return err
		}
	}
	budget := max(int64(runWork)/int64(o.Of), launchWork)
	for _, j := range w.arith.Judge(e, seedOf(w.seed, o.Spec.Kernel.Name, o.Number), budget) {
		if w.First == nil && !j.OK() {
			w.First, w.Launch = &j, o.Number
		}
		w.add(j)
	}
	return nil
}

func (w *Witness) timed(begin time.Time) { w.Spent += time.Since(begin) }

func (w *Witness) read(t *jit.Tensor) ([]byte, error) {
	data := make([]byte, t.Bytes())
	if err := jit.ReadTensor(w.device, t, data); err != nil {
		return nil, fmt.Errorf("reading a tensor to judge it: %w", err)
	}
	return data, nil
}

// add puts a judgement with those of the same result.
func (w *Witness) add(j Judgement) {
	for i := range w.Judgements {
		k := &w.Judgements[i]
		if k.Kernel != j.Kernel || k.Result != j.Result {
			continue
		}
		k.Launches += j.Launches
		k.Elements += j.Elements
		k.Judged += j.Judged
		k.Unknown += j.Unknown
		k.Worst = max(k.Worst, j.Worst)
		if k.Wrong == 0 {
			k.First = j.First
		}
		k.Wrong += j.Wrong
		if k.Left == 0 {
			k.Skipped = j.Skipped
		}
		k.Left += j.Left
		return
	}
	w.Judgements = append(w.Judgements, j)
}
