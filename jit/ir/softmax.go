package ir

import (
	"fmt"
	"math"
	"slices"

	"tilec/lang"
)

// This file recognises the loop of an online softmax, as attention goes through the keys. It carries the largest score so far, m, and
// sums of weights that are relative to it. When a step finds a larger one, what has been added up is made smaller by as much:
//
//	m' = max(m, max(s, over j))
//	u  = where(m' == -inf, 0, m')
//	p  = exp2(s * c - u * c)
//	r  = exp2(m * c - u * c)
//	l' = l * r + sum(p, over j)
//	a' = mma(p, v, a * r)
//
// So l and a are sums over all positions, times a factor that m alone decides, and parts of the loop can be run apart: the largest
// is the largest of theirs, and each part's sums are made smaller as if its next step had found that one.

// OnlineSoftmax is a loop of this kind. Every other value that the loop carries is such a sum.
type OnlineSoftmax struct {
	// Largest is the number of m among the carried values.
	Largest int
	// Carried and Next are m and m', Factor is r.
	Carried, Next, Factor *Value

	body *Block
}

// Rescaling emits what the sums of a part of the loop, whose largest score is known, are multiplied by where another one is the largest of all: what
// the loop's next step would, had it found that one. What needs no rescaling keeps its bits, and stays 0 where there was no step,
// whatever is in the exponent.
func (s *OnlineSoftmax) Rescaling(b *Builder, part, all *Value) *Value {
	copies := &Mapping{Values: map[*Value]*Value{s.Carried: part, s.Next: all}}
	var again func(v *Value)
	again = func(v *Value) {
		if v.Def == nil || copies.Values[v] != nil || !slices.Contains(s.body.Ops, v.Def) {
			return
		}
		for _, a := range v.Def.Args {
			again(a)
		}
		b.Block.Ops = append(b.Block.Ops, b.Func.CopyOp(v.Def, copies))
	}
	again(s.Factor)
	return b.Op(lang.OpWhere, b.Op(lang.OpEq, part, all), b.Const(s.Factor.Type.DType, Const{Int: 1, Float: 1}), copies.Values[s.Factor])
}

// softmaxLoop is a loop that is being looked at.
type softmaxLoop struct {
	OnlineSoftmax
	// inside are the values of the body, follows those that depend on what the loop carries.
	inside, follows map[*Value]bool
	// score is s, and exponent that of r.
	score    *Value
	exponent exponent
}

// exponent is how a number x enters exp(x - u), exp((x - u) * c) or exp(x * c - u * c), exp2 likewise. Each is the quotient of what x
// stands for and what u does.
type exponent struct {
	exp   lang.Op
	inner bool // the product is of the difference
	u, c  *Value
}

// FindOnlineSoftmax recognises the loop. It is nil where no carried value is rescaled by what a largest has grown by, and an error, which
// says what is amiss, where one is and parts of the loop can yet not be run apart.
func FindOnlineSoftmax(loop *Op) (*OnlineSoftmax, error) {
	s := &softmaxLoop{OnlineSoftmax: OnlineSoftmax{body: loop.Blocks[0]}, inside: map[*Value]bool{}, follows: map[*Value]bool{}}
	for i, y := range s.body.Yield {
		if y.Def != nil && y.Def.Code == lang.OpMax && y.Type.DType.IsFloat() && s.findFactor(i) {
			s.findFollowing()
			if err := s.check(loop); err != nil {
				return nil, err
			}
			return &s.OnlineSoftmax, nil
		}
	}
	return nil, nil
}

// findFactor finds a carried value that is rescaled by what carried value i, a largest, has grown by.
func (s *softmaxLoop) findFactor(i int) bool {
	m := s.body.Params[i+1]
	for j, y := range s.body.Yield {
		r, _ := rescaled(y, s.body.Params[j+1])
		if r == nil {
			continue
		}
		if e, ok := exponentOf(r, m); ok {
			s.OnlineSoftmax, s.exponent = OnlineSoftmax{i, m, s.body.Yield[i], r, s.body}, e
			return true
		}
	}
	return false
}

