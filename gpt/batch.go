package gpt

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"tilec/jit"
)

// Sequence is a text that is continued, alone or in a batch.
type Sequence struct {
	// Prompt is what it begins with, 1 token to as many as the context has.
	Prompt []int32
	// MaxNewTokens ends it after so many tokens.
	MaxNewTokens int
	// Seed selects its random numbers, which do not depend on other sequences. Its logits do not either, but for rounding: batches of
	// other sizes are computed by other code. SetDeterministic has no difference at all.
	Seed uint64
	// Each gets the tokens as they come, until it says that there is to be no more.
	Each func(id int32) (more bool, err error)
	// Dropped says what becomes of a sequence whose context is full. Nil ends it there; the last token that is chosen then has no
	// place in the context. Else it goes on: its oldest tokens are dropped, so that half a context is left, which runs anew
	// from position 0 on, and Dropped hears how many tokens have been dropped so far.
	Dropped func(tokens int)
	// Done, where it is set, is called when the sequence has ended.
	Done func() error
}

// Batch says how sequences are continued side by side.
type Batch struct {
	// Sampling is for all of them, but for its seed.
	Sampling Sampling
	// Rows is how many run at once, at most; 0 for as many as pay on the device.
	Rows int
}

// How many sequences run at once where nobody says. A step of more costs a GPU about as much as one of a single sequence, whose
// weights it reads all the same; a CPU computes each for itself.
const (
	rowsOfGPU = 32
	rowsOfCPU = 8
)

// Continue continues sequences, several at once: when one ends, the next in order takes its row of the batch, so that rows are
// computed for texts as long as there are such. Their state takes memory for as many positions a row as the longest may have.
// The first error of a call that sequences make ends all of them.
func (m *Model) Continue(ctx context.Context, b Batch, sequences []*Sequence) error {
	if err := b.Sampling.Validate(); err != nil {
		return err
	}
	b.Sampling = b.Sampling.chance()
	if m.opts.Deterministic && b.Rows > jit.SameRows {
		return fmt.Errorf("a batch of %d rows is asked for, a deterministic model runs at most %d", b.Rows, jit.SameRows)
	}
	most, lengths := 1, map[int]bool{}
	for _, q := range sequences {
		n := len(q.Prompt)
		if n == 0 || n > m.context {
			return fmt.Errorf("the prompt has %d tokens, required 1 to %d", n, m.context)
		}
		if q.Each == nil {
			return errors.New("a sequence has nothing that gets its tokens: set Each")
		}
		lengths[n] = true
		most = max(most, min(m.context, n+min(q.MaxNewTokens, m.context)))
	}
	_, gpu := m.compiler.Device.(*jit.GPU)
	r := &runner{model: m, Batch: b, waiting: sequences, ahead: 1}
	if gpu {
		r.ahead = ahead
	}
	// Of a deterministic model, prompts are cut in one way whatever the others are.
	r.powers = m.compiler.Device.Target().IsGPU() && len(lengths) > fewLengths && !m.opts.Deterministic
	switch {
	case r.Rows > 0:
	case gpu:
		r.Rows = rowsOfGPU
	default:
		r.Rows = rowsOfCPU
	}
	r.Rows = min(r.Rows, max(1, len(sequences)))
	for err := r.prepare(most); err != nil; err = r.prepare(most) {
		var little *jit.MemoryError
		switch {
		case !errors.As(err, &little) || r.Rows == 1:
			return err
		case b.Rows > 0:
			return fmt.Errorf("a batch of %d texts of up to %d tokens each: %w; fewer at once (--batch) take less memory", r.Rows, most, err)
		}
		r.Rows /= 2
	}
	defer r.discard()
	r.rows, r.texts = make([]*running, r.Rows), make([][]int32, r.Rows)
	return r.run(ctx)
}

// prepare makes what so many texts of so many tokens need at most: their state and that of their choices.
func (m *Model) prepare(tokens, rows int) error {
	if err := m.reserve(tokens, rows); err != nil {
		return err
	}
	if m.chooser == nil || m.chooser.rows < rows {
		m.chooser.close()
		m.chooser = nil
		c, err := newChooser(m, rows)
		if err != nil {
			return err
		}
		m.chooser = c
	}
	return nil
}

// Tokens continues a prompt by at most n tokens, which each gets as they come, until it says that there is to be no more.
// Fewer come where the context is full; the last one that is chosen then has no place in it.
func (m *Model) Tokens(ctx context.Context, prompt []int32, n int, s Sampling, each func(id int32) (more bool, err error)) error {
	return m.Continue(ctx, Batch{Sampling: s}, []*Sequence{{Prompt: prompt, MaxNewTokens: n, Seed: s.Seed, Each: each}})
}

// runner runs a batch.
type runner struct {
	Batch
	model   *Model
	waiting []*Sequence
	// rows are the sequences that run, nil where a row is free.
	rows []*running
	// texts are those that the rows began with: what the state keeps of these is there until another begins.
	texts [][]int32
	// steps are those whose tokens nobody has looked at: who gets one, by rows. There are at most ahead of them.
	steps [][]expected
	ahead int
	// powers: prompts are cut into pieces whose lengths are powers of two.
	powers bool
}

// running is a sequence in a row of the batch.
type running struct {
	*Sequence
	// most is how many tokens it may get, and asked for how many the device was asked.
	most, asked int
	// tokens are the prompt and those that came, in the context or dropped; place is the position of the next one.
	tokens []int32
	place  int
	shifts uint64
	ended  bool
}

