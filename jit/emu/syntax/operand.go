package syntax

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"tilec/jit/emu/number"
)

// operand reads one operand.
func (p *parser) operand() Operand {
	o := p.primary()
	if p.accept("|") {
		return Operand{Kind: OpPair, Elements: []Operand{o, p.primary()}}
	}
	return o
}

func (p *parser) primary() Operand {
	switch {
	case p.accept("!"):
		return Operand{Kind: OpName, Name: p.name(), Negated: true}
	case p.accept("{"):
		o := Operand{Kind: OpVector}
		for !p.accept("}") {
			o.Elements = append(o.Elements, p.primary())
			if !p.is("}") {
				p.expect(",")
			}
		}
		return o
	case p.accept("["):
		o := Operand{Kind: OpAddress}
		base := p.primary()
		switch base.Kind {
		case OpName:
			o.Name, o.Offset = base.Name, base.Offset
		case OpInt:
			o.Bits = base.Bits
		default:
			p.fail("an address starts with a register, a variable or a number")
		}
		for p.accept(",") { // the coordinates of a tensor
			o.Elements = append(o.Elements, p.primary())
		}
		p.expect("]")
		return o
	case p.accept("-"):
		o := p.number()
		if o.Kind == OpFloat {
			o.Bits ^= 1 << (o.Width - 1)
		} else {
			o.Bits = -o.Bits
		}
		return o
	case p.tok.kind == tokenNumber:
		return p.number()
	case p.is("_"):
		p.advance()
		return Operand{Kind: OpSink}
	}
	o := Operand{Kind: OpName, Name: p.name()}
	for p.is("+") || p.is("-") {
		minus := p.is("-")
		p.advance()
		if p.accept("-") {
			minus = !minus
		}
		n := p.number()
		if n.Kind != OpInt {
			p.fail("an offset is an integer")
		}
		if minus {
			n.Bits = -n.Bits
		}
		o.Offset += int64(n.Bits)
	}
	return o
}

// number reads an integer or float constant without a sign.
func (p *parser) number() Operand {
	if p.tok.kind != tokenNumber {
		p.fail("need a number, have %v", p.tok)
	}
	text := p.tok.text
	o, err := parseNumber(text)
	if err != nil {
		p.fail("%q is not a number", text)
	}
	p.advance()
	return o
}

func parseNumber(text string) (Operand, error) {
	hexFloat := func(width int) (Operand, error) {
		bits, err := strconv.ParseUint(text[2:], 16, width)
		if len(text) != 2+width/4 {
			err = strconv.ErrSyntax
		}
		return Operand{Kind: OpFloat, Bits: bits, Width: width}, err
	}
	if len(text) > 1 && text[0] == '0' {
		switch text[1] {
		case 'f', 'F':
			return hexFloat(32)
		case 'd', 'D':
			return hexFloat(64)
		}
	}
	isHex := strings.HasPrefix(text, "0x") || strings.HasPrefix(text, "0X")
	if !isHex && strings.ContainsAny(text, ".eE") {
		v, err := strconv.ParseFloat(text, 64)
		return Operand{Kind: OpFloat, Bits: math.Float64bits(v), Width: 64}, err
	}
	v, err := strconv.ParseUint(strings.TrimSuffix(text, "U"), 0, 64)
	return Operand{Kind: OpInt, Bits: v}, err
}

// Constant gives the bits of a constant as a value of a type.
func (o Operand) Constant(t number.Type) (uint64, error) {
	switch o.Kind {
	case OpInt:
		if t.IsFloat() {
			return 0, fmt.Errorf("an integer constant where .%s is needed", t.Name)
		}
		return o.Bits & t.Mask(), nil
	case OpFloat:
		if o.Width == t.Bits {
			return o.Bits, nil
		}
		if t.Bits != 32 && t.Bits != 64 || t.IsInt() {
			return 0, fmt.Errorf("a float constant where .%s is needed", t.Name)
		}
		if t.Bits == 64 {
			return math.Float64bits(float64(math.Float32frombits(uint32(o.Bits)))), nil
		}
		return uint64(math.Float32bits(float32(math.Float64frombits(o.Bits)))), nil
	}
	return 0, fmt.Errorf("need a constant")
}
