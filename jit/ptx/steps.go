package ptx

import (
	"slices"

	"tilec/jit/ptx/asm"
)

// This file keeps the barriers out of loops whose steps need none. A step comes behind what was before the loop and behind the
// step before, so its first access to shared memory asks for a barrier. Where no step writes what another one may read - as where
// all that steps read comes from rings with mbarriers of their own, or was written before the loop - one barrier before the loop
// does, and nobody in the block waits for the others at each step.

// steps is a loop whose body is being emitted.
type steps struct {
	// outside is a barrier before the loop; nil where all that was written there is visible already.
	outside *asm.Instr
	// inside are the barriers of a step that stand only for what came before the step.
	inside []*asm.Instr
	// writes: a step writes shared memory that no mbarrier guards, or a tensor that it also reads.
	writes bool
}

// enterSteps begins a loop, before its first label.
func (k *kernel) enterSteps() {
	s := &steps{}
	if k.arena.unknown || len(k.arena.writes) > 0 {
		unknown := k.arena.unknown
		s.outside = k.barrier()
		k.tentative(s.outside, unknown)
	}
	k.looping = append(k.looping, s)
}

// leaveSteps ends a loop: the barrier stands before it, or in it.
func (k *kernel) leaveSteps() {
	s := k.looping[len(k.looping)-1]
	k.looping = k.looping[:len(k.looping)-1]
	if s.writes || len(s.inside) == 0 {
		if s.outside != nil {
			k.a.Withdraw(s.outside)
			k.untold(s.outside)
		}
		if s.writes || s.outside != nil {
			k.assumeTouched()
		}
	} else {
		for _, b := range s.inside {
			k.a.Withdraw(b)
		}
	}
	if n := len(k.looping); n > 0 && s.writes {
		k.looping[n-1].writes = true
	}
}

// tentative says of a barrier that it is there for what came before; unknown says that this is whatever stands before the step.
func (k *kernel) tentative(b *asm.Instr, unknown bool) {
	if n := len(k.looping); n > 0 && unknown {
		k.looping[n-1].inside = append(k.looping[n-1].inside, b)
	}
}

// untold is about a barrier that does not stand any more.
func (k *kernel) untold(b *asm.Instr) {
	for _, s := range k.looping {
		s.inside = slices.DeleteFunc(s.inside, func(x *asm.Instr) bool { return x == b })
	}
}

// noteWrite says that the step that is being emitted writes what other threads may read.
func (k *kernel) noteWrite() {
	if n := len(k.looping); n > 0 {
		k.looping[n-1].writes = true
	}
}
