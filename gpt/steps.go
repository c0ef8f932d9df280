package gpt

import (
	"context"
	"encoding/binary"
	"errors"
	"slices"

	"tilec/jit"
	"tilec/lang"
	"tilec/typecheck/typed"
)

// This file makes the steps of a batch without the host in between: what a step chooses lies in the device's memory, where the
// next step reads it. The host gives several steps to the device before it looks at the first one's tokens.

// ahead is how many steps a GPU has at most whose tokens nobody has looked at. A text that ends has computed so many in vain.
const ahead = 4

// chooser chooses the tokens of a batch on the device, by std/sample.
type chooser struct {
	filler              *filler
	likeliest, byChance *typed.Graph
	// bound are the choices that follow a prompt, and arena is for what their kernels give each other: the logits lie in the model's.
	bound bound
	arena *jit.Arena
	// rows is how many sequences it has room for, and vocabulary how many tokens may be chosen, the first ones.
	rows          int
	deterministic bool
	vocabulary    int64
	// ids are the tokens that were chosen last, a row each, and starts the positions that they will have.
	ids, starts *jit.Memory
	// seed and seen are the state of choices by chance: a number a row, and whether each token has occurred in it.
	seed, seen *jit.Memory
	memory     []*jit.Memory
	// mail has the latest tokens of each row for the host, as many as there are steps that nobody has looked at.
	mail jit.Mailbox
}

// newChooser loads std/sample for the texts of so many rows.
func newChooser(m *Model, rows int) (*chooser, error) {
	program, err := choices()
	if err != nil {
		return nil, err
	}
	d := m.compiler.Device
	c := &chooser{filler: m.filler, arena: jit.NewArena(d), rows: rows, deterministic: m.opts.Deterministic}
	for _, g := range program.Graphs {
		switch g.Name {
		case "choose_likeliest":
			c.likeliest = g
		case "choose":
			c.byChance = g
		}
	}
	if c.likeliest == nil || c.byChance == nil {
		return nil, errors.New("std/sample has no graphs choose_likeliest and choose")
	}
	if c.vocabulary, err = m.choosable(); err != nil {
		return nil, err
	}
	if c.ids, err = c.zeros(4); err == nil {
		c.starts, err = c.zeros(4)
	}
	if err == nil {
		c.mail, err = jit.NewMailbox(d, 4*rows*ahead, ahead)
	}
	if err != nil {
		c.close()
		return nil, err
	}
	return c, nil
}

// zeros makes memory of so many bytes a row, which is written: a row without a text is computed too.
func (c *chooser) zeros(bytes int64) (*jit.Memory, error) {
	m, err := c.filler.device.Alloc(bytes * int64(c.rows))
	if err != nil {
		return nil, err
	}
	c.memory = append(c.memory, m)
	return m, c.filler.clear(m)
}

// begin notes what the choices of a row start from: the tokens so far, and the seed.
func (c *chooser) begin(row int, tokens []int32, seed uint64, s Sampling) error {
	d := c.filler.device
	if err := c.move(row, len(tokens)-1); err != nil || s.Temperature == 0 {
		return err
	}
	if err := d.Write(c.seed, int64(8*row), binary.LittleEndian.AppendUint64(nil, seed)); err != nil {
		return err
	}
	seen := make([]int32, c.vocabulary)
	for _, id := range tokens {
		if int64(id) < c.vocabulary {
			seen[id] = 1
		}
	}
	return d.Write(c.seen, 4*c.vocabulary*int64(row), jit.Bytes(seen))
}

// prepare makes the state of choices by chance, where a sampling takes it.
func (c *chooser) prepare(s Sampling) (err error) {
	if s.Temperature == 0 || c.seen != nil {
		return nil
	}
	if c.seed, err = c.zeros(8); err == nil {
		c.seen, err = c.zeros(4 * c.vocabulary)
	}
	return err
}

// move sets the position of a row's last token.
func (c *chooser) move(row, position int) error {
	return c.filler.device.Write(c.starts, int64(4*row), jit.Bytes([]int32{int32(position)}))
}

// input is what a step of the first rows runs on.
func (c *chooser) input(count int) input {
	n := int64(count)
	return input{rows{0, count}, ints(c.ids, 0, n, 1), ints(c.starts, 0, n)}
}

// choice is how the tokens of some rows are chosen: by which graph, with which constants, and its arguments by their names, but for the logits.
type choice struct {
	graph  *typed.Graph
	consts map[string]lang.Literal
	args   map[string]jit.Value
}