// findFollowing finds out what is inside the loop, and what of it depends on what the loop carries.
func (s *softmaxLoop) findFollowing() {
	for i, v := range s.body.Params {
		s.inside[v], s.follows[v] = true, i > 0
	}
	for _, op := range s.body.Ops {
		follows := s.reads(op)
		for _, r := range op.Results {
			s.inside[r], s.follows[r] = true, follows
		}
	}
}

// reads reports an operation of the body that reads, itself or inside of it, what depends on what the loop carries.
func (s *softmaxLoop) reads(op *Op) bool {
	of := func(v *Value) bool { return s.follows[v] }
	found := slices.ContainsFunc(op.Args, of)
	for _, b := range op.Blocks {
		found = found || slices.ContainsFunc(b.Yield, of)
		b.Walk(func(inner *Op) bool {
			found = found || slices.ContainsFunc(inner.Args, of)
			return !found
		})
	}
	return found
}

// check says what keeps parts of the loop from being run apart; nil where nothing does.
func (s *softmaxLoop) check(loop *Op) error {
	m := s.Carried.Name
	fail := func(v *Value, why string, args ...any) error {
		name := v.Name
		if name == "" {
			name = "a value"
		}
		return fmt.Errorf("its loop carries %s that %s", name, fmt.Sprintf(why, args...))
	}
	if m == "" {
		m = "the largest"
	}
	switch {
	case !s.findScore():
		return fail(s.Carried, "is something else than the largest of what the steps give")
	case s.exponent.c != nil && s.inside[s.exponent.c]:
		return fail(s.Carried, "counts with another factor in each step")
	case !s.guarded(s.exponent.u):
		return fmt.Errorf("its loop subtracts the new %s from scores as it is, which gives no number in a part whose scores are all -inf: where(%[1]s == -inf, 0, %[1]s) in its place does", m)
	case !isNumber(loop.Args[2+s.Largest], math.Inf(-1)):
		return fail(s.Carried, "begins with something else than -inf")
	}
	for i, y := range s.body.Yield {
		if i == s.Largest {
			continue
		}
		x := s.body.Params[i+1]
		switch r, added := rescaled(y, x); {
		case r != s.Factor:
			return fail(x, "each step does not rescale as it does others, by what %s has grown by", m)
		case !s.addsWeights(y.Def, added):
			return fail(x, "adds up something else than multiples of exp(s - u) of the scores s and their largest u")
		case !isNumber(loop.Args[2+i], 0):
			return fail(x, "begins with something else than 0")
		}
	}
	for _, op := range s.body.Ops {
		if (!op.Pure() || len(op.Blocks) > 0) && s.reads(op) {
			return fmt.Errorf("its loop does more with what it carries than go on from it: `%s`", op)
		}
	}
	return nil
}

// findScore finds the scores, of which m is the largest; false where they depend on what the loop carries.
func (s *softmaxLoop) findScore() bool {
	args := s.Next.Def.Args
	switch s.Carried {
	case args[0]:
		s.score = args[1]
	case args[1]:
		s.score = args[0]
	default:
		return false
	}
	if op := s.score.Def; op != nil && op.Code == lang.OpReduceMax {
		s.score = op.Args[0]
	}
	return !s.follows[s.score]
}

// rescaled finds, in what becomes of a carried value x, x * r + g: r, and g or the factors of the product that g is. No r where it is
// anything else.
func rescaled(y, x *Value) (r *Value, g []*Value) {
	if y.Def == nil || !y.Type.DType.IsFloat() {
		return nil, nil
	}
	of := func(v *Value) *Value {
		if v.Def == nil || v.Def.Code != lang.OpMul {
			return nil
		}
		switch a := v.Def.Args; x {
		case a[0]:
			return a[1]
		case a[1]:
			return a[0]
		}
		return nil
	}
	switch a := y.Def.Args; y.Def.Code {
	case lang.OpMma:
		return of(a[2]), a[:2]
	case lang.OpAdd:
		if r := of(a[0]); r != nil {
			return r, a[1:2]
		}
		return of(a[1]), a[:1]
	}
	return nil, nil
}

