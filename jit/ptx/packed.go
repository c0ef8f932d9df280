package ptx

import (
	"tilec/jit/ir"
	"tilec/jit/ptx/asm"
	"tilec/jit/ptx/elem"
	"tilec/lang"
)

// This file is about elements that share a byte with others, of which memory has no address: their addresses count half
// bytes. Neighbours that fill bytes are loaded and stored like any others. An element by itself is cut out of its byte, and is put
// into its word by atomic instructions, which leave the others alone that other threads may be storing there.

// inHalves is the address of a packed tensor's element 0 in half bytes. The address space is far from having 2^63 bytes.
func (k *kernel) inHalves(t *ir.Tensor) asm.Reg {
	return k.a.Once("half bytes "+t.Name, func() asm.Reg { return k.a.Op(asm.B64, "shl.b64", k.pointer(t), asm.Int(1)) })
}

// fetchAt loads n neighbours from global memory into their registers, 0 where p does not hold.
func (k *kernel) fetchAt(d lang.DType, n int, mnemonic string, p asm.Reg, from address) []asm.Reg {
	return k.fetchAtOr(d, n, mnemonic, p, from, asm.Reg{})
}

// fetchAtOr is fetchAt with an element in place of 0, of a type that has whole bytes.
func (k *kernel) fetchAtOr(d lang.DType, n int, mnemonic string, p asm.Reg, from address, fill asm.Reg) []asm.Reg {
	switch {
	case !from.halves:
		return k.fetchOr(d, n, mnemonic, p, from.addr(), fill)
	case n > 1:
		return k.fetch(d, n, mnemonic, p, k.inBytes(from).addr())
	}
	at := k.half(from)
	raw := k.a.Reg(asm.B32)
	if p.Valid() {
		k.a.Set(raw, "mov.b32", asm.Int(0))
	}
	k.a.If(p).Set(raw, mnemonic+".u8", asm.At(k.a.Calc(asm.B64, "shr.u64", at, asm.Int(1))))
	up := k.a.Calc(asm.B32, "shl.b32", k.a.Calc(asm.B32, "and.b32", k.lowWord(at), asm.Int(1)), asm.Int(2))
	return elem.Unpack(k.a, d, k.a.Op(asm.B32, "shr.u32", raw, up), 1)
}

// putAt stores neighbours in global memory where p holds.
func (k *kernel) putAt(d lang.DType, xs []asm.Reg, mnemonic string, p asm.Reg, to address) {
	switch {
	case !to.halves:
		k.put(d, xs, mnemonic, p, to.addr())
		return
	case len(xs) > 1:
		k.put(d, xs, mnemonic, p, k.inBytes(to).addr())
		return
	}
	word, up := k.wordOf(to)
	field := k.a.Op(asm.B32, "shl.b32", asm.Int(1<<d.Bits()-1), up)
	bits := k.a.Op(asm.B32, "shl.b32", elem.Pack(k.a, d, xs), up)
	k.a.If(p).Do("red.global.and.b32", asm.At(word), k.a.Op(asm.B32, "not.b32", field))
	k.a.If(p).Do("red.global.or.b32", asm.At(word), bits)
}

// inBytes is the address of neighbours that fill bytes.
func (k *kernel) inBytes(x address) address {
	return address{base: k.a.Calc(asm.B64, "shr.u64", x.base, asm.Int(1)), offset: x.offset / 2}
}

// half is an address in half bytes, in one register.
func (k *kernel) half(x address) asm.Reg { return k.offset(x.base, x.offset) }

// wordOf is the address of the aligned word of 32 bits around a half byte, and where in it that begins.
func (k *kernel) wordOf(x address) (word, up asm.Reg) {
	at := k.half(x)
	word = k.a.Calc(asm.B64, "and.b64", k.a.Calc(asm.B64, "shr.u64", at, asm.Int(1)), asm.Int(-4))
	up = k.a.Calc(asm.B32, "shl.b32", k.a.Calc(asm.B32, "and.b32", k.lowWord(at), asm.Int(7)), asm.Int(2))
	return word, up
}

// lowWord is the low 32 bits of an address.
func (k *kernel) lowWord(at asm.Reg) asm.Reg { return k.a.Calc(asm.B32, "cvt.u32.u64", at) }
