package ir

import (
	"fmt"
	"slices"

	"tilec/lang"
)

// This file is about scratch tensors: memory that each block has for
// itself. It is global memory, in which the pass `spill` keeps tiles that are too long for a block, or Shared, where `keep` has rows.
// A block reads there what it has written in the same run, and nothing else. Of
// a launch with scratch tensors, block n has the n-th share of ScratchBytes of
// the launch's scratch memory.

// scratchAlign is what the offsets of scratch tensors and the shares of blocks are multiples of, in bytes.
const scratchAlign = 256

// Bytes is the size of a contiguous tensor whose dimensions are known.
func (t *Tensor) Bytes() int64 {
	n := int64(1)
	for _, d := range t.Shape {
		n *= d.Value
	}
	return t.Held().Bytes(n)
}

// Held is the type as which the elements lie in memory: their own or, in scratch memory, one of whole bytes.
func (t *Tensor) Held() lang.DType {
	if t.Scratch {
		return t.DType.WholeBytes()
	}
	return t.DType
}

// ScratchBytes is the scratch memory of one block; 0 for kernels without.
func (f *Func) ScratchBytes() int64 { return f.ScratchOffset(nil) }

// ScratchOffset is where in the memory of a block a scratch tensor begins, in bytes.
func (f *Func) ScratchOffset(t *Tensor) int64 {
	at := int64(0)
	for _, u := range f.Tensors {
		if u == t {
			break
		}
		if u.Scratch && !u.Shared {
			at += max((u.Bytes()+scratchAlign-1)/scratchAlign, 1) * scratchAlign
		}
	}
	return at
}

// AddScratch declares a scratch tensor of a shape, under a name that no tensor has yet.
func (f *Func) AddScratch(name string, d lang.DType, shape []int64) *Tensor {
	t := &Tensor{Name: name, DType: d, Mode: lang.InOut, Align: scratchAlign, Scratch: true}
	taken := func(name string) bool {
		return slices.ContainsFunc(f.Tensors, func(u *Tensor) bool { return u.Name == name })
	}
	for n := 1; taken(t.Name); n++ {
		t.Name = fmt.Sprintf("%s.%d", name, n)
	}
	for _, n := range shape {
		t.Shape = append(t.Shape, f.ConstDim(n))
	}
	f.Tensors = append(f.Tensors, t)
	return t
}

// ConstDim is a declared dimension of a known size that no tensor of the launch need have.
func (f *Func) ConstDim(n int64) *Dim {
	base := fmt.Sprintf("n%d", n)
	name := base
	for try := 1; ; try++ {
		i := slices.IndexFunc(f.Dims, func(d *Dim) bool { return d.Name == name })
		if i < 0 {
			break
		}
		if f.Dims[i].Value == n {
			return f.Dims[i]
		}
		name = fmt.Sprintf("%s.%d", base, try)
	}
	d := &Dim{Name: name, Value: n, Divisor: 1}
	f.Dims = append(f.Dims, d)
	return d
}
