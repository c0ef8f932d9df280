package gpt

import (
	"context"
	"errors"
	"fmt"

	"tilec/jit"
	"tilec/lang"
)

// This file has what a benchmark times of a model: a step of decoding and a prompt, which run again and again on the same arguments.

// BindStep gives a function that runs a step of decoding on the device, without the choice of tokens: of so many sequences a token each, which is the
// last of so many. It does not wait for the device. What the sequences hold is anything, and the function is valid until the model
// does something else.
func (m *Model) BindStep(sequences, tokens int) (run func() error, err error) {
	if sequences < 1 || tokens < 1 || tokens > m.context {
		return nil, fmt.Errorf("a step of %d sequences of %d tokens: required 1 sequence or more, and 1 to %d tokens, the model's context", sequences, tokens, m.context)
	}
	m.ReleaseState()
	if err := m.prepare(tokens, sequences); err != nil {
		return nil, err
	}
	for row := range sequences {
		if err := m.chooser.move(row, tokens-1); err != nil {
			return nil, err
		}
	}
	in := m.chooser.input(sequences)
	return func() error {
		_, err := m.launch(context.Background(), m.graph, in)
		return err
	}, nil
}

// BindPrompt is BindStep for prompts of so many tokens, with the logits after every one of them, in a type that the `@logits` graph allows.
func (m *Model) BindPrompt(sequences, tokens int, logits lang.DType) (run func() error, err error) {
	if sequences < 1 || tokens < 1 || tokens > m.context {
		return nil, fmt.Errorf("a prompt of %d x %d tokens: required 1 sequence or more, and 1 to %d tokens, the model's context", sequences, tokens, m.context)
	}
	if m.scores == nil {
		return nil, errors.New("no graph is marked @logits: nothing gives the logits after every token of a prompt")
	}
	m.ReleaseState()
	if err := m.reserve(tokens, sequences); err != nil {
		return nil, err
	}
	// The memory is the state's, which goes with the next one.
	zeros := func(n int) (*jit.Memory, error) {
		memory, err := m.compiler.Device.Alloc(int64(4 * n))
		if err != nil {
			return nil, err
		}
		m.state.memory = append(m.state.memory, memory)
		return memory, m.filler.clear(memory)
	}
	ids, err := zeros(sequences * tokens)
	if err != nil {
		return nil, err
	}
	starts, err := zeros(sequences)
	if err != nil {
		return nil, err
	}
	in := input{rows{0, sequences}, ints(ids, 0, int64(sequences), int64(tokens)), ints(starts, 0, int64(sequences))}
	return func() error {
		_, err := m.launchIn(context.Background(), m.scores, in, logits)
		return err
	}, nil
}

// ReleaseState gives back what the model keeps of texts, so that those that follow have the room that they need and no more, as the first texts have: where
// there is room for longer ones, attention is planned for these. What BindStep and BindPrompt gave is valid no more.
func (m *Model) ReleaseState() {
	m.bound.close()
	m.copier.close()
	m.filler.free(&m.state.memory)
}
