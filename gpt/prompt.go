package gpt

import (
	"tilec/jit"
)

// chunk is how many tokens of a prompt run at once at most: what a graph computes between its launches takes memory for each. It is a
// multiple of what the places of chunks are aligned by.
const chunk = 512

// stride is how far apart the positions of chunks lie, in elements: each is aligned like the first.
const stride = 4

// prompt is the memory from which prompts run.
type prompt struct {
	// ids are the tokens, with room for a context, and starts where its chunks begin.
	ids, starts *jit.Memory
}

func (p *prompt) alloc(f *filler, context int) (err error) {
	if p.ids, err = f.alloc(int64(4 * context)); err != nil {
		return err
	}
	p.starts, err = f.alloc(int64(4 * stride * ((context + chunk - 1) / chunk)))
	return err
}

// place puts tokens that begin at a position into the device's memory, as the input of the first row.
func (p *prompt) place(d jit.Device, tokens []int32, start int) (input, error) {
	if err := d.Write(p.ids, 0, jit.Bytes(tokens)); err != nil {
		return input{}, err
	}
	in := input{rows{0, 1}, ints(p.ids, 0, 1, int64(len(tokens))), ints(p.starts, 0, 1)}
	return in, d.Write(p.starts, 0, jit.Bytes([]int32{int32(start)}))
}

// placeChunks puts a whole prompt into the device's memory, as inputs of a row, one after the other.
func (p *prompt) placeChunks(d jit.Device, tokens []int32, row int) ([]input, error) {
	var starts []int32
	var all []input
	for at := 0; at < len(tokens); at += chunk {
		n := int64(min(chunk, len(tokens)-at))
		all = append(all, input{rows{row, 1}, ints(p.ids, at, 1, n), ints(p.starts, len(starts), 1)})
		starts = append(starts, int32(at), 0, 0, 0) // stride
	}
	if err := d.Write(p.ids, 0, jit.Bytes(tokens)); err != nil {
		return nil, err
	}
	return all, d.Write(p.starts, 0, jit.Bytes(starts))
}
