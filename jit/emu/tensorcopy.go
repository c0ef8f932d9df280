package emu

import (
	"slices"

	"tilec/jit/emu/number"
	"tilec/jit/emu/syntax"
)

// A tensorOperand is [map, {coordinates}].
type tensorOperand struct {
	at     address
	coords []row
}

// dimensions takes .1d to .5d.
func (d *decoder) dimensions() int { return int(d.must("1d", "2d", "3d", "4d", "5d")[0] - '0') }

func (d *decoder) tensorOperand(dims int) tensorOperand {
	o := d.operand()
	if o.Kind != syntax.OpAddress || len(o.Elements) != 1 {
		d.fail("need a tensor map and its coordinates: [map, {0, 0}]")
	}
	coords := o.Elements[0].Elements
	if o.Elements[0].Kind != syntax.OpVector {
		coords = o.Elements
	}
	if len(coords) != dims {
		d.fail("%d coordinates, need %d", len(coords), dims)
	}
	t := tensorOperand{at: d.addressAt(syntax.Operand{Kind: syntax.OpAddress, Name: o.Name, Bits: o.Bits, Offset: o.Offset}, syntax.SpaceGeneric)}
	for _, c := range coords {
		t.coords = append(t.coords, d.source(c, number.Types["s32"], false))
	}
	return t
}

// boxAlign is the alignment of a box's first element in global memory.
const boxAlign = 16

// find gives the tensor map that a lane names, and the coordinates; nil, with a finding, without one.
func (t tensorOperand) find(w *warp, lane int, stores bool) (*TensorMap, []int64) {
	s, at := resolve(t.at.space, t.at.in(w, lane))
	var m *TensorMap
	if s == syntax.SpaceParam {
		m = w.block.launch.maps[at]
	}
	if m == nil {
		w.report(OutOfBounds, 1<<lane, "there is no tensor map at %s address %#x", s, at)
		return nil, nil
	}
	if len(m.Dims) != len(t.coords) {
		w.report(UndefinedValue, 1<<lane, "%d coordinates for a tensor map of %d dimensions", len(t.coords), len(m.Dims))
		return nil, nil
	}
	coords := make([]int64, len(t.coords))
	for i, c := range t.coords {
		coords[i] = int64(int32(w.regs[c][lane]))
		// Seen on an H200, where it is an illegal instruction: a box may hang over
		// any edge when it is loaded, but not over the lower ones when it is stored.
		if stores && coords[i] < 0 {
			w.report(OutOfBounds, 1<<lane, "stores a box that begins at coordinate %d of dimension %d: need 0 or more", coords[i], i)
			return nil, nil
		}
	}
	// Strides and the tensor's address are multiples of 16.
	if at := coords[0] * int64(m.elem().Bytes()); at%boxAlign != 0 {
		w.report(Misaligned, 1<<lane, "a box that begins at coordinate %d of dimension 0, %d bytes from the beginning, which is no multiple of %d", coords[0], at, boxAlign)
		return nil, nil
	}
	return m, coords
}

// tensorAlign is the alignment of a box in shared memory.
const tensorAlign = 128

// tensorCopy is cp.async.bulk.tensor and its reduction, in tile mode.
func tensorCopy(d *decoder, reduce bool) {
	dims := d.dimensions()
	to := d.must("shared::cluster", "shared::cta", "global")
	from := d.must("global", "shared::cta")
	if to == "global" == (from == "global") || reduce && to != "global" {
		d.fail("cannot copy a tensor from .%s to .%s", from, to)
	}
	op := ""
	if reduce {
		op = d.must("add", "min", "max", "inc", "dec", "and", "or", "xor")
	}
	d.has("tile")
	multicast := d.has("multicast::cluster")
	hint := d.has("L2::cache_hint")
	if to != "global" {
		d.must("mbarrier::complete_tx::bytes")
		dst, m := d.address(spaces[to]), d.tensorOperand(dims)
		sig := d.signal(spaces[to], multicast)
		if hint {
			d.src(number.Types["b64"])
		}
		d.in.run = func(w *warp) {
			for l := w.active; l != 0; l &= l - 1 {
				lane := first(l)
				if t, coords := m.find(w, lane, false); t != nil {
					w.loadBox(lane, t, coords, w.landings(dst, t.bytes(), tensorAlign, lane, sig))
				}
			}
		}
		return
	}
	d.must("bulk_group")
	m, src := d.tensorOperand(dims), d.address(syntax.SpaceShared)
	if hint {
		d.src(number.Types["b64"])
	}
	d.in.run = func(w *warp) {
		for l := w.active; l != 0; l &= l - 1 {
			lane := first(l)
			t, coords := m.find(w, lane, true)
			if t == nil {
				continue
			}
			if t.Type == TensorTFloat32 {
				w.report(UndefinedValue, 1<<lane, "stores by a tensor map of type %d, which rounds what is loaded: what it does to what is stored is not known", t.Type)
				continue
			}
			var combine reduction
			if op != "" {
				e := t.elem()
				name := e.Name
				if op == "and" || op == "or" || op == "xor" {
					name = map[int]string{4: "b32", 8: "b64"}[e.Bytes()]
				}
				if !slices.Contains(reductionTypes["global"][op], name) {
					w.report(UndefinedValue, 1<<lane, "reduces by .%s a tensor of .%s", op, e.Name)
					continue
				}
				combine = reduction{e.Bytes(), atomicFunction(op, number.Types[name])}
			}
			if p, ok := w.bulkPlace(syntax.SpaceShared, src.in(w, lane), t.bytes(), tensorAlign, lane); ok {
				w.storeBox(lane, t, coords, p, combine)
			}
		}
	}
}

// boxPlaces finds the rows of a box in global memory.
func (w *warp) boxPlaces(lane int, t *TensorMap, rows []boxRow) ([]boxRow, []place) {
	places := make([]place, len(rows))
	for i := range rows {
		r := &rows[i]
		if r.n == 0 {
			continue
		}
		var ok bool
		if places[i], ok = w.locate(syntax.SpaceGlobal, r.address, r.n, 1, lane); !ok {
			r.n = 0
		}
	}
	return rows, places
}

func (w *warp) loadBox(lane int, t *TensorMap, coords []int64, to []landing) {
	rows, places := w.boxPlaces(lane, t, t.boxRows(coords))
	for i, r := range rows {
		if r.n > 0 {
			w.read(places[i], lane)
		}
	}
	w.bulkTraffic(t.bytes()*len(to), places)
	var box []byte
	read := func() {
		box = t.background()
		for i, r := range rows {
			row := box[i*t.rowBytes()+r.skip:][:r.n]
			copy(row, places[i].data)
			t.convert(row)
		}
	}
	w.deliver(lane, to, nil, read, func(at int, _ []byte) []byte { return t.permute(box, at) })
}

func (w *warp) storeBox(lane int, t *TensorMap, coords []int64, from place, combine reduction) {
	rows := t.boxRows(coords)
	for i := range rows {
		// Seen on an H200: stores end with a chunk of 16 bytes, not with the tensor's row.
		r := &rows[i]
		r.n = min((r.n+boxAlign-1)/boxAlign*boxAlign, t.rowBytes()-r.skip)
	}
	rows, places := w.boxPlaces(lane, t, rows)
	w.bulkTraffic(t.bytes(), places)
	w.give(lane, from, func(data []byte) {
		box := t.permute(data, from.at)
		for i, r := range rows {
			if r.n > 0 {
				w.toGlobal(lane, places[i], box[i*t.rowBytes()+r.skip:][:r.n], combine)
			}
		}
	})
}