// exponentOf recognises a number of which x is in the exponent.
func exponentOf(v, x *Value) (exponent, bool) {
	op := v.Def
	if op == nil || op.Code != lang.OpExp && op.Code != lang.OpExp2 {
		return exponent{}, false
	}
	e := exponent{exp: op.Code}
	d := op.Args[0].Def
	switch {
	case d == nil:
	case d.Code == lang.OpSub && d.Args[0] == x:
		e.u = d.Args[1]
		return e, true
	case d.Code == lang.OpSub:
		p, q := d.Args[0].Def, d.Args[1].Def
		if p == nil || q == nil || p.Code != lang.OpMul || q.Code != lang.OpMul {
			return e, false
		}
		e.c = otherFactor(p, x)
		if e.c != nil {
			e.u = otherFactor(q, e.c)
		}
		return e, e.u != nil
	case d.Code == lang.OpMul:
		for i, a := range d.Args {
			if a.Def != nil && a.Def.Code == lang.OpSub && a.Def.Args[0] == x {
				e.inner, e.u, e.c = true, a.Def.Args[1], d.Args[1-i]
				return e, true
			}
		}
	}
	return e, false
}

// otherFactor is what a product multiplies x by; nil where x is none of its factors.
func otherFactor(mul *Op, x *Value) *Value {
	switch x {
	case mul.Args[0]:
		return mul.Args[1]
	case mul.Args[1]:
		return mul.Args[0]
	}
	return nil
}

// guarded reports the new largest with 0 in the place of -inf.
func (s *softmaxLoop) guarded(u *Value) bool {
	op := u.Def
	if op == nil || op.Code != lang.OpWhere || !isNumber(op.Args[1], 0) || op.Args[2] != s.Next {
		return false
	}
	eq := op.Args[0].Def
	return eq != nil && eq.Code == lang.OpEq &&
		(eq.Args[0] == s.Next && isNumber(eq.Args[1], math.Inf(-1)) || eq.Args[1] == s.Next && isNumber(eq.Args[0], math.Inf(-1)))
}

// addsWeights reports that what an operation adds to a rescaled value, or the factors of the product that it adds, are multiples of the weights.
func (s *softmaxLoop) addsWeights(op *Op, added []*Value) bool {
	if op.Code == lang.OpMma {
		return s.keepsRows(op) && s.oneLinear(added[0], added[1])
	}
	return s.linear(added[0])
}

// keepsRows reports an operation that does not reduce along an axis along which the largest differs.
func (s *softmaxLoop) keepsRows(op *Op) bool {
	return !slices.ContainsFunc(op.Over, s.Factor.Type.Has)
}

// oneLinear reports factors of which one is a multiple of the weights, and the other does not depend on what the loop carries.
func (s *softmaxLoop) oneLinear(a, b *Value) bool {
	return s.linear(a) && !s.follows[b] || s.linear(b) && !s.follows[a]
}

// linear reports a multiple of the weights: a value that is so many times as large where all of them are.
func (s *softmaxLoop) linear(v *Value) bool {
	op := v.Def
	if op == nil || !s.follows[v] || !v.Type.DType.IsFloat() || !s.keepsRows(op) {
		return false
	}
	if e, ok := exponentOf(v, s.score); ok && e == s.exponent {
		return true
	}
	or0 := func(v *Value) bool { return s.linear(v) || isNumber(v, 0) }
	switch a := op.Args; op.Code {
	case lang.OpCast, lang.OpSum, lang.OpNeg:
		return s.linear(a[0])
	case lang.OpAdd, lang.OpSub:
		return s.linear(a[0]) && s.linear(a[1])
	case lang.OpMul, lang.OpDot:
		return s.oneLinear(a[0], a[1])
	case lang.OpMma:
		return s.oneLinear(a[0], a[1]) && or0(a[2])
	case lang.OpWhere:
		return !s.follows[a[0]] && or0(a[1]) && or0(a[2])
	}
	return false
}

// isNumber reports a constant, or a tile of it.
func isNumber(v *Value, x float64) bool {
	c, known := v.IsConst()
	return known && v.Type.DType.IsFloat() && c.Float == x
}
