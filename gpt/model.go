package gpt

import (
	"context"
	"errors"
	"fmt"
	"maps"

	"tilec/jit"
	"tilec/lang"
	"tilec/typecheck/typed"
)

// Model is a checkpoint on a device, ready to run: the `@generate` graph of a
// program with its weights and its state. Continue serves many sequences side by side.
type Model struct {
	Checkpoint *Checkpoint

	compiler *jit.Compiler
	graph    *typed.Graph // gives the logits after the last token
	scores   *typed.Graph // gives the logits after every token; nil when the program has no @logits
	opts     jit.Options
	args     []jit.Value
	tokens   int // which of args holds the token ids
	start    int // which of args is where the tokens begin
	context  int
	prompt   prompt
	chooser  *chooser
	filler   *filler
	// scalars are those of the graph's parameters that @config names.
	scalars map[string]lang.Literal
	// state is what the graph keeps between runs.
	state state
	// bound are the programs bound to lengths so far; their intermediate results share one arena.
	bound bound
	// copier copies what the state keeps of one text for another that begins like it.
	copier copier
}

// New puts a checkpoint on the compiler's device for a program's `@generate`
// graph, with the weights converted to dtype (f32, bf16 or f16). Precision is
// that of f32 contractions on tensor cores: "" (tf32), "tf32x3" or "ieee".
func New(program *typed.Program, ckpt *Checkpoint, c *jit.Compiler, dtype lang.DType, precision string) (*Model, error) {
	return NewWith(program, ckpt, c, Options{DType: dtype, Precision: precision})
}

// Options say what a model computes in.
type Options struct {
	// DType is f32, bf16 or f16.
	DType lang.DType
	// Weights is the type of the weights of a program that gives them one of their own: also i8, f8e4m3 and f8e5m2, with scales.
	// Invalid is what the checkpoint has where that is one of 8 bits, and DType otherwise.
	Weights lang.DType
	// Precision is as for New.
	Precision string
}

// NewWith is New with weights in a type of their own.
func NewWith(program *typed.Program, ckpt *Checkpoint, c *jit.Compiler, o Options) (*Model, error) {
	m := &Model{Checkpoint: ckpt, compiler: c, tokens: -1, start: -1, context: ckpt.Config.NPositions}
	if err := m.find(program); err != nil {
		return nil, err
	}
	if err := m.fill(o); err != nil {
		m.Close()
		return nil, err
	}
	return m, nil
}

// fill makes the graph's arguments. All shapes are compared before any memory is taken.
func (m *Model) fill(o Options) error {
	g := m.graph
	from, err := configure(g, m.Checkpoint.Config)
	if err != nil {
		return err
	}
	if m.context < 1 {
		return fmt.Errorf("%s has no n_positions, no max_position_embeddings and no n_ctx: how long may a text be?", m.Checkpoint.Config.File())
	}
	m.scalars = from.scalars
	m.filler = &filler{ckpt: m.Checkpoint, device: m.compiler.Device, dims: from.dims, tied: map[string]string{}, stacks: map[string]stack{}}
	f := m.filler
	if name := batchDim(g); name != "" {
		f.dims[name] = 1
	}
	m.opts = jit.Options{Dims: map[string]int64{}, Consts: from.consts, Types: map[string]lang.DType{}, Precision: o.Precision, Arena: jit.NewArena(m.compiler.Device)}
	for _, d := range g.Dims {
		if n, ok := f.dims[d.Name]; ok && d.Name != batchDim(g) { // that of the tokens says it
			m.opts.Dims[d.Name] = n
		}
	}
	if err := f.settleTypes(g, o.DType, o.Weights, nil); err != nil {
		return fmt.Errorf("graph %s: %w", g.Name, err)
	}
	if err := f.checkAll(g); err != nil {
		return err
	}
	m.state = newState(f, g)
	if err := m.checkRoom(); err != nil {
		return err
	}
	if err := f.load(); err != nil {
		return err
	}
	for i, p := range g.Params {
		v, err := m.argument(f, i, p)
		if err != nil {
			return fmt.Errorf("graph %s: %w", g.Name, err)
		}
		m.args = append(m.args, v)
	}
	if m.tokens < 0 || m.start < 0 {
		return fmt.Errorf("graph %s: a @generate graph needs the parameters `tokens: i32[B, S]` and `start: i32[B]`", g.Name)
	}
	if err := m.prompt.alloc(f, m.context, min(longest, jit.SameRows)); err != nil {
		return err
	}
	return m.reserve(1, 1)
}

