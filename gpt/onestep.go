package gpt

import (
	"tilec/lang"
	"tilec/typecheck/size"
	"tilec/typecheck/typed"
)

// This file makes one graph of a step of decoding and the choice of its tokens. That is one program, so that a GPU gets all of a token by one
// launch of a CUDA graph, in which the choice begins before the network has ended.

// What a choice gets from the network and moves on, by the names of its parameters.
const (
	paramLogits = "logits"
	paramTokens = "tokens"
	paramStart  = "start"
)

// oneStep is the model's graph and behind it a choice, a graph of std/sample, among so many tokens, the first ones. Its parameters are those of the
// model, of which the choice changes the tokens and where they begin, and behind them those that the choice alone has. The choice's
// constants are given by name.
func (m *Model) oneStep(choice *typed.Graph, vocabulary int64, consts map[string]lang.Literal) *typed.Graph {
	g := m.graph
	step := &typed.Graph{Name: g.Name + " and " + choice.Name, Decl: g.Decl, TypeParams: g.TypeParams, Consts: g.Consts, Dims: g.Dims}
	take := func(p *typed.GParam) typed.GExpr {
		step.Params = append(step.Params, p)
		return &typed.GParamRef{GTyped: typed.GTyped{Type: p.Type, At: p.At}, Param: p}
	}

	network := &typed.GInvoke{Graph: g, Types: map[*typed.TypeParam]typed.DType{}, Consts: map[*size.Symbol]typed.GExpr{}}
	for i, p := range g.Params {
		if i == m.tokens || i == m.start {
			changed := *p
			changed.Mode = lang.InOut
			p = &changed
		}
		network.Args = append(network.Args, take(p))
	}
	for _, t := range g.TypeParams {
		network.Types[t] = typed.DType{Param: t}
	}
	for _, c := range g.Consts {
		network.Consts[c] = &typed.GConstRef{Symbol: c}
	}
	results := make([]*typed.GLocal, len(g.Outputs)) // all but the first are discarded
	results[0] = &typed.GLocal{Name: paramLogits, Type: g.Outputs[0].Type}

	some := []typed.GSliceItem{{}, {Hi: &typed.GConst{Value: lang.Literal{DType: lang.I32, Int: vocabulary}}}}
	given := map[string]typed.GExpr{
		paramLogits: &typed.GSlice{X: &typed.GLocalRef{Local: results[0]}, Items: some},
		paramTokens: network.Args[m.tokens],
		paramStart:  network.Args[m.start],
	}
	chosen := &typed.GInvoke{Graph: choice, Consts: map[*size.Symbol]typed.GExpr{}}
	for _, p := range choice.Params {
		x, ok := given[p.Name]
		if !ok {
			x = take(p)
		}
		chosen.Args = append(chosen.Args, x)
	}
	for _, c := range choice.Consts {
		if v, ok := consts[c.Name]; ok {
			chosen.Consts[c] = &typed.GConst{Value: v}
		}
	}
	step.Body = []typed.GStmt{&typed.GLet{Locals: results, Value: network}, &typed.GDo{X: chosen}}
	return step
}