// expected is a token that a sequence gets, at a position; no sequence for none.
type expected struct {
	*running
	position int
}

// wants reports a sequence that is to get more tokens than the device was asked for.
func (q *running) wants() bool { return q != nil && q.asked < q.most }

// prepare makes what the batch needs at most, where its texts have so many tokens, and the program of its steps.
func (r *runner) prepare(tokens int) error {
	if err := r.model.prepare(tokens, r.Rows); err != nil || r.Rows == 1 { // one text's first token does not wait until the program of the others is there
		return err
	}
	_, _, err := r.model.bindStep(r.Rows, r.Sampling)
	return err
}

func (r *runner) run(ctx context.Context) error {
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		if row := slices.Index(r.rows, nil); row >= 0 && len(r.waiting) > 0 {
			if err := r.admit(ctx, row); err != nil {
				return err
			}
			continue
		}
		full := slices.IndexFunc(r.rows, func(q *running) bool { return q.wants() && q.place == r.model.context })
		var err error
		switch {
		case full >= 0 && len(r.steps) == 0:
			err = r.shift(ctx, full)
		case full < 0 && len(r.steps) < r.ahead && slices.ContainsFunc(r.rows, (*running).wants):
			err = r.step(ctx)
		case len(r.steps) > 0:
			err = r.take()
		default:
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// admit begins the next sequence in a row.
func (r *runner) admit(ctx context.Context, row int) error {
	q := &running{Sequence: r.waiting[0], most: r.waiting[0].MaxNewTokens}
	r.waiting = r.waiting[1:]
	if q.Dropped == nil {
		q.most = min(q.most, r.model.context-len(q.Prompt)+1)
	}
	if q.most <= 0 {
		return q.end()
	}
	q.tokens = slices.Clone(q.Prompt)
	r.rows[row] = q
	return r.begin(ctx, row, q.tokens, q.Seed)
}

// begin runs the text of a row from position 0 on. Its token does not wait for the steps behind it, whose programs may have to be
// compiled.
func (r *runner) begin(ctx context.Context, row int, tokens []int32, seed uint64) error {
	q := r.rows[row]
	q.place = len(tokens)
	shared, err := r.share(ctx, row, tokens)
	if err != nil {
		return err
	}
	cut := pieces(len(tokens)-shared, r.model.longest(), r.powers)
	if err := r.model.begin(ctx, row, tokens, shared, cut, seed, r.Sampling); err != nil {
		return err
	}
	of := make([]expected, len(r.rows))
	of[row] = expected{q, q.place}
	if err := r.post(of); err != nil {
		return err
	}
	for len(r.steps) > 0 {
		if err := r.take(); err != nil {
			return err
		}
	}
	return nil
}

// shift drops the oldest tokens of a row whose context is full. Random numbers are those of a seed and a position; since positions
// come again, the seed is another one.
func (r *runner) shift(ctx context.Context, row int) error {
	q := r.rows[row]
	kept := q.tokens[len(q.tokens)-max(1, r.model.context/2):]
	q.Dropped(len(q.tokens) - len(kept))
	q.shifts++
	const golden = 0x9e3779b97f4a7c15 // far from any seed that somebody gives, and from those of other shifts
	return r.begin(ctx, row, kept, q.Seed+q.shifts*golden)
}

// step runs the rows up to the last one that has a sequence.
func (r *runner) step(ctx context.Context) error {
	last := 0
	of := make([]expected, len(r.rows))
	for row, q := range r.rows {
		if q != nil {
			last = row
		}
		if q.wants() {
			q.place++
			of[row] = expected{q, q.place}
		}
	}
	// Few numbers of rows are few programs.
	count := 1
	for count <= last {
		count *= 2
	}
	if err := r.model.step(ctx, min(count, len(r.rows)), r.Sampling); err != nil {
		return err
	}
	return r.post(of)
}

// post says that tokens were asked for, for the sequences that get one.
func (r *runner) post(of []expected) error {
	if err := r.model.chooser.mail.Post(); err != nil {
		return err
	}
	for _, q := range of {
		if q.running != nil {
			q.asked++
		}
	}
	r.steps = append(r.steps, of)
	return nil
}

// take gives the tokens of the first step that nobody has looked at to its sequences.
func (r *runner) take() error {
	data, err := r.model.chooser.mail.Take()
	if err != nil {
		return err
	}
	of := r.steps[0]
	r.steps = r.steps[1:]
	for row, q := range of {
		if q.running == nil || q.ended {
			continue
		}
		id := latest(data, row, q.position)
		if id < 0 {
			return fmt.Errorf("the logits of token %d of the text have no largest one that is a finite number: a model that works does not give such", len(q.tokens)+1)
		}
		q.tokens = append(q.tokens, id)
		more, err := q.Each(id)
		if err != nil {
			return err
		}
		if more && len(q.tokens)-len(q.Prompt) < q.most {
			continue
		}
		r.rows[row] = nil
		if len(r.waiting) == 0 { // the row stays free, and is still computed: as a text that begins
			r.texts[row] = nil
			if err := r.model.chooser.move(row, 0); err != nil {
				return err
			}
		}
		if err := q.end(); err != nil {
			return err
		}
	}
	return nil
}

func (q *running) end() error {
	q.ended = true
	if q.Done == nil {
		return nil
	}
	return q.Done()
}

// discard takes what was computed in vain.
func (r *runner) discard() {
	for range r.steps {
		_, _ = r.model.chooser.mail.Take()
	}
}
