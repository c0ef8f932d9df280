package emu

import (
	"fmt"
	"strconv"
	"strings"

	"tilec/jit/emu/number"
	"tilec/jit/emu/syntax"
)

// wgmmaOps multiply matrices by warpgroups, asynchronously.
var wgmmaOps = map[string]operation{
	"wgmma": {classMatrix, wgmmaInstruction},
}

func wgmmaInstruction(d *decoder) {
	op := d.must("mma_async", "fence", "commit_group", "wait_group")
	if !d.has("sync") || !d.has("aligned") {
		d.fail("need .sync.aligned")
	}
	switch op {
	case "mma_async":
		d.in.site.matrix = true
		wgmma(d)
	case "fence":
		d.aligned(func(w *warp) {
			w.uniform()
			w.matrix.fence()
		})
	case "commit_group":
		d.aligned(func(w *warp) {
			w.uniform()
			w.matrix.commit()
		})
	case "wait_group":
		n := int(d.constInt())
		d.aligned(func(w *warp) {
			w.uniform()
			w.waitMatrices(n)
		})
	}
}

const wgmmaRows = 16 // of a warp; 64 of the warpgroup

// A wgmmaShape is the product of a 16xK part of A by a KxN matrix.
type wgmmaShape struct {
	n, k       int
	at, bt, dt number.Type
}

// wgmmaTypes are the factors that go with each type of result.
var wgmmaTypes = map[string][]string{
	"f32": {"f16", "bf16", "tf32", "e4m3", "e5m2"},
	"f16": {"f16", "e4m3", "e5m2"},
	"s32": {"s8", "u8"},
}

func (d *decoder) wgmmaShape() wgmmaShape {
	var s wgmmaShape
	if len(d.mods) == 0 || !strings.HasPrefix(d.mods[0], "m64n") {
		d.fail("need a shape .m64nNkK")
	}
	name := d.mods[0]
	d.mods = d.mods[1:]
	n, k, ok := strings.Cut(strings.TrimPrefix(name, "m64n"), "k")
	var err1, err2 error
	s.n, err1 = strconv.Atoi(n)
	s.k, err2 = strconv.Atoi(k)
	if !ok || err1 != nil || err2 != nil || s.n < 8 || s.n > 256 || s.n%8 != 0 {
		d.fail("there is no shape .%s", name)
	}
	return s
}

// wgmma is wgmma.mma_async. Each warp computes its own 16 rows when it executes
// the instruction; until the wait nothing may see the difference.
func wgmma(d *decoder) {
	s := d.wgmmaShape()
	saturate := d.has("satfinite")
	s.dt, s.at, s.bt = d.typ(), d.typ(), d.typ()
	if err := s.check(saturate); err != nil {
		d.fail("%v", err)
	}
	word := number.Types["b32"]
	perD := 32 / s.dt.Bits
	acc := d.dests(s.n/2/perD, word, false)
	var a []row
	var descA row
	fromRegisters := d.more() && d.ops[0].Kind == syntax.OpVector
	if fromRegisters {
		a = d.sources(4, word)
	} else {
		descA = d.src(number.Types["b64"])
	}
	descB := d.src(number.Types["b64"])
	scale := d.pred()
	signA, signB := 1.0, 1.0
	var majorA, majorB bool
	if s.dt.IsFloat() {
		signA, signB = d.sign(), d.sign()
		if s.at.Bits == 16 {
			if !fromRegisters {
				majorA = d.flag()
			}
			majorB = d.flag()
		}
	}
	valueA, valueB, valueD := reader(s.at), reader(s.bt), reader(s.dt)
	finish := mmaResult(s.dt, saturate)
	regsA := pieces(a, 32/s.at.Bits, s.k, aLayout(32/s.at.Bits))
	d.aligned(func(w *warp) {
		o := &matrixOperation{shape: s, a: a}
		for _, r := range acc {
			o.acc = append(o.acc, r.row)
		}
		b := w.descriptor(descB)
		operands := []uint64{b, 0, 0}
		x := make([]float64, wgmmaRows*s.k)
		if fromRegisters {
			mask := s.at.Mask()
			for i := range regsA {
				p := &regsA[i]
				for e := range p.at {
					for lane, v := range w.regs[p.reg] {
						x[p.at[e][lane]] = signA * valueA(v>>(e*s.at.Bits)&mask)
					}
				}
			}
		} else {
			da := w.descriptor(descA)
			operands[1] = da
			m := matrixInShared{descriptor: da, major: majorA, bits: s.at.Bits, sign: signA, value: valueA}
			w.readMatrix(o, m, w.index%groupWarps*wgmmaRows, wgmmaRows, s.k, x)
		}
		y := make([]float64, s.n*s.k)
		m := matrixInShared{descriptor: b, major: majorB, bits: s.bt.Bits, sign: signB, value: valueB}
		w.readMatrix(o, m, 0, s.n, s.k, y)

		scaled := scale.get(w) & w.active
		if scaled != 0 && scaled != w.active {
			w.report(Divergence, scaled, "scale-d is true in some lanes and false in others")
		}
		if scaled != 0 {
			operands[2] = 1
			for _, r := range o.acc {
				if bad := w.active &^ w.init[r]; bad != 0 {
					w.report(Uninitialised, bad, "adds to register %s, which was never written", w.block.launch.kernel.registerName(r))
				}
			}
		}
		w.uniform(operands...)
		w.beginMatrix(o)
		for i := range s.n / 2 {
			dst := acc[i/perD]
			shift := i % perD * s.dt.Bits
			out := w.out(dst)
			for lane := range warpSize {
				r, c := lane/4+i>>1&1*8, i>>2*8+lane%4*2+i&1
				sum := 0.0
				if scaled != 0 {
					sum = valueD(out[lane] >> shift & s.dt.Mask())
				}
				for k, f := range x[r*s.k : r*s.k+s.k] {
					sum += float64(f * y[c*s.k+k])
				}
				out[lane] = out[lane]&^(s.dt.Mask()<<shift)&0xffffffff | finish(sum)<<shift
			}
		}
	})
}

