package gpt

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"tilec/gpt/safetensors"
)

// This file has fields that are several tensors of a checkpoint, one behind the other along the first dimension, as `@name("q", "k", "v")` says: what
// a checkpoint has as the matrices of three products of the same rows is that of one product then.

// stack is a tensor, without its data, that is those of its parts one behind the other.
type stack struct {
	safetensors.Tensor
	parts []part
}

// part is a tensor of a stack, whose elements stand there so many times.
type part struct {
	safetensors.Tensor
	times int
}

// between is what the name of a stack has between those of its tensors.
const between = " + "

// source is the tensor of the checkpoint that a field is, without its data: of each part, the first of its names that there is.
func (f *filler) source(names [][]string) (safetensors.Tensor, error) {
	var parts []part
	for _, n := range names {
		t, err := f.ckpt.find(n)
		if err != nil {
			return t, err
		}
		parts = append(parts, part{t, 1})
	}
	return f.stacked(parts)
}

// scaleSource is the tensor of the checkpoint that has the scales of a field, without its data; false where the checkpoint has none. A part of a stack
// may have one scale for all of its rows.
func (f *filler) scaleSource(names, of [][]string) (t safetensors.Tensor, found bool, err error) {
	var parts []part
	for i, n := range names {
		scale, ok := f.ckpt.lookup(n[0])
		if !ok {
			continue
		}
		p := part{scale, 1}
		if len(names) > 1 {
			rows, err := f.ckpt.find(of[i])
			if err != nil {
				return t, false, err
			}
			count := 1
			for _, d := range scale.Shape {
				count *= d
			}
			if count == 1 && len(rows.Shape) > 0 {
				p.times = rows.Shape[0]
			}
			p.Shape = []int{count * p.times}
		}
		parts = append(parts, p)
	}
	switch len(parts) {
	case 0:
		return t, false, nil
	case len(names):
		t, err = f.stacked(parts)
		return t, err == nil, err
	}
	return t, false, fmt.Errorf("%s has scales for some of %s and none for others", f.ckpt.Tensors.Name(), firstNames(of))
}

// stacked is one tensor of several, which read has the data of.
func (f *filler) stacked(parts []part) (safetensors.Tensor, error) {
	first := parts[0]
	if len(parts) == 1 {
		return first.Tensor, nil
	}
	t := safetensors.Tensor{DType: first.DType, Shape: slices.Clone(first.Shape)}
	var names []string
	for i, p := range parts {
		names = append(names, p.Name)
		switch {
		case p.DType != first.DType:
			return t, fmt.Errorf("%s: tensor %q is %s and %q is %s: those of one field have one type", f.ckpt.Tensors.Name(), first.Name, first.DType, p.Name, p.DType)
		case len(p.Shape) == 0 || len(first.Shape) == 0 || !slices.Equal(p.Shape[1:], first.Shape[1:]):
			return t, fmt.Errorf("%s: tensor %q has the shape %v and %q the shape %v: those of one field differ in the first dimension alone", f.ckpt.Tensors.Name(), first.Name, first.Shape, p.Name, p.Shape)
		case i > 0:
			t.Shape[0] += p.Shape[0]
		}
	}
	t.Name = strings.Join(names, between)
	f.stacks[t.Name] = stack{t, parts}
	return t, nil
}

// tensors are the names of the checkpoint's tensors that a wanted one is made of.
func (f *filler) tensors(name string) []string {
	of, stacked := f.stacks[name]
	if !stacked {
		return []string{name}
	}
	var names []string
	for _, p := range of.parts {
		names = append(names, p.Name)
	}
	return names
}

// lookup gives a wanted tensor without its data.
func (f *filler) lookup(name string) safetensors.Tensor {
	if of, stacked := f.stacks[name]; stacked {
		return of.Tensor
	}
	t, _ := f.ckpt.Tensors.Lookup(name) // which check has found
	return t
}

// read gives a wanted tensor with its data.
func (f *filler) read(name string) (safetensors.Tensor, error) {
	of, stacked := f.stacks[name]
	if !stacked {
		return f.ckpt.Tensors.Tensor(name)
	}
	t := of.Tensor
	for _, p := range of.parts {
		one, err := f.ckpt.Tensors.Tensor(p.Name)
		if err != nil {
			return t, err
		}
		t.Data = append(t.Data, bytes.Repeat(one.Data, p.times)...)
	}
	return t, nil
}

// firstNames are those of a field's tensors, without what they may be tied to.
func firstNames(parts [][]string) string {
	var names []string
	for _, p := range parts {
		names = append(names, p[0])
	}
	return strings.Join(names, between)
}
