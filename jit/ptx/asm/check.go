package asm

import "fmt"

// Check looks for what no code of a compiler may have, in the order of the text: a register that is read before anything
// writes it, an operand of a wrong type, a condition that is no predicate, an instruction that the table of effects has
// not, a label that is placed twice or not at all. Sections are as Module takes them.
func (a *Builder) Check(sections ...Code) error {
	code := append(Code{}, a.entry...)
	for _, s := range append(sections, a.Body()) {
		code = append(code, s...)
	}
	written := map[Reg]bool{}
	placed, wanted := map[Label]bool{}, map[Label]*Instr{}
	for _, l := range code {
		if l, ok := l.(Label); ok {
			if placed[l] {
				return fmt.Errorf("label %s is placed twice", l)
			}
			placed[l] = true
		}
		i, ok := l.(*Instr)
		if !ok {
			continue
		}
		if i.Effects()&Unknown != 0 {
			return fmt.Errorf("the table of effects has no %q", i)
		}
		if err := i.checkTypes(); err != nil {
			return err
		}
		reads := i.Src
		if i.Pred.Valid() {
			if i.Pred.Class != Pred {
				return fmt.Errorf("the condition of %q is no predicate", i)
			}
			reads = append([]Operand{i.Pred}, reads...)
		}
		for _, x := range reads {
			if l, ok := x.(Label); ok {
				wanted[l] = i
			}
			for _, r := range registers(x) {
				if !written[r] {
					return fmt.Errorf("%q reads %s, which nothing before it writes", i, r)
				}
			}
		}
		for _, r := range registers(i.Dst) {
			written[r] = true
		}
	}
	for l, i := range wanted {
		if !placed[l] {
			return fmt.Errorf("%q goes to a label that is not placed", i)
		}
	}
	return nil
}

// registers are those that an operand has.
func registers(x Operand) []Reg {
	switch x := x.(type) {
	case Reg:
		return []Reg{x}
	case Vector:
		return x
	case Addr:
		return registers(x.base)
	case Box:
		return append([]Reg{x.Map}, x.At...)
	}
	return nil
}
