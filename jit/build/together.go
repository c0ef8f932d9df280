package build

import (
	"fmt"
	"slices"

	"tilec/jit/ir"
	"tilec/lang"
)

// This file gives blocks positions of all residues along an axis (residues.go). Of a transposed convolution in steps of 2, x[p] is multiplied for the results 2 p and 2 p + 1, by other weights, and x[p + 1] or
// x[p - 1] for one of them. So a loop goes through the taps that read the same place for all residues, with a product for each, and others through the rest of each residue's taps.

// mostTogether is how many residues a block has together at most: each takes a tile of sums in registers.
const mostTogether = 2

// neighbours reports a residue of the positions that lie side by side in what is stored.
func (r *residues) neighbours(m *residue) bool {
	if m.by > mostTogether || m.ofTap != 1 && m.ofTap != -1 || len(r.sum.Over) < 2 {
		return false
	}
	stored := false
	for _, op := range r.Func.Body.Ops {
		if len(op.Blocks) > 0 || op != r.sum && op.Code.Row().Group == lang.GroupReduce {
			return false // what is reduced is not stored, and a row of it is all that threads have room for
		}
		if op.Code != lang.OpStore {
			continue
		}
		l, ok := linearIn(op.Indices()[len(op.Indices())-1])
		if !ok || len(l.of) != 1 || l.of[m.free] != 1 {
			return false
		}
		stored = true
	}
	return stored
}

// taps are some of one residue, every by-th from the first on.
type taps struct{ first, count int64 }

// sumsTogether sums up the terms of each residue, and gives the sums side by side.
func (r *residues) sumsTogether(m *residue) *ir.Value {
	sums := slices.Repeat([]*ir.Value{r.zero()}, int(m.by))
	rest := m.rest
	common, others := m.parted()
	loop := func(of []int64, first []int64, count int64) {
		m.count, m.most = r.Int(count), count
		var start []*ir.Value
		for _, b := range of {
			start = append(start, sums[b])
		}
		for i, sum := range r.loopOfTaps(start, func(i int) { m.chosen(r.Builder, of[i], first[i]) }) {
			sums[of[i]] = sum
		}
	}
	if common[0].count > 0 {
		var of, first []int64
		for b, t := range common {
			of, first = append(of, int64(b)), append(first, t.first)
		}
		loop(of, first, common[0].count)
	}
	for {
		var of, first []int64
		count := int64(0)
		for b, left := range others {
			if len(left) > 0 {
				if len(of) == 0 || left[0].count < count {
					count = left[0].count
				}
				of, first = append(of, int64(b)), append(first, left[0].first)
			}
		}
		if len(of) == 0 {
			break
		}
		loop(of, first, count)
		for _, b := range of {
			if t := &others[b][0]; t.count > count {
				t.first, t.count = t.first+m.by*count, t.count-count
			} else {
				others[b] = others[b][1:]
			}
		}
	}
	all := sums[m.by-1]
	for b := m.by - 2; b >= 0; b-- {
		all = r.Op(lang.OpWhere, r.Op(lang.OpEq, rest, r.Int(b)), sums[b], all)
	}
	return all
}

// chosen has terms be those of one residue, and of its taps from first on.
func (m *residue) chosen(b *ir.Builder, rest, first int64) {
	m.rest, m.first = b.Int(rest), b.Int(first)
}

// place is what the terms of a residue read at its first tap, beside the position.
func (m *residue) place(rest, first int64) int64 {
	return (m.ofFree*rest + m.ofTap*first + m.offset) / m.by
}

// parted gives of each residue the taps that read the same places as taps of all other residues, and its others.
func (m *residue) parted() (common []taps, others [][]taps) {
	all := make([]taps, m.by)
	// Taps are counted by what they read, so that those of all residues that read the same have one number.
	begin := func(b int64) int64 { return m.ofTap * m.place(b, all[b].first) }
	lo, hi := int64(-1<<31), int64(1<<31)
	for b := range m.by {
		first := residueOf(-inverse(m.ofTap, m.by)*(m.ofFree*b+m.offset), m.by)
		all[b] = taps{first, max(0, (m.tap.Len-first+m.by-1)/m.by)}
		lo, hi = max(lo, begin(b)), min(hi, begin(b)+all[b].count)
	}
	for b := range m.by {
		t := all[b]
		end := t.count
		from, to := lo-begin(b), hi-begin(b)
		if lo >= hi {
			from, to = 0, 0
		}
		part := func(from, to int64) taps { return taps{t.first + from*m.by, max(0, to-from)} }
		common = append(common, part(from, to))
		var left []taps
		for _, p := range []taps{part(0, from), part(to, end)} {
			if p.count > 0 {
				left = append(left, p)
			}
		}
		others = append(others, left)
	}
	return common, others
}

// retype gives values that come of positions of all residues their axes.
func (r *residues) retype() {
	if !slices.ContainsFunc(r.moves, func(m *residue) bool { return m.together }) {
		return
	}
	for _, op := range r.Func.Body.Ops {
		types, err := ir.Infer(op)
		if err != nil {
			panic(fmt.Sprintf("%s behind sums of residues: %v", op.Code, err))
		}
		for i, t := range types {
			op.Results[i].Type = t
		}
	}
}
