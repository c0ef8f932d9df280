package spec

import (
	"fmt"
	"math/bits"

	"tilec/lang"
	"tilec/typecheck/typed"
)

// This file decides what a launch knows before it runs: static_assert, of
// constants and dimensions, and assume, of scalar parameters too.

// CheckConditions reports the first static_assert or assume that a launch does
// not meet. Assumes of scalars are left to each run.
func CheckConditions(s *Spec) error {
	e := &evaluator{spec: s}
	if err := e.staticAsserts(s.Kernel); err != nil {
		return err
	}
	for _, a := range s.Kernel.Assumes {
		if err := e.assume(a); err != nil {
			return err
		}
	}
	return nil
}

// CheckScalars reports the first assume that the scalars of a run do not meet.
func CheckScalars(s *Spec, scalars map[*typed.Param]lang.Literal) error {
	e := &evaluator{spec: s, scalars: scalars}
	for _, a := range s.Kernel.Assumes {
		if err := e.assume(a); err != nil {
			return err
		}
	}
	return nil
}

// number is an exact value of a condition's part: an integer, a float or a bool (0 or 1).
type number struct {
	int     int64
	float   float64
	isFloat bool
}

// evaluator computes conditions from what a specialisation binds.
type evaluator struct {
	spec    *Spec
	scalars map[*typed.Param]lang.Literal
}

// staticAsserts reports the first static_assert that does not hold, wherever it
// stands; branches that constants rule out are not entered.
func (e *evaluator) staticAsserts(root typed.Node) error {
	var failed error
	var visit func(typed.Node) bool
	visit = func(n typed.Node) bool {
		if failed != nil {
			return false
		}
		switch n := n.(type) {
		case *typed.StaticAssert:
			holds, known := e.truth(n.Cond)
			switch {
			case !known:
				failed = Errorf(n.At, lang.ErrStaticAssert, "static_assert: %s cannot be computed for these sizes", n.At.Text())
			case !holds:
				failed = Errorf(n.At, lang.ErrStaticAssert, "%s, for %s", n.Failure(), e.given(n.Cond))
			}
		case *typed.If:
			holds, known := e.truth(n.Cond)
			if !known {
				return true
			}
			typed.Walk(n.Cond, visit)
			if branch := n.Branch(holds); branch != nil {
				typed.Walk(branch, visit)
			}
			return false
		}
		return true
	}
	typed.Walk(root, visit)
	return failed
}

func (e *evaluator) assume(a *typed.Assume) error {
	holds, known := e.truth(a.Cond)
	switch {
	case holds && known:
		return nil
	case !known && e.scalars == nil:
		return nil // of a scalar: each run checks it
	case !known:
		return Errorf(a.At, lang.ErrAssume, "%s assumes %s, which cannot be computed for %s", e.spec.Kernel.Name, a.At.Text(), e.given(a.Cond))
	}
	return Errorf(a.At, lang.ErrAssume, "%s assumes %s, which does not hold for %s", e.spec.Kernel.Name, a.At.Text(), e.given(a.Cond))
}

// given lists what a condition depends on, with its values.
func (e *evaluator) given(x typed.Expr) string {
	text := ""
	seen := map[string]bool{}
	add := func(name string, value any) {
		if seen[name] {
			return
		}
		seen[name] = true
		if text != "" {
			text += ", "
		}
		text += fmt.Sprintf("%s = %v", name, value)
	}
	typed.Walk(x, func(n typed.Node) bool {
		switch x := n.(type) {
		case *typed.SizeExpr:
			for _, s := range x.Size.Symbols() {
				if n, ok := e.spec.Value(s); ok {
					add(s.Name, n)
				}
			}
		case *typed.ConstRef:
			c := e.spec.Consts[x.Symbol]
			if c.DType.IsFloat() {
				add(x.Symbol.Name, c.Float)
			} else if c.DType == lang.Bool {
				add(x.Symbol.Name, c.Int != 0)
			} else {
				add(x.Symbol.Name, c.Int)
			}
		case *typed.ScalarRef:
			if v, ok := e.scalars[x.Param]; ok && v.DType.IsFloat() {
				add(x.Param.Name, v.Float)
			} else if ok {
				add(x.Param.Name, v.Int)
			}
		}
		return true
	})
	if text == "" {
		return "any argument"
	}
	return text
}

