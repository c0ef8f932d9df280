package graph

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"tilec/jit/tensor"
	"tilec/lang"
)

// String is the text of Listing.
func (b *Bound) String() string { return b.Listing().String() }

// Listing is the text form, with the places of the calls: a line a launch, what it stores before the names of its kernels, and what it reads behind
// them. Kernels that are one launch are written in the order in which they compute: a > b is b of what a computes, a | b are side by side.
func (b *Bound) Listing() (all lang.Listing) {
	add := func(at lang.Span, format string, args ...any) {
		all = append(all, lang.ListedLine{Text: fmt.Sprintf(format, args...), At: at})
	}
	add(lang.Span{}, "graph %s, %s", b.Name, count(len(b.Calls)))
	if o := b.Once; o != nil {
		for i := range o.Calls {
			add(o.Calls[i].At, "  once %s", o.line(&o.Calls[i]))
		}
		for n, into := range o.Into {
			v := o.Outputs[n]
			v.Slot = Slot{Made: true, Index: into}
			add(lang.Span{}, "  once %s is %s", b.view(&v), o.view(&o.Outputs[n]))
		}
	}
	for i := range b.Calls {
		add(b.Calls[i].At, "  %s", b.line(&b.Calls[i]))
	}
	for i := range b.Outputs {
		add(lang.Span{}, "  result %s", b.view(&b.Outputs[i]))
	}
	return all
}

func (b *Bound) line(c *Call) string {
	var stored, read []string
	scalar := 0
	for i, o := range c.Spec.Operands() {
		name := o.Name
		if len(c.Spec.Fused) > 0 {
			name = o.Of.Kernel.Name + "." + name
		}
		switch {
		case !o.IsTensor:
			read = append(read, name+" "+c.Scalars[scalar].String())
			scalar++
		case o.Mode == lang.Out:
			text := b.view(&c.Tensors[i])
			if slices.Contains(c.Fills, i) {
				text += " filled"
			}
			if d := o.Layout.Rounded; d.IsValid() {
				text += " rounded to " + d.String()
			}
			stored = append(stored, text)
		case o.Mode == lang.InOut:
			read = append(read, "inout "+name+" "+b.view(&c.Tensors[i]))
		default:
			read = append(read, name+" "+b.view(&c.Tensors[i]))
		}
	}
	text := fmt.Sprintf("%s(%s)", c.Spec.Name(), strings.Join(read, ", "))
	if len(stored) > 0 {
		text = strings.Join(stored, ", ") + " = " + text
	}
	return text
}

// view is a tensor with the memory that it is of, its type and shape, and where it begins and what its strides are if it is not all of that in order.
func (b *Bound) view(v *View) string {
	name := ""
	switch {
	case v.Slot.Temp:
		name = "%" + strconv.Itoa(v.Slot.Index)
	case v.Slot.Made:
		name = "made" + strconv.Itoa(v.Slot.Index)
	default:
		name = b.Inputs[v.Slot.Index].Name
	}
	text := fmt.Sprintf("%s:%s%s", name, v.DType, tensor.FormatShape(v.Shape))
	if v.Offset != 0 {
		text += fmt.Sprintf(" from %d", v.Offset)
	}
	if !v.Contiguous() {
		text += " strides " + tensor.FormatShape(v.Strides)
	}
	return text
}

// String is the scalar's number, or what it is computed of.
func (s *Scalar) String() string {
	switch {
	case s.input > 0:
		return fmt.Sprintf("scalar%d", s.input-1)
	case s.op != lang.OpInvalid:
		args := make([]string, len(s.args))
		for i, a := range s.args {
			args[i] = a.String()
		}
		return fmt.Sprintf("%s(%s)", s.op, strings.Join(args, ", "))
	case s.DType.IsFloat():
		return strconv.FormatFloat(s.literal.Float, 'g', -1, 64)
	}
	return strconv.FormatInt(s.literal.Int, 10)
}

// count is a number of launches in words.
func count(n int) string {
	if n == 1 {
		return "1 launch"
	}
	return fmt.Sprintf("%d launches", n)
}