func (s wgmmaShape) check(saturate bool) error {
	ok := false
	for _, t := range wgmmaTypes[s.dt.Name] {
		ok = ok || t == s.at.Name
	}
	if !ok || s.at.Bits != s.bt.Bits || s.at.Bits != 8 && s.at.Name != s.bt.Name || s.at.IsFloat() != s.bt.IsFloat() {
		return fmt.Errorf("a product of .%s and .%s cannot be .%s", s.at.Name, s.bt.Name, s.dt.Name)
	}
	if need := 256 / s.at.Bits; s.k != need {
		return fmt.Errorf("k is %d, need %d for .%s", s.k, need, s.at.Name)
	}
	if s.dt.IsInt() && s.n > 32 && s.n%16 != 0 {
		return fmt.Errorf("n is %d, need a multiple of 16 above 32 for integers", s.n)
	}
	if saturate && !s.dt.IsInt() {
		return fmt.Errorf(".satfinite is for integers")
	}
	return nil
}

// sign takes an immediate 1 or -1.
func (d *decoder) sign() float64 {
	v := d.constInt()
	if v != 1 && v != -1 {
		d.fail("a scale of %d: need 1 or -1", v)
	}
	return float64(v)
}

// flag takes an immediate 0 or 1.
func (d *decoder) flag() bool {
	v := d.constInt()
	if v != 0 && v != 1 {
		d.fail("a transpose of %d: need 0 or 1", v)
	}
	return v == 1
}

// descriptor reads a matrix descriptor, which all lanes must agree on.
func (w *warp) descriptor(r row) uint64 {
	v := w.regs[r][first(w.active)]
	for m := w.active; m != 0; m &= m - 1 {
		if o := w.regs[r][first(m)]; o != v {
			w.report(Divergence, m, "lanes have different matrix descriptors, %#x and %#x", v, o)
			break
		}
	}
	const reserved = 0xc000 | 0xc000_0000 | 0x1_c000_0000_0000 | 0x3ff0_0000_0000_0000
	if v&reserved != 0 {
		w.report(UndefinedValue, w.active, "the matrix descriptor %#x has bits set that mean nothing (%#x)", v, v&reserved)
	}
	return v
}

// A matrixInShared is a factor in shared memory: rows along m or n, by k.
type matrixInShared struct {
	descriptor uint64
	major      bool // transposed: lies along m or n, not along k
	bits       int
	sign       float64
	value      func(uint64) float64
}

const chunkBytes = 16 // what lies together in every layout

// chunk gives the shared address of the 16 bytes that hold element (mn, k).
func (m matrixInShared) chunk(mn, k int) int {
	d := m.descriptor
	start, leading, stride := int(d&0x3fff)<<4, int(d>>16&0x3fff)<<4, int(d>>32&0x3fff)<<4
	t := chunkBytes * 8 / m.bits // elements a chunk
	span := [4]int{0, 128, 64, 32}[d>>62]
	at := start
	switch {
	case !m.major && span == 0:
		at += mn%8*chunkBytes + mn/8*stride + k/t*leading
	case !m.major:
		at += mn%8*span + mn/8*stride + k/t*chunkBytes
	case span == 0:
		at += mn/t*stride + k%8*chunkBytes + k/8*leading
	default:
		panel := span / chunkBytes
		at += mn/t%panel*chunkBytes + mn/t/panel*leading + k%8*span + k/8*stride
	}
	if span == 0 {
		return at
	}
	line := at>>7 - int(d>>49&7)
	return at ^ line<<4&(span-1)
}

// readMatrix reads rows of a factor, in rows of k.
func (w *warp) readMatrix(o *matrixOperation, m matrixInShared, from, rows, depth int, into []float64) {
	s := &w.block.shared
	t := chunkBytes * 8 / m.bits
	size := m.bits / 8
	stepMN, stepK := 1, t
	if m.major {
		stepMN, stepK = t, 1
	}
	lane := first(w.active)
	for mn := 0; mn < rows; mn += stepMN {
		for k := 0; k < depth; k += stepK {
			at := m.chunk(from+mn, k)
			if at+chunkBytes > len(s.data) {
				w.report(OutOfBounds, w.active, "a matrix reaches shared address %#x, where there are %d bytes", at, len(s.data))
				return
			}
			w.asyncRead(s, lane, at, chunkBytes)
			o.source = append(o.source, span{s, at, chunkBytes})
			for e := range t {
				v := m.sign * m.value(word(s.data[at+e*size:at+e*size+size]))
				if m.major {
					if mn+e < rows {
						into[(mn+e)*depth+k] = v
					}
				} else {
					into[mn*depth+k+e] = v
				}
			}
		}
	}
}
