package emu_test

import (
	"encoding/binary"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A product is one wgmma with its operands laid out as the ISA's table of canonical layouts says.
type product struct {
	n              int
	dt, at, bt     string
	swizzle        int // bytes; 0 for none
	majorA, majorB bool
	registers      bool // A in registers
	negA, negB     bool
	scale          bool // D is added to
	step           int  // of k, within a wider swizzle atom
	base           int  // lines of 128 bytes by which the swizzle pattern starts late
}

func (p product) name() string {
	s := fmt.Sprintf("wgmma_n%d_%s_%s_%s_sw%d", p.n, p.dt, p.at, p.bt, p.swizzle)
	for _, flag := range []struct {
		on   bool
		name string
	}{{p.majorA, "ma"}, {p.majorB, "nb"}, {p.registers, "ra"}, {p.negA, "na"}, {p.negB, "gb"}, {p.scale, "acc"}, {p.step > 0, fmt.Sprint("step", p.step)}, {p.base > 0, fmt.Sprint("base", p.base)}} {
		if flag.on {
			s += "_" + flag.name
		}
	}
	return s
}

var elementBits = map[string]int{"f16": 16, "bf16": 16, "tf32": 32, "e4m3": 8, "e5m2": 8, "s8": 8, "u8": 8}

// element writes a small integer as an element of a factor.
func element(t string, v int) []byte {
	abs, sign := v, byte(0)
	if v < 0 {
		abs, sign = -v, 0x80
	}
	switch t {
	case "tf32":
		return encode("f32", float64(v))
	case "s8", "u8":
		return []byte{byte(v)}
	case "e4m3":
		return []byte{sign | []byte{0, 0x38, 0x40, 0x44, 0x48}[abs]}
	case "e5m2":
		return []byte{sign | []byte{0, 0x3c, 0x40, 0x42, 0x44}[abs]}
	}
	return encode(t, float64(v))
}

// canonical is the table of canonical layouts: the place of element (i, j) in
// elements, for a matrix of i along m or n and j along k, before swizzling.
// T elements make 128 bits.
func canonical(mnMajor bool, swizzle, T, i, j, lbo, sbo int) int {
	s := swizzle / 16
	switch {
	case mnMajor && s == 0: // ((T,1,m),(8,k)):((1,T,SBO),(1T,LBO))
		return i%T + i/T*sbo + j%8*T + j/8*lbo
	case mnMajor: // ((T,s,m),(8,k)):((1,T,LBO),(sT,SBO))
		return i%T + i/T%s*T + i/(T*s)*lbo + j%8*s*T + j/8*sbo
	case s == 0: // ((8,m),(T,2k)):((1T,SBO),(1,LBO))
		return i%8*T + i/8*sbo + j%T + j/T*lbo
	}
	return i%8*s*T + i/8*sbo + j%T + j/T*T // ((8,m),(T,2k)):((sT,SBO),(1,T))
}

// swizzleBits is Swizzle<b, 4, 3> of a byte address.
func swizzleBits(b, address int) int { return address ^ (address>>7&(1<<b-1))<<4 }

// A panel is a factor in shared memory.
type panel struct {
	image      []byte
	descriptor uint64 // without the address
}

func layOut(elem string, mnMajor bool, swizzle, rows, depth, step, base int, at func(i, j int) int) panel {
	size := elementBits[elem] / 8
	T := 16 / size
	s := swizzle / 16
	var lbo, sbo int // in elements
	switch {
	case mnMajor && s == 0:
		sbo, lbo = 16*T, 8*T
	case mnMajor:
		sbo = 8 * s * T
		lbo = depth / 8 * sbo
	case s == 0:
		lbo, sbo = 8*T, 16*T
	default:
		sbo = 8 * s * T
	}
	bits := map[int]int{0: 0, 32: 1, 64: 2, 128: 3}[swizzle]
	mode := map[int]uint64{0: 0, 128: 1, 64: 2, 32: 3}[swizzle]
	image := make([]byte, 64<<10)
	top := 0
	for i := range rows {
		for j := range depth {
			address := swizzleBits(bits, canonical(mnMajor, swizzle, T, i, j, lbo, sbo)*size+step*32) + base*128
			copy(image[address:], element(elem, at(i, j)))
			top = max(top, address+size)
		}
	}
	image = image[:(top+1023)/1024*1024]
	return panel{image, uint64(base)<<49 | uint64(base*8+step*2) | uint64(lbo*size>>4)<<16 | uint64(sbo*size>>4)<<32 | mode<<62}
}

// small makes small integers that differ from row to row and along k.
func small(seed int) func(i, j int) int {
	return func(i, j int) int { return (i*5+j*3+i*j+seed)%7 - 3 }
}

func unsigned(f func(i, j int) int) func(i, j int) int {
	return func(i, j int) int { return f(i, j) + 3 }
}

// program makes the kernel, its inputs and its result.
func (p product) program() *program {
	bits := elementBits[p.at]
	depth := 256 / bits
	a, b := small(1), small(4)
	if p.at == "u8" {
		a = unsigned(a)
	}
	if p.bt == "u8" {
		b = unsigned(b)
	}
	left := layOut(p.at, p.majorA, p.swizzle, 64, depth, p.step, p.base, a)
	right := layOut(p.bt, p.majorB, p.swizzle, p.n, depth, p.step, p.base, b)
	perD := 1
	if p.dt == "f16" {
		perD = 2
	}
	regs := p.n / 2 / perD
	c := small(9)

	// Fragments, from the ISA's figures: thread t of warp w has rows 16w+t/4 and 8 more.
	image := append(append([]byte{}, left.image...), right.image...)
	fragments := make([]byte, 128*4*4)
	per := 32 / bits
	start, want := make([]byte, 128*regs*4), make([]byte, 128*regs*4)
	for t := range 128 {
		row, quad := t/32*16+t%32/4, t%4
		for r := range 4 {
			for e := range per {
				i, j := row+r%2*8, quad*per+e+r/2*4*per
				copy(fragments[(t*4+r)*4+e*bits/8:], element(p.at, a(i, j)))
			}
		}
		for d := range p.n / 2 {
			i, j := row+d/2%2*8, d/4*8+quad*2+d%2
			sum := 0
			for k := range depth {
				x, y := a(i, k), b(j, k)
				if p.negA {
					x = -x
				}
				if p.negB {
					y = -y
				}
				sum += x * y
			}
			if p.scale {
				sum += c(i, j)
			}
			at := (t*regs + d/perD) * 4
			put := func(to []byte, v int) {
				switch p.dt {
				case "f16":
					copy(to[at+d%2*2:], encode("f16", float64(v)))
				case "f32":
					binary.LittleEndian.PutUint32(to[at:], math.Float32bits(float32(v)))
				default:
					binary.LittleEndian.PutUint32(to[at:], uint32(int32(v)))
				}
			}
			put(start, c(i, j))
			put(want, sum)
		}
	}
	word := func(v uint64) []byte { return binary.LittleEndian.AppendUint64(nil, v) }
	return &program{
		name: p.name(), text: p.text(len(image), len(left.image), regs, depth),
		grid: [3]int{1, 1, 1}, block: [3]int{128, 1, 1}, shared: len(image) + 16,
		args: []*argument{
			{name: "image", kind: "in", elem: "u8", data: image},
			{name: "fragments", kind: "in", elem: "u32", data: fragments},
			{name: "start", kind: "in", elem: "u32", data: start},
			{name: "y", kind: "out", elem: "u32", data: make([]byte, len(want))},
			{name: "da", kind: "scalar", elem: "u64", data: word(left.descriptor)},
			{name: "db", kind: "scalar", elem: "u64", data: word(right.descriptor + uint64(len(left.image)>>4))},
		},
		want: map[string][]byte{"y": want},
	}
}

func (p product) text(size, offset, regs, depth int) string {
	names := make([]string, regs)
	for i := range names {
		names[i] = fmt.Sprintf("%%d%d", i)
	}
	sign := map[bool]string{true: "-1", false: "1"}
	flag := map[bool]string{true: "1", false: "0"}
	first, tail := "%da", ""
	if p.registers {
		first = "{%a0, %a1, %a2, %a3}"
	}
	if p.dt != "s32" {
		tail = ", " + sign[p.negA] + ", " + sign[p.negB]
		if elementBits[p.at] == 16 {
			if !p.registers {
				tail += ", " + flag[p.majorA]
			}
			tail += ", " + flag[p.majorB]
		}
	}
	var b strings.Builder
	w := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	w(".extern .shared .align 1024 .b8 smem[];")
	w(".visible .entry k(.param .u64 image, .param .u64 fragments, .param .u64 start, .param .u64 y, .param .u64 da, .param .u64 db) {")
	w(".reg .b64 %%x, %%f, %%s, %%y, %%da, %%db, %%o, %%c;\n.reg .b32 %%t, %%m, %%bar, %%v;\n.reg .b32 %%a<4>;\n.reg .b32 %%d<%d>;\n.reg .pred %%p, %%q;", regs)
	w("ld.param.u64 %%x, [image];\nld.param.u64 %%f, [fragments];\nld.param.u64 %%s, [start];\nld.param.u64 %%y, [y];\nld.param.u64 %%da, [da];\nld.param.u64 %%db, [db];")
	w("mov.u32 %%t, %%tid.x;\nmov.u32 %%m, smem;\nadd.u32 %%bar, %%m, %d;", size)
	w("cvt.u64.u32 %%c, %%m;\nshr.u64 %%c, %%c, 4;\nadd.u64 %%da, %%da, %%c;\nadd.u64 %%db, %%db, %%c;")
	w("setp.ne.u32 %%p, %%t, 0;\n@%%p bra ready;")
	w("mbarrier.init.shared::cta.b64 [%%bar], 1;")
	w("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%%bar], %d;", size)
	w("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%%m], [%%x], %d, [%%bar];", size)
	w("ready:\nbar.sync 0;\nmul.wide.u32 %%o, %%t, 16;\nadd.u64 %%f, %%f, %%o;")
	w("mul.wide.u32 %%o, %%t, %d;\nadd.u64 %%s, %%s, %%o;\nadd.u64 %%y, %%y, %%o;", regs*4)
	w("ld.global.v4.u32 {%%a0, %%a1, %%a2, %%a3}, [%%f];")
	for i, n := range names {
		w("ld.global.u32 %s, [%%s+%d];", n, 4*i)
	}
	w("wait:\nmbarrier.try_wait.parity.shared::cta.b64 %%q, [%%bar], 0; //- wait\n@!%%q bra wait; //- wait")
	w("setp.eq.u32 %%q, %s, 1;", flag[p.scale])
	w("wgmma.fence.sync.aligned; //- fence")
	w("mov.b32 %%a0, %%a1; //+ factor")
	w("wgmma.mma_async.sync.aligned.m64n%dk%d.%s.%s.%s {%s}, %s, %%db, %%q%s;", p.n, depth, p.dt, p.at, p.bt, strings.Join(names, ", "), first, tail)
	w("wgmma.commit_group.sync.aligned; //- commit")
	w("mov.b32 %%v, %%d0; //+ early")
	w("st.shared.u32 [%%m+%d], %%t; //+ overwrite", offset)
	w("wgmma.wait_group.sync.aligned 0; //- done")
	w("st.shared.u32 [%%m+%d], %%t; //+ unordered", offset)
	for i, n := range names {
		w("st.global.u32 [%%y+%d], %s;", 4*i, n)
	}
	w("ret;\n}")
	return strings.ReplaceAll(b.String(), "%%", "%")
}

// Every form of wgmma: types, swizzles, both majors, operands in registers, negation and accumulation.
func TestWgmma(t *testing.T) {
	var all []product
	for _, swizzle := range []int{0, 32, 64, 128} {
		all = append(all,
			product{n: 24, dt: "f32", at: "bf16", bt: "bf16", swizzle: swizzle, scale: true},
			product{n: 64, dt: "f32", at: "f16", bt: "f16", swizzle: swizzle, majorA: true},
			product{n: 128, dt: "f32", at: "bf16", bt: "bf16", swizzle: swizzle, majorB: true, negA: true},
			product{n: 64, dt: "f16", at: "f16", bt: "f16", swizzle: swizzle, majorA: true, majorB: true, negB: true, scale: true},
			product{n: 16, dt: "f32", at: "tf32", bt: "tf32", swizzle: swizzle},
			product{n: 40, dt: "f32", at: "e4m3", bt: "e5m2", swizzle: swizzle, scale: true},
			product{n: 48, dt: "s32", at: "s8", bt: "u8", swizzle: swizzle, scale: true},
		)
	}
	all = append(all,
		product{n: 256, dt: "f32", at: "bf16", bt: "bf16", swizzle: 128, registers: true, scale: true},
		product{n: 64, dt: "f32", at: "f16", bt: "f16", swizzle: 128, registers: true, majorB: true, negA: true},
		product{n: 8, dt: "f32", at: "tf32", bt: "tf32", swizzle: 64, registers: true, negB: true},
		product{n: 8, dt: "f16", at: "e5m2", bt: "e4m3", swizzle: 32, registers: true},
		product{n: 32, dt: "s32", at: "u8", bt: "s8", swizzle: 0, registers: true},
		product{n: 32, dt: "f32", at: "bf16", bt: "bf16", swizzle: 128, step: 1, scale: true},
		product{n: 32, dt: "f32", at: "bf16", bt: "bf16", swizzle: 128, step: 3},
		product{n: 32, dt: "f32", at: "e4m3", bt: "e4m3", swizzle: 64, step: 1},
		product{n: 32, dt: "f32", at: "bf16", bt: "bf16", swizzle: 128, base: 3},
		product{n: 32, dt: "f32", at: "f16", bt: "f16", swizzle: 64, base: 1, majorB: true},
		product{n: 32, dt: "f32", at: "tf32", bt: "tf32", swizzle: 32, base: 1},
	)
	for _, p := range all {
		t.Run(p.name(), func(t *testing.T) { p.program().check(t) })
	}
}

// Each way to use a wgmma out of order is found.
func TestWgmmaOrder(t *testing.T) {
	p := product{n: 16, dt: "f32", at: "bf16", bt: "bf16", swizzle: 128, registers: true, scale: true}.program()
	p.name = "wgmma_order"
	p.broken = []brokenProgram{
		{"wait", "pending copy"}, {"fence", "missing fence"}, {"factor", "missing fence"}, {"early", "pending matrix product"},
		{"commit", "pending matrix product"}, {"done", "pending matrix product"}, {"overwrite", "pending copy"}, {"unordered", "shared memory race"},
	}
	require.NotEmpty(t, p.text)
	p.check(t)
}
