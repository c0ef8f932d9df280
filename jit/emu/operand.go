package emu

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// operand reads one operand.
func (p *parser) operand() operand {
	o := p.primary()
	if p.accept("|") {
		return operand{kind: opPair, elems: []operand{o, p.primary()}}
	}
	return o
}

func (p *parser) primary() operand {
	switch {
	case p.accept("!"):
		return operand{kind: opName, name: p.name(), not: true}
	case p.accept("{"):
		o := operand{kind: opVector}
		for !p.accept("}") {
			o.elems = append(o.elems, p.primary())
			if !p.is("}") {
				p.expect(",")
			}
		}
		return o
	case p.accept("["):
		o := operand{kind: opAddress}
		base := p.primary()
		switch base.kind {
		case opName:
			o.name, o.offset = base.name, base.offset
		case opInt:
			o.bits = base.bits
		default:
			p.fail("an address starts with a register, a variable or a number")
		}
		for p.accept(",") { // the coordinates of a tensor
			o.elems = append(o.elems, p.primary())
		}
		p.expect("]")
		return o
	case p.accept("-"):
		o := p.number()
		if o.kind == opFloat {
			o.bits ^= 1 << (o.width - 1)
		} else {
			o.bits = -o.bits
		}
		return o
	case p.tok.kind == tokenNumber:
		return p.number()
	case p.is("_"):
		p.advance()
		return operand{kind: opSink}
	}
	o := operand{kind: opName, name: p.name()}
	for p.is("+") || p.is("-") {
		minus := p.is("-")
		p.advance()
		if p.accept("-") {
			minus = !minus
		}
		n := p.number()
		if n.kind != opInt {
			p.fail("an offset is an integer")
		}
		if minus {
			n.bits = -n.bits
		}
		o.offset += int64(n.bits)
	}
	return o
}

// number reads an integer or float constant without a sign.
func (p *parser) number() operand {
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

func parseNumber(text string) (operand, error) {
	hexFloat := func(width int) (operand, error) {
		bits, err := strconv.ParseUint(text[2:], 16, width)
		if len(text) != 2+width/4 {
			err = strconv.ErrSyntax
		}
		return operand{kind: opFloat, bits: bits, width: width}, err
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
		return operand{kind: opFloat, bits: math.Float64bits(v), width: 64}, err
	}
	v, err := strconv.ParseUint(strings.TrimSuffix(text, "U"), 0, 64)
	return operand{kind: opInt, bits: v}, err
}

// constant gives the bits of a constant as a value of a type.
func (o operand) constant(t dtype) (uint64, error) {
	switch o.kind {
	case opInt:
		if t.isFloat() {
			return 0, fmt.Errorf("an integer constant where .%s is needed", t.name)
		}
		return o.bits & t.mask(), nil
	case opFloat:
		if o.width == t.bits {
			return o.bits, nil
		}
		if t.bits != 32 && t.bits != 64 || t.isInt() {
			return 0, fmt.Errorf("a float constant where .%s is needed", t.name)
		}
		if t.bits == 64 {
			return math.Float64bits(float64(math.Float32frombits(uint32(o.bits)))), nil
		}
		return uint64(math.Float32bits(float32(math.Float64frombits(o.bits)))), nil
	}
	return 0, fmt.Errorf("need a constant")
}