// truth decides a condition; known is false where something in it is not.
func (e *evaluator) truth(x typed.Expr) (holds, known bool) {
	if a, ok := x.(*typed.Apply); ok && (a.Op == lang.OpLogicAnd || a.Op == lang.OpLogicOr) {
		p, okP := e.truth(a.Args[0])
		q, okQ := e.truth(a.Args[1])
		if a.Op == lang.OpLogicAnd {
			return p && q, okP && okQ || okP && !p || okQ && !q
		}
		return p || q, okP && okQ || okP && p || okQ && q
	}
	n, ok := e.value(x)
	return n.int != 0, ok
}

// value computes exactly: integers do not wrap here, so that a condition means what it says.
func (e *evaluator) value(x typed.Expr) (number, bool) {
	literal := func(l lang.Literal) number {
		n := number{int: l.Int, float: l.Float, isFloat: l.DType.IsFloat()}
		if n.isFloat && l.DType != lang.F64 {
			n.float = float64(l.DType.Round(float32(l.Float)))
		}
		return n
	}
	switch x := x.(type) {
	case *typed.Const:
		return literal(lang.Literal{DType: x.Type.DType.Resolve(e.spec.Types), Int: x.Int, Float: x.Float}), true
	case *typed.SizeExpr:
		n, err := x.Size.Eval(e.spec.Value)
		return number{int: n}, err == nil
	case *typed.ConstRef:
		c, ok := e.spec.Consts[x.Symbol]
		return literal(c), ok
	case *typed.ScalarRef:
		v, ok := e.scalars[x.Param]
		return literal(v), ok
	case *typed.If:
		holds, known := e.truth(x.Cond)
		branch := x.Branch(holds)
		if !known || branch == nil || len(branch.Stmts) > 0 || len(branch.Results) != 1 {
			return number{}, false
		}
		return e.value(branch.Results[0])
	case *typed.Apply:
		if op := x.Op; op == lang.OpLogicAnd || op == lang.OpLogicOr {
			holds, known := e.truth(x)
			return number{int: truthInt(holds)}, known
		}
		if !x.Op.Row().Elementwise {
			return number{}, false
		}
		args := make([]number, len(x.Args))
		for i, a := range x.Args {
			var ok bool
			if args[i], ok = e.value(a); !ok {
				return number{}, false
			}
		}
		return apply(x, args)
	}
	return number{}, false
}

// apply computes an operation of a condition; false for one that it does not know, or that overflows.
func apply(x *typed.Apply, args []number) (number, bool) {
	truth := func(b bool) (number, bool) { return number{int: truthInt(b)}, true }
	p := args[0]
	if x.Op == lang.OpLogicNot {
		return truth(p.int == 0)
	}
	if x.Op == lang.OpCast {
		return p, !p.isFloat
	}
	if len(args) != 2 {
		if x.Op == lang.OpNeg && !p.isFloat {
			return number{int: -p.int}, p.int != -p.int || p.int == 0
		}
		if x.Op == lang.OpNeg {
			return number{float: -p.float, isFloat: true}, true
		}
		return number{}, false
	}
	q := args[1]
	if p.isFloat {
		holds, ok := lang.Compare(x.Op, p.float, q.float)
		return number{int: truthInt(holds)}, ok
	}
	if holds, ok := lang.Compare(x.Op, p.int, q.int); ok {
		return truth(holds)
	}
	switch x.Op {
	case lang.OpAdd:
		s := p.int + q.int
		return number{int: s}, (s > p.int) == (q.int > 0)
	case lang.OpSub:
		s := p.int - q.int
		return number{int: s}, (s < p.int) == (q.int > 0)
	case lang.OpMul:
		hi, lo := bits.Mul64(uint64(abs(p.int)), uint64(abs(q.int)))
		return number{int: p.int * q.int}, hi == 0 && int64(lo) >= 0
	case lang.OpMod:
		if q.int == 0 {
			return p, true
		}
		return number{int: p.int % q.int}, true
	case lang.OpDiv:
		if q.int == 0 {
			return number{}, true
		}
		return number{int: p.int / q.int}, true
	case lang.OpFloorDiv:
		if q.int == 0 {
			return number{}, true
		}
		d := p.int / q.int
		if p.int%q.int != 0 && (p.int < 0) != (q.int < 0) {
			d--
		}
		return number{int: d}, true
	case lang.OpMin:
		return number{int: min(p.int, q.int)}, true
	case lang.OpMax:
		return number{int: max(p.int, q.int)}, true
	}
	return number{}, false
}

func truthInt(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

func abs(n int64) int64 {
	if n < 0 {
		return -n
	}
	return n
}

// Integer is an integer that the specialisation decides; 0 where it does not.
func (s *Spec) Integer(x typed.Expr) int64 {
	n, _ := (&evaluator{spec: s}).value(x)
	return n.int
}
