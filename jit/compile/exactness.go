package compile

import (
	"fmt"

	"tilec/jit/build"
	"tilec/jit/ir"
	"tilec/jit/spec"
	"tilec/lang"
)

// exactnessOf says of each function and quotient of f32 that a GPU has a cheaper form of, whether it has that form, and why, a line each.
func exactnessOf(f *ir.Func, s *spec.Spec) []string {
	precision := s.Kernel.Precision
	if precision == "" {
		precision = s.Precision
	}
	rule := build.ExactnessOf(f, s.Operands())
	var lines []string
	f.Walk(func(op *ir.Op) bool {
		row := op.Code.Row()
		if row.Coarse == 0 || op.Result().Type.DType != lang.F32 {
			return true
		}
		name := row.Name
		if v := op.Result(); v.Name != "" {
			name += " " + v.Name
		}
		exact := fmt.Sprintf("%s: as exact as f32", name)
		switch use := rule.Limit(op.Result()); {
		case f.Approx:
			lines = append(lines, name+": as the hardware has it, by @approx")
		case op.Coarse && use != nil:
			lines = append(lines, fmt.Sprintf("%s: within 2^-%d, as its value is %s", name, row.Coarse, used(use)))
		case op.Coarse:
			lines = append(lines, fmt.Sprintf("%s: within 2^-%d", name, row.Coarse))
		case precision == "ieee":
			lines = append(lines, exact+", by precision ieee")
		case rule.Fits(op):
			lines = append(lines, exact+", as it is where its kernel is launched alone")
		case use != nil && use.Code == lang.OpCast:
			lines = append(lines, fmt.Sprintf("%s, as %s, to which its value is rounded, has digits for 2^-%d", exact, use.Result().Type.DType, row.Coarse))
		case use != nil:
			lines = append(lines, exact+", as its value is "+used(use))
		}
		return true
	})
	return lines
}

// used says what an operation does with a value that decides how exact it has to be.
func used(op *ir.Op) string {
	row := op.Code.Row()
	switch {
	case op.Code == lang.OpCast:
		return "rounded to " + op.Result().Type.DType.String()
	case op.Code == lang.OpStore:
		return "stored in " + op.Tensor.Name
	case op.Code == lang.OpMul || op.Code == lang.OpDiv:
		return "a factor of what a loop carries"
	case row.Group == lang.GroupReduce || op.Code == lang.OpAdd || op.Code == lang.OpSub:
		return fmt.Sprintf("an operand of %s, where numbers may cancel", row.Name)
	}
	return "an operand of " + row.Name
}
