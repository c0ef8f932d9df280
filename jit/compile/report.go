package compile

import (
	"tilec/jit/bug"
	"tilec/jit/ir"
	"tilec/jit/plan"
	"tilec/lang"
)

// SizesOf are the sizes of the dimensions of IR that only a launch knows, as far as they are known.
func SizesOf(f *ir.Func, size func(*ir.Dim) (int64, error)) string {
	known := map[string]int64{}
	for _, d := range f.Dims {
		if n, err := size(d); !d.Known() && err == nil {
			known[d.Name] = n
		}
	}
	return bug.Assignments(known)
}

// PinsOf are the pins that say what a plan has beside the extents.
func PinsOf(p *plan.Plan) string {
	pins := map[string]int64{}
	for _, name := range lang.PlanSettings() {
		if n := p.Setting(name); n > 0 {
			pins[name] = n
		}
	}
	return bug.Assignments(pins)
}

// TextOf is the IR's text; "" where it is so broken that it has none.
func TextOf(f *ir.Func) (text string) {
	defer func() {
		if recover() != nil {
			text = ""
		}
	}()
	if f == nil {
		return ""
	}
	return f.String()
}