// choice is that of a sampling.
func (c *chooser) choice(r rows, s Sampling) choice {
	of := func(d lang.DType, m *jit.Memory, a row) jit.Value {
		return jit.TensorValue(&jit.Tensor{DType: d, Shape: append([]int64{int64(r.count)}, a...), Memory: m, Offset: int64(r.first) * jit.Elements(a)})
	}
	x := choice{graph: c.likeliest, args: map[string]jit.Value{
		paramTokens: of(lang.I32, c.ids, row{1}), paramStart: of(lang.I32, c.starts, nil), "latest": of(lang.I32, c.mail.Memory(), row{ahead}),
	}}
	if s.Temperature == 0 {
		return x
	}
	few := lang.Literal{DType: lang.Bool}
	if s.few() {
		few.Int = 1
	}
	x.graph, x.consts = c.byChance, map[string]lang.Literal{"FEW": few}
	x.args["penalty"], x.args["temperature"] = jit.FloatValue(lang.F32, s.penalty()), jit.FloatValue(lang.F32, s.Temperature)
	x.args["top_k"], x.args["top_p"] = jit.IntValue(lang.I32, int64(s.TopK)), jit.FloatValue(lang.F32, s.TopP)
	x.args["seed"], x.args["seen"] = of(lang.I64, c.seed, nil), of(lang.I32, c.seen, row{c.vocabulary})
	return x
}

// choose chooses a token of each of some rows by the logits that follow their last token, and makes it the last one.
func (c *chooser) choose(ctx context.Context, compiler *jit.Compiler, logits *jit.Tensor, r rows, s Sampling) error {
	x := c.choice(r, s)
	some := *logits
	some.Strides, some.Shape = []int64{logits.Shape[1], 1}, []int64{int64(r.count), c.vocabulary}
	x.args[paramLogits] = jit.TensorValue(&some)
	args := make([]jit.Value, len(x.graph.Params))
	for i, p := range x.graph.Params {
		args[i] = x.args[p.Name]
	}
	key := binding{choice: x.graph, rows: r.count, align: r.align(), few: s.few()}
	p := c.bound.find(key)
	if p == nil {
		var err error
		if p, err = compiler.BindGraph(x.graph, args, jit.Options{Consts: x.consts, Arena: c.arena, Deterministic: c.deterministic}); err != nil {
			return err
		}
		c.bound.add(key, p)
	}
	_, err := p.RunContext(ctx, args)
	return err
}

// latest is the token of a row that has a position, in what the mailbox gives.
func latest(mail []byte, row, position int) int32 {
	return int32(binary.LittleEndian.Uint32(mail[4*(row*ahead+position%ahead):]))
}

// row is the shape of what a row has of a tensor.
type row []int64

// close gives back what the chooser holds.
func (c *chooser) close() {
	if c == nil {
		return
	}
	c.bound.close()
	c.arena.Close()
	c.filler.free(&c.memory)
	if c.mail != nil {
		_ = c.mail.Close()
	}
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

// begin runs a text in a row, which has a part of it from its beginning on already, the rest cut into pieces, and chooses the token
// that follows.
func (m *Model) begin(ctx context.Context, row int, tokens []int32, had int, cut []int, seed uint64, s Sampling) error {
	inputs, err := m.prompt.place(m.compiler.Device, tokens[had:], had, row, cut)
	if err != nil {
		return err
	}
	if err := m.chooser.prepare(s); err != nil {
		return err
	}
	if err := m.chooser.begin(row, tokens, seed, s); err != nil {
		return err
	}
	var out jit.Value
	for _, in := range inputs {
		if out, err = m.launch(ctx, m.graph, in); err != nil {
			return err
		}
	}
	return m.chooser.choose(ctx, m.compiler, out.Tensor, rows{row, 1}, s)
}

// step runs the last token of each of the first rows, and chooses those that follow.
func (m *Model) step(ctx context.Context, count int, s Sampling) error {
	p, args, err := m.bindStep(count, s)
	if err == nil {
		_, err = p.RunContext(ctx, args)
	}
	return err
}

// bindStep gives the program of a step, and its arguments.
func (m *Model) bindStep(count int, s Sampling) (*jit.Program, []jit.Value, error) {
	c := m.chooser
	if err := c.prepare(s); err != nil {
		return nil, nil, err
	}
	in := c.input(count)
	m.place(in)
	x := c.choice(in.rows, s)
	args := slices.Clip(m.args)
	for _, p := range x.graph.Params {
		if v, ok := x.args[p.Name]; ok && p.Name != paramTokens && p.Name != paramStart { // those the model's graph has too
			args = append(args, v)
		}
	}
	key := binding{graph: m.graph, choice: x.graph, rows: count, align: in.rows.align(), tokens: 1, few: s.few()}
	if p := m.bound.find(key); p != nil {
		return p, args, nil
	}
	p, err := m.compiler.BindGraph(m.oneStep(x.graph, c.vocabulary, x.consts), args, m.opts)
	if err != nil {
		return nil, nil, err
	}
	m.bound.add(key, p)
	return p, args, nil
}

// StepTimes gives when the launches of the last step of decoding began and ended, those of the choice of its tokens among them, where the model is
// on a GPU and its compiler is Timed.
func (m *Model) StepTimes() ([]jit.LaunchTime, error) {
	step := m.bound.last(func(key binding) bool { return key.choice != nil })
	if step == nil {
		return nil, errors.New("no step of decoding was made: a text of two new tokens has one")
	}
	return step.Times()
}