// find takes the graphs marked @generate and @logits, one of each at most.
func (m *Model) find(program *typed.Program) error {
	for _, g := range program.Graphs {
		for _, mark := range []struct {
			name string
			set  bool
			to   **typed.Graph
		}{{"@generate", g.Generate, &m.graph}, {"@logits", g.Logits, &m.scores}} {
			if !mark.set {
				continue
			}
			if *mark.to != nil {
				return fmt.Errorf("two graphs are marked %s, %s and %s: a model has one", mark.name, (*mark.to).Name, g.Name)
			}
			*mark.to = g
		}
	}
	if m.graph == nil {
		return errors.New("no graph is marked @generate: there is no language model to run")
	}
	return nil
}

// argument fills one parameter: the token ids, the start position, the state
// (inout), a number of config.json, or weights.
func (m *Model) argument(f *filler, i int, p *typed.GParam) (v jit.Value, err error) {
	t := p.Type
	scalar, inConfig := m.scalars[p.Name]
	switch {
	case t.Kind == typed.GTensor && t.DType == typed.Concrete(lang.I32) && p.Mode == lang.In && len(t.Shape) == 1:
		m.start = i
	case t.Kind == typed.GTensor && t.DType == typed.Concrete(lang.I32) && p.Mode == lang.In:
		m.tokens = i
	case p.Mode == lang.InOut: // reserve makes it
	case t.Kind == typed.GScalar && inConfig:
		scalar.DType = f.resolve(t.DType)
		return jit.Value{Scalar: &scalar}, nil
	case t.Kind == typed.GScalar && p.Default != nil:
		return jit.Value{Scalar: p.Default}, nil
	case t.Kind == typed.GStruct:
		return f.weights(p.Name, t)
	default:
		err = fmt.Errorf("do not know what to pass for parameter %s: name it in @config or give it a default", p.Name)
	}
	return v, err
}

// SetDeterministic gives each text logits that have the same bits run after run on one machine, alone and in any batch of up to 64
// texts, whatever these are. It costs speed: what few rows would do faster by other code is left, and prompts run in pieces of 64 tokens. A graph's
// constant DETERMINISTIC is 1 then.
func (m *Model) SetDeterministic(on bool) {
	if on != m.opts.Deterministic {
		m.bound.close()
		m.chooser.close()
		m.chooser, m.opts.Deterministic, m.opts.Consts = nil, on, maps.Clone(m.opts.Consts)
		delete(m.opts.Consts, "DETERMINISTIC")
		if on {
			m.opts.Consts["DETERMINISTIC"] = lang.Literal{DType: lang.I32, Int: 1}
		}
	}
}

// longest is how many tokens of a prompt run at once at most.
func (m *Model) longest() int {
	if m.opts.Deterministic {
		return jit.SameRows
	}
	return longest
}

// Context is the longest sequence that the model takes, in tokens.
func (m *Model) Context() int { return m.context }

