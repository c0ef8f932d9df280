package graph

import (
	"fmt"
	"tilec/jit/misuse"
	"tilec/lang"
	"tilec/typecheck/size"
	"tilec/typecheck/typed"
)

// Check reports options that no kernel or graph can have; names that it does not know mean nothing to it.
func (o *Options) Check(function string, consts []*size.Symbol, types []*typed.TypeParam) error {
	fail := func(name, format string, args ...any) error {
		return &misuse.ArgError{Function: function, Name: name, Reason: fmt.Sprintf(format, args...)}
	}
	for name, n := range o.Dims {
		if n < 0 {
			return fail(name, "a dimension is an integer of 0 or more, not %d", n)
		}
	}
	for name, n := range o.Pins {
		if least := lang.LeastPin(name); n < least {
			return fail(name, "a pin is an integer of %d or more, not %d", least, n)
		}
	}
	for _, c := range consts {
		if v, ok := o.Consts[c.Name]; ok && v.DType != c.DType {
			return fail(c.Name, "is %s, must be %s", v.DType, c.DType)
		}
	}
	for _, p := range types {
		if d, ok := o.Types[p.Name]; ok && (!d.IsValid() || !p.Accepts(d)) {
			return fail(p.Name, "is %s, must be of a type that %s: %s allows", d, p.Name, p.Bound)
		}
	}
	if p, ok := lang.Precision(o.Precision); !ok || p != o.Precision {
		return fail("the precision", `is %q, must be "", "ieee" or "tf32x3"`, o.Precision)
	}
	const mostGuard = 1 << 30
	if o.Guard < 0 || o.Guard > mostGuard {
		return fail("the guard", "is %d bytes, must be 0 to %d", o.Guard, mostGuard)
	}
	return nil
}
