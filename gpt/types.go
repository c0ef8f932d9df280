package gpt

import (
	"fmt"

	"tilec/jit"
	"tilec/lang"
	"tilec/typecheck/typed"
)

// This file settles what the type parameters of a graph stand for.

// WeightTypes are the types that weights of a program can have which gives them one of their own.
var WeightTypes = []lang.DType{lang.F32, lang.BF16, lang.F16, lang.F8E4M3, lang.F8E5M2, lang.I8}

// settleTypes gives each type parameter what it stands for: those of weights alone the type of the weights, the others that of what is
// computed. One that is given by name is that.
func (f *filler) settleTypes(g *typed.Graph, computed, weights lang.DType, given map[string]lang.DType) error {
	f.types = map[*typed.TypeParam]lang.DType{}
	own := weightParams(g)
	if weights != lang.Invalid && len(own) == 0 {
		return fmt.Errorf("its weights have no type of their own, for --weights %s: their type is one that other parameters have", weights)
	}
	for _, t := range g.TypeParams {
		d, isGiven := given[t.Name]
		switch {
		case isGiven:
		case !own[t]:
			d = computed
		case weights != lang.Invalid:
			d = weights
		default:
			d = f.stored(g, t, computed)
		}
		if !t.Accepts(d) {
			return fmt.Errorf("%s: %s of the program allows no %s", t.Name, t.Bound, d)
		}
		f.types[t] = d
	}
	return nil
}

// weightParams are the type parameters that weights have and nothing else does, where something else has one: of a graph of which
// weights alone have any, the one is what it computes in.
func weightParams(g *typed.Graph) map[*typed.TypeParam]bool {
	own, others := map[*typed.TypeParam]bool{}, map[*typed.TypeParam]bool{}
	for _, p := range append(append([]*typed.GParam{}, g.Params...), g.Outputs...) {
		in := others
		if isWeights(p) {
			in = own
		}
		p.Type.Walk(func(t typed.GType) {
			if t.DType.Param != nil {
				in[t.DType.Param] = true
			}
		})
	}
	for t := range others {
		delete(own, t)
	}
	if len(others) == 0 {
		return nil
	}
	return own
}

// stored is the type of 8 bits that a checkpoint has where a program has weights of a type parameter; usual where it has none.
func (f *filler) stored(g *typed.Graph, of *typed.TypeParam, usual lang.DType) lang.DType {
	found := usual
	for _, p := range g.Params {
		if !isWeights(p) {
			continue
		}
		_, _ = f.each(p.Name, p.Type, func(p place) (jit.Value, error) {
			if p.t.DType.Param != of || len(p.names) == 0 || found != usual {
				return jit.Value{}, nil
			}
			src, err := f.source(p.names)
			if err == nil && src.DType.Bits() == 8 {
				found = src.DType
			}
			return jit.Value{}, err // check says what is missing: a number of layers that no file has ends here
		})
	}
	return found
}