// run evaluates a graph on new tokens that begin at a position; the state holds the tokens before.
func (m *Model) run(ctx context.Context, g *typed.Graph, tokens []int32, start int) ([]float32, error) {
	if len(tokens) == 0 || start < 0 || start+len(tokens) > m.context {
		return nil, fmt.Errorf("%d tokens from position %d on: the context has %d", len(tokens), start, m.context)
	}
	if m.state.room != 0 && start+len(tokens) > m.state.room {
		return nil, fmt.Errorf("%d tokens from position %d on: the text before them had room for %d, begin at position 0", len(tokens), start, m.state.room)
	}
	cut := []int{len(tokens)}
	if g == m.graph { // gives the logits after the last token alone
		cut = pieces(len(tokens), m.longest(), false)
	}
	inputs, err := m.prompt.place(m.compiler.Device, tokens, start, 0, cut)
	if err != nil {
		return nil, err
	}
	var out jit.Value
	for _, in := range inputs {
		if out, err = m.launch(ctx, g, in); err != nil {
			return nil, err
		}
	}
	logits := make([]float32, jit.Elements(out.Tensor.Shape))
	return logits, jit.ReadTensor(m.compiler.Device, out.Tensor, jit.Bytes(logits))
}

// launch runs a graph, whose logits are f32. They lie in the model's arena.
func (m *Model) launch(ctx context.Context, g *typed.Graph, in input) (jit.Value, error) {
	return m.launchIn(ctx, g, in, lang.F32)
}

// launchIn is launch with logits of a type, which the graph must allow.
func (m *Model) launchIn(ctx context.Context, g *typed.Graph, in input, logits lang.DType) (jit.Value, error) {
	p, err := m.bindIn(g, in, logits)
	if err != nil {
		return jit.Value{}, err
	}
	out, err := p.RunContext(ctx, m.args)
	if err != nil {
		return jit.Value{}, err
	}
	return out[0], nil
}

// place makes an input the arguments of the next run.
func (m *Model) place(in input) {
	m.args[m.tokens], m.args[m.start] = jit.TensorValue(in.tokens), jit.TensorValue(in.start)
	for i, whole := range m.state.whole {
		m.args[m.state.params[i]] = m.state.of(whole, in.rows)
	}
}

// bindIn makes an input the arguments, and gives the program of a graph that takes them and whose logits have a type.
func (m *Model) bindIn(g *typed.Graph, in input, logits lang.DType) (*jit.Program, error) {
	m.place(in)
	key := binding{graph: g, logits: logits, rows: in.rows.count, align: in.rows.align(), tokens: in.tokens.Shape[1]}
	if p := m.bound.find(key); p != nil {
		return p, nil
	}
	opts := m.opts
	switch t := g.Outputs[0].Type.DType; {
	case t.Param != nil:
		opts.Types = maps.Clone(opts.Types)
		opts.Types[t.Param.Name] = logits
	case t != typed.Concrete(logits):
		return nil, fmt.Errorf("graph %s gives logits of %s, must be %s", g.Name, t, logits)
	}
	p, err := m.compiler.BindGraph(g, m.args, opts)
	if err != nil {
		return nil, err
	}
	m.bound.add(key, p)
	return p, nil
}

// Forward runs new tokens that begin at position start, after those that the
// model has seen, and gives the logits of the token that follows: one for each
// token of the vocabulary. From position 0 on there is room for the whole context.
func (m *Model) Forward(tokens []int32, start int) ([]float32, error) {
	if start == 0 {
		if err := m.reserve(m.context, 1); err != nil {
			return nil, err
		}
	}
	return m.run(context.Background(), m.graph, tokens, start)
}

// Scores gives the logits after every one of the tokens of a text: token
// position × vocabulary, row-major.
func (m *Model) Scores(tokens []int32) ([]float32, error) {
	if err := m.reserve(len(tokens), 1); err != nil {
		return nil, err
	}
	return m.windowLogits(context.Background(), tokens)
}

// Close gives the model's memory back: weights, state and intermediate results.
func (m *Model) Close() {
	m.chooser.close()
	m.bound.close()
	m.copier.close()
	if m.opts.Arena != nil {
		m.opts.Arena.Close()
	}
	if f := m.filler; f != nil {
		f.free(&m.state.memory)
		f.free(&f.memory)
	}
}
