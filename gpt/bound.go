package gpt

import (
	"slices"

	"tilec/jit"
	"tilec/lang"
	"tilec/typecheck/typed"
)

// maxBound is how many programs a model keeps. Text takes two, for the prompt and for one
// token at a time; more are for callers whose prompts have lengths that come back. A
// program is a list of launches, some hundred bytes each: what it computes with is in the
// model's arena.
const maxBound = 32

// binding says what a program is bound to: a graph with the type of its logits, a choice of tokens or both, how many sequences it gets and how many
// tokens of each, at what places these lie (see rows.align), and of a choice whether it is among few.
type binding struct {
	graph, choice *typed.Graph
	logits        lang.DType
	rows, align   int
	tokens        int64
	few           bool
}

// bound are the programs that were run last, at most maxBound, the latest last.
type bound []boundProgram

type boundProgram struct {
	key     binding
	program *jit.Program
}

// find gives the program of a binding and makes it the latest; nil where there is none.
func (b bound) find(key binding) *jit.Program {
	for i, p := range b {
		if p.key == key {
			copy(b[i:], b[i+1:])
			b[len(b)-1] = p
			return p.program
		}
	}
	return nil
}

// last gives the program of those bindings that was run last; nil where there is none.
func (b bound) last(of func(binding) bool) *jit.Program {
	for _, p := range slices.Backward(b) {
		if of(p.key) {
			return p.program
		}
	}
	return nil
}

// add keeps a program, and closes the one that was not run for the longest time where there are too many.
func (b *bound) add(key binding, p *jit.Program) {
	if len(*b) == maxBound {
		(*b)[0].program.Close()
		copy(*b, (*b)[1:])
		*b = (*b)[:maxBound-1]
	}
	*b = append(*b, boundProgram{key, p})
}

func (b *bound) close() {
	for _, p := range *b {
		p.program.Close()
	}
	*b = nil
}
