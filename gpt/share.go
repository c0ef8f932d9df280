package gpt

import (
	"context"
	"fmt"
	"slices"

	"tilec/jit"
	"tilec/typecheck/typed"
)

// This file spares texts that begin alike the work of their common beginning: samples of one prompt, prompts with one preamble. What a
// row keeps of the beginning of its text is copied to the row of the other.

// leastShared is of how many tokens a common beginning is copied at least: running fewer takes about as long.
const leastShared = 32

// copySource copies what a row keeps: of O × M tensors the first P positions, of I elements each.
const copySource = `kernel copy_row<T: any>(x: T[O, M, P, I], inout y: T[O, M, P, I])
    grid o in O, m in M, p in P by BP, i in I by BI
{
    y[o, m, p, i] = x[o, m, p, i]
}
`

// copier copies rows of a state.
type copier struct {
	kernel *typed.Kernel
	bound  map[copying]*jit.Program
}

// copying is what a program of the copier is bound to: a tensor of the state, how many positions, and how the rows are aligned.
type copying struct {
	tensor    *jit.Tensor
	positions int64
	from, to  int
}

// kept is a tensor of a state: the places of its dimensions of rows and of positions, -1 without one behind the rows.
type kept struct {
	*jit.Tensor
	rows, positions int
}

// row is what a row has of the tensor, its first positions at least, as copySource sees it.
func (k kept) row(row int, positions int64) *jit.Tensor {
	size := func(shape []int64) int64 { return jit.Elements(append([]int64{1}, shape...)) }
	at, of := k.rows, size(k.Shape[k.rows+1:])
	t := &jit.Tensor{DType: k.DType, Memory: k.Memory, Offset: int64(row) * of,
		Shape: []int64{size(k.Shape[:at]), 1, 1, of}, Strides: []int64{size(k.Shape[at:]), of, of, 1}}
	if p := k.positions; p >= 0 {
		inner := size(k.Shape[p+1:])
		t.Shape[1], t.Shape[2], t.Shape[3] = size(k.Shape[at+1:p]), min(positions, k.Shape[p]), inner
		t.Strides[1], t.Strides[2] = size(k.Shape[p:]), inner
	}
	return t
}

// copyRow copies what the state has of the first positions of a row to another row, and perhaps more.
func (m *Model) copyRow(ctx context.Context, from, to, positions int) error {
	c := &m.copier
	if c.kernel == nil {
		program, problems := jit.Load("copy_row.tile", []byte(copySource), nil)
		if len(problems) > 0 {
			return problems
		}
		c.kernel, c.bound = program.Kernels[0], map[copying]*jit.Program{}
	}
	many := int64(1) // few numbers of positions are few programs
	for many < int64(positions) {
		many *= 2
	}
	for _, k := range m.state.kept {
		args := []jit.Value{jit.TensorValue(k.row(from, many)), jit.TensorValue(k.row(to, many))}
		key := copying{k.Tensor, many, rows{from, 1}.align(), rows{to, 1}.align()}
		p := c.bound[key]
		if p == nil {
			var err error
			if p, err = m.compiler.BindKernel(c.kernel, args, jit.Options{}); err != nil {
				return fmt.Errorf("copying a row: %w", err)
			}
			c.bound[key] = p
		}
		if _, err := p.RunContext(ctx, args); err != nil {
			return err
		}
	}
	return nil
}

// close forgets the programs, and the tensors that they are bound to.
func (c *copier) close() {
	for _, p := range c.bound {
		p.Close()
	}
	clear(c.bound)
}

// alike finds the row whose text begins most like one that is to run, and how many tokens they have in common, of which the last
// token of the new text is none: its logits are wanted. No tokens where that does not pay.
func alike(texts [][]int32, tokens []int32) (row, shared int) {
	for i, text := range texts {
		n := 0
		for n < min(len(text), len(tokens)-1) && text[n] == tokens[n] {
			n++
		}
		if n > shared {
			row, shared = i, n
		}
	}
	if shared < leastShared {
		return 0, 0
	}
	return row, shared
}

// share gives a row what another has of the beginning of a text, and says how many tokens that are.
func (r *runner) share(ctx context.Context, row int, tokens []int32) (shared int, err error) {
	if r.model.opts.Deterministic { // a prompt runs in one way whatever the others are
		return 0, nil
	}
	from, shared := alike(r.texts, tokens)
	if shared > 0 && from != row {
		err = r.model.copyRow(ctx, from, row, shared)
	}
	r.texts[row] = slices.Clone(tokens)
	return shared, err
}
