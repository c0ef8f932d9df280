package gpt

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"

	"tilec/jit"
	"tilec/lang"
	"tilec/stdlib"
	"tilec/typecheck/typed"
)

// This file makes the steps of a text without the host in between: what a step chooses lies in the device's memory, where the
// next step reads it. The host gives several steps to the device before it looks at the first one's token.

// ahead is how many steps a GPU has at most whose tokens nobody has looked at. A text that ends has computed so many in vain.
const ahead = 4

// chooser chooses tokens on the device, by std/sample.
type chooser struct {
	likeliest, byChance *typed.Graph
	// arena is for what the kernels of a choice give each other: the logits lie in the model's.
	arena *jit.Arena
	bound bound
	// seed and seen are the state of choices by chance.
	seed, seen *jit.Memory
	mail       jit.Mailbox
}

// newChooser loads std/sample.
func newChooser(c *jit.Compiler) (*chooser, error) {
	const path = "sample.tile"
	source, err := stdlib.FS.ReadFile(path)
	if err != nil {
		return nil, err
	}
	program, problems := jit.Load("std/"+path, source, nil)
	if len(problems) > 0 {
		return nil, problems
	}
	s := &chooser{arena: jit.NewArena(c.Device)}
	for _, g := range program.Graphs {
		switch g.Name {
		case "choose_likeliest":
			s.likeliest = g
		case "choose":
			s.byChance = g
		}
	}
	if s.likeliest == nil || s.byChance == nil {
		return nil, errors.New("std/sample has no graphs choose_likeliest and choose")
	}
	s.mail, err = jit.NewMailbox(c.Device, 4, ahead)
	return s, err
}

// Tokens continues a prompt by at most n tokens, which each gets as they come, until it says that there is to be no more.
// Fewer come where the context is full; the last one that is chosen then has no place in it.
func (m *Model) Tokens(ctx context.Context, prompt []int32, n int, s Sampling, each func(id int32) (more bool, err error)) error {
	if err := s.Validate(); err != nil {
		return err
	}
	s = s.chance()
	if len(prompt) == 0 || len(prompt) > m.context {
		return fmt.Errorf("the prompt has %d tokens, required 1 to %d", len(prompt), m.context)
	}
	n = min(n, m.context-len(prompt)+1)
	if err := m.reserve(min(m.context, len(prompt)+n)); err != nil {
		return err
	}
	if err := m.begin(prompt, s); err != nil {
		return err
	}
	most := 1
	if _, ok := m.compiler.Device.(*jit.GPU); ok {
		most = ahead
	}
	given, taken := 0, 0
	defer func() {
		for ; taken < given; taken++ { // what was given in vain
			_, _ = m.chooser.mail.Take()
		}
	}()
	for taken < n {
		// The first token does not wait for the steps behind it, whose programs may have to be compiled.
		for given < n && (given == 0 || taken > 0) && given-taken < most {
			if err := ctx.Err(); err != nil {
				return err
			}
			tokens := 1
			if given == 0 {
				tokens = len(prompt)
			}
			if err := m.step(ctx, tokens, s); err != nil {
				return err
			}
			if err := m.chooser.mail.Post(m.ids, 0); err != nil {
				return err
			}
			given++
		}
		data, err := m.chooser.mail.Take()
		if err != nil {
			return err
		}
		taken++
		id := int32(binary.LittleEndian.Uint32(data))
		if id < 0 {
			return fmt.Errorf("the logits of token %d of the text have no largest one that is a finite number: a model that works does not give such", len(prompt)+taken)
		}
		if more, err := each(id); err != nil || !more {
			return err
		}
	}
	return nil
}

// begin puts a prompt and what a choice starts from into the device's memory.
func (m *Model) begin(prompt []int32, s Sampling) error {
	if m.chooser == nil {
		c, err := newChooser(m.compiler)
		if err != nil {
			return err
		}
		m.chooser = c
	}
	d, c := m.compiler.Device, m.chooser
	if err := m.place(prompt, 0); err != nil || s.Temperature == 0 {
		return err
	}
	v, err := m.choosable()
	if err != nil {
		return err
	}
	if c.seed == nil {
		if c.seed, err = m.filler.alloc(8); err != nil {
			return err
		}
		if c.seen, err = m.filler.alloc(4 * v); err != nil {
			return err
		}
	}
	if err := d.Write(c.seed, 0, binary.LittleEndian.AppendUint64(nil, s.Seed)); err != nil {
		return err
	}
	seen := make([]int32, v)
	for _, id := range prompt {
		if int64(id) < v {
			seen[id] = 1
		}
	}
	return d.Write(c.seen, 0, jit.Bytes(seen))
}

// choosable is how many tokens may be chosen, the first ones: a vocabulary may be padded beyond the tokenizer's, to a round
// number, and what has no text is none. A token that ends the text needs none.
func (m *Model) choosable() (int64, error) {
	n := m.Checkpoint.Tokenizer.VocabSize()
	for _, id := range m.Checkpoint.Config.EOSTokenIDs {
		n = max(n, id+1)
	}
	all, err := m.filler.eval(m.graph.Outputs[0].Type.Shape[1])
	return min(int64(n), all), err
}

// step runs the graph on the tokens that are in place, and puts the one that follows in their place.
func (m *Model) step(ctx context.Context, tokens int, s Sampling) error {
	out, err := m.launch(ctx, m.graph, tokens)
	if err != nil {
		return err
	}
	v, err := m.choosable()
	if err != nil {
		return err
	}
	logits := *out.Tensor
	logits.Strides, logits.Shape = []int64{logits.Shape[1], 1}, []int64{1, v}
	of := func(d lang.DType, memory *jit.Memory, shape ...int64) jit.Value {
		return jit.TensorValue(&jit.Tensor{DType: d, Shape: shape, Memory: memory})
	}
	c := m.chooser
	chosen, start := of(lang.I32, m.ids, 1, 1), of(lang.I32, m.starts, 1)
	g, args := c.likeliest, []jit.Value{jit.TensorValue(&logits), chosen, start}
	consts := map[string]lang.Literal{"S": {DType: lang.I32, Int: int64(tokens)}}
	if s.Temperature > 0 {
		few := lang.Literal{DType: lang.Bool}
		if s.few() {
			few.Int = 1
		}
		g, consts["FEW"] = c.byChance, few
		args = []jit.Value{
			jit.TensorValue(&logits), jit.FloatValue(lang.F32, s.penalty()), jit.FloatValue(lang.F32, s.Temperature),
			jit.IntValue(lang.I32, int64(s.TopK)), jit.FloatValue(lang.F32, s.TopP), of(lang.I64, c.seed, 1),
			chosen, start, of(lang.I32, c.seen, 1, v),
		}
	}
	key := binding{g, tokens, s.few()}
	p := c.bound.find(key)
	if p == nil {
		if p, err = m.compiler.BindGraph(g, args, jit.Options{Consts: consts, Arena: c.arena}); err != nil {
			return err
		}
		c.bound.add(key, p)
	}
	_, err = p.RunContext(ctx, args)
	return err
}

// close gives back what the chooser holds.
func (c *chooser) close() {
	if c == nil {
		return
	}
	c.bound.close()
	c.arena.Close()
	if c.mail != nil {
		_ = c.mail.Close()
	}
}
