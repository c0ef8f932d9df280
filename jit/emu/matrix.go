package emu

import (
	"tilec/jit/emu/number"
	"tilec/jit/emu/syntax"
)

var matrixOps = map[string]operation{
	"ldmatrix":  {classMatrix, loadMatrix},
	"stmatrix":  {classMatrix, storeMatrix},
	"movmatrix": {classMatrix, moveMatrix},
	"mma":       {classMatrix, multiplyMatrices},
}

// An 8x8 matrix of 16-bit elements in registers: lane l holds, of row l/4, the
// elements 2(l%4) and 2(l%4)+1; of the transposed matrix, what is there of its
// row. In shared memory each row is 16 bytes at an address of its own.
const matrixRowBytes = 16

// matrixAddresses takes the parts that ldmatrix and stmatrix share.
func (d *decoder) matrixShape() (n int, transposed bool, s syntax.Space) {
	if !d.has("sync") || !d.has("aligned") {
		d.fail("need .sync.aligned")
	}
	if !d.has("m8n8") {
		d.fail("only shape .m8n8 is known")
	}
	n = map[string]int{"x1": 1, "x2": 2, "x4": 4}[d.must("x1", "x2", "x4")]
	transposed = d.has("trans")
	s = d.space("shared", "shared::cta")
	d.typeOf("b16")
	return n, transposed, s
}

func loadMatrix(d *decoder) {
	n, transposed, s := d.matrixShape()
	b32 := number.Types["b32"]
	dsts := d.dests(n, b32, false)
	a := d.address(s)
	d.aligned(func(w *warp) {
		w.matrixTraffic(a, n)
		for k, dst := range dsts {
			var rows [8][]byte
			for r := range rows {
				lane := 8*k + r
				p, ok := w.locate(a.space, a.in(w, lane), matrixRowBytes, matrixRowBytes, lane)
				if !ok {
					rows[r] = make([]byte, matrixRowBytes)
					continue
				}
				w.readRow(p, lane, r, transposed, dst)
				rows[r] = p.data
			}
			out := w.out(dst)
			for m := w.active; m != 0; m &= m - 1 {
				lane := first(m)
				i, j := lane/4, lane%4*2
				if transposed {
					out[lane] = word(rows[j][2*i:2*i+2]) | word(rows[j+1][2*i:2*i+2])<<16
				} else {
					out[lane] = word(rows[i][2*j : 2*j+4])
				}
			}
		}
	})
}

func storeMatrix(d *decoder) {
	n, transposed, s := d.matrixShape()
	a := d.address(s)
	srcs := d.sources(n, number.Types["b32"])
	d.aligned(func(w *warp) {
		w.matrixTraffic(a, n)
		for k, src := range srcs {
			var rows [8][matrixRowBytes]byte
			for lane, v := range w.regs[src] {
				i, j := lane/4, lane%4*2
				if transposed {
					setWord(rows[j][2*i:2*i+2], v&0xffff)
					setWord(rows[j+1][2*i:2*i+2], v>>16&0xffff)
				} else {
					setWord(rows[i][2*j:2*j+4], v)
				}
			}
			for r := range rows {
				lane := 8*k + r
				if p, ok := w.locate(a.space, a.in(w, lane), matrixRowBytes, matrixRowBytes, lane); ok {
					w.written(p, lane, rows[r][:])
					copy(p.data, rows[r][:])
					if w.undefined != nil {
						w.storeUndefinedRow(p, r, transposed, w.undefined.rows[src])
					}
				}
			}
		}
	})
}

// holder is the lane that holds an element of an 8x8 matrix.
func holder(row, col int, transposed bool) int {
	if transposed {
		row, col = col, row
	}
	return 4*row + col/2
}

// readRow is read of row r of a matrix that goes into a register of all lanes.
func (w *warp) readRow(p place, lane, r int, transposed bool, dst dest) {
	if !allFilled(p.fill) {
		for i, f := range p.fill {
			if f == 0 {
				w.undefine(dst.row, holder(r, i/2, transposed), origin{w.in.site, p.space, p.at + i})
			}
		}
		p.fill = nil
	}
	w.read(p, lane)
}

// storeUndefinedRow makes row r of a matrix in memory hold the undefined values of some lanes.
func (w *warp) storeUndefinedRow(p place, r int, transposed bool, undefined uint32) {
	for i := range p.fill {
		if undefined>>holder(r, i/2, transposed)&1 == 1 {
			p.fill[i] = 0
		}
	}
}

// matrixTraffic counts the request: the addresses are those of the first 8n lanes, a matrix a pass.
func (w *warp) matrixTraffic(a address, n int) {
	active := w.active
	w.active &= uint32(number.Mask(8 * n))
	w.traffic(a, matrixRowBytes)
	w.active = active
}

// moveMatrix is movmatrix: the transpose of a matrix in registers.
func moveMatrix(d *decoder) {
	if !d.has("sync") || !d.has("aligned") || !d.has("m8n8") || !d.has("trans") {
		d.fail("need .sync.aligned.m8n8.trans")
	}
	d.typeOf("b16")
	dst, a := d.dst(number.Types["b32"]), d.src(number.Types["b32"])
	d.in.spread = func(w *warp) []uint32 {
		var to uint32
		for i := range 8 {
			for j := range 8 {
				to |= w.undefined.rows[a] >> holder(i, j, false) & 1 << holder(j, i, false)
			}
		}
		return []uint32{to}
	}
	d.aligned(func(w *warp) {
		from, out := w.regs[a], w.out(dst)
		at := func(i, j int) uint64 { return from[4*i+j/2] >> (16 * (j % 2)) & 0xffff }
		for m := w.active; m != 0; m &= m - 1 {
			lane := first(m)
			i, j := lane/4, lane%4*2
			out[lane] = at(j, i) | at(j+1, i)<<16
		}
	})
}
