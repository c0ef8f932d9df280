package gpt

import (
	"math/bits"

	"tilec/jit"
)

// This file runs prompts in pieces. What a graph computes between its launches takes memory for each token, so that a piece has a
// length at most. And each length of a piece is a program, which takes a GPU's host longer to bind than the GPU to run.

// longest is how many tokens of a prompt run at once at most, but for deterministic models.
const longest = 512

// fewLengths is how many lengths of prompts a batch may have at most for each to have a program of its own.
const fewLengths = maxBound / 4

// apart is how far apart the tokens of pieces begin, and their positions, in elements: all are aligned like the first.
const apart = 4

// prompt is the memory from which prompts run.
type prompt struct {
	// ids are the tokens, with room for a context in any pieces, and starts where these begin.
	ids, starts *jit.Memory
}

// alloc makes the memory for prompts of a context in pieces of at most so many tokens, a power of two.
func (p *prompt) alloc(f *filler, context, most int) (err error) {
	pieces := context/most + bits.Len(uint(most)) // those that are full, and one for each bit of the rest
	if p.ids, err = f.alloc(int64(4 * (context + pieces*apart))); err != nil {
		return err
	}
	p.starts, err = f.alloc(int64(4 * pieces * apart))
	return err
}

// pieces cuts a prompt of n tokens into pieces of at most so many, a power of two. Of the rest, powers gives powers of two, so that
// prompts of all lengths have pieces of few.
func pieces(n, most int, powers bool) []int {
	var all []int
	for ; n > 0; n -= all[len(all)-1] {
		piece := min(n, most)
		for powers && piece&(piece-1) != 0 {
			piece &= piece - 1 // without its lowest bit
		}
		all = append(all, piece)
	}
	return all
}

// place puts tokens that begin at a position into the device's memory, and gives them as inputs of a row, one after the other.
func (p *prompt) place(d jit.Device, tokens []int32, start, row int, cut []int) ([]input, error) {
	var ids, starts []int32
	var all []input
	for _, n := range cut {
		all = append(all, input{rows{row, 1}, ints(p.ids, len(ids), 1, int64(n)), ints(p.starts, len(starts), 1)})
		ids = append(ids, tokens[:n]...)
		ids = append(ids, make([]int32, (apart-n%apart)%apart)...)
		starts = append(starts, int32(start), 0, 0, 0) // apart
		tokens, start = tokens[n:], start+n
	}
	if err := d.Write(p.ids, 0, jit.Bytes(ids)); err != nil {
		return nil, err
	}
	return all, d.Write(p.starts, 0, jit.Bytes(starts))
}
