package emu

// A matrixQueue is what a warp knows of its wgmma instructions: which are in
// flight, and which registers were touched since the last wgmma.fence.
type matrixQueue struct {
	open   []*matrixOperation
	groups [][]*matrixOperation
	// by row, made when the first wgmma comes
	state   map[row]*matrixRegister
	touched []*matrixRegister // since the last fence
	fenced  bool              // there was a fence
}

// A matrixOperation is a wgmma in flight.
type matrixOperation struct {
	shape  wgmmaShape
	acc, a []row
	source []span
}

// A matrixRegister is a register that some wgmma of the kernel works on.
type matrixRegister struct {
	results int        // wgmma in flight that have it as accumulator
	factors int        // and as a part of A
	shape   wgmmaShape // of the last that had it as accumulator
	touched bool
}

func (q *matrixQueue) reset() { *q = matrixQueue{} }

func (q *matrixQueue) register(r row) *matrixRegister {
	if q.state == nil {
		q.state = map[row]*matrixRegister{}
	}
	m := q.state[r]
	if m == nil {
		m = &matrixRegister{}
		q.state[r] = m
	}
	return m
}

func (q *matrixQueue) fence() {
	q.fenced = true
	for _, m := range q.touched {
		m.touched = false
	}
	q.touched = q.touched[:0]
}

func (q *matrixQueue) commit() {
	q.groups = append(q.groups, q.open)
	q.open = nil
}

// watchMatrices finds the instructions that touch registers of wgmma.
func watchMatrices(k *Kernel) {
	watched := map[row]bool{}
	for i := range k.code {
		if in := &k.code[i]; in.isMatrix() {
			for _, r := range append(in.dsts, in.srcs...) {
				watched[r] = true
			}
		}
	}
	if len(watched) == 0 {
		return
	}
	for i := range k.code {
		in := &k.code[i]
		if in.isMatrix() {
			continue
		}
		for _, rows := range [][]row{in.srcs, in.dsts} {
			for _, r := range rows {
				if watched[r] {
					in.touches = append(in.touches, r)
				}
			}
		}
	}
}

func (in *inst) isMatrix() bool { return in.site != nil && in.site.matrix }

// touch notes that an ordinary instruction reads or writes registers of wgmma.
func (w *warp) touch(in *inst) {
	for _, r := range in.touches {
		m := w.matrix.register(r)
		if m.results+m.factors > 0 {
			w.report(PendingMatrix, w.active, "touches register %s, which a wgmma in flight works on: wait for its group first", w.block.launch.kernel.registerName(r))
		}
		if !m.touched {
			m.touched = true
			w.matrix.touched = append(w.matrix.touched, m)
		}
	}
}

// beginMatrix starts a wgmma: its registers are locked until the wait, and its shared memory is read until then.
func (w *warp) beginMatrix(o *matrixOperation) {
	q := &w.matrix
	name := w.block.launch.kernel.registerName
	if !q.fenced {
		w.report(MissingFence, w.active, "there is no wgmma.fence before the first wgmma")
	}
	for _, r := range o.acc {
		m := q.register(r)
		switch {
		case m.factors > 0:
			w.report(PendingMatrix, w.active, "writes register %s, which is a factor of a wgmma in flight", name(r))
		case m.touched:
			w.report(MissingFence, w.active, "accumulates in register %s, which was touched after the last wgmma.fence", name(r))
		case m.results > 0 && m.shape != o.shape:
			w.report(MissingFence, w.active, "accumulates in register %s as a wgmma of another shape in flight does", name(r))
		}
		m.results++
		m.shape = o.shape
	}
	for _, r := range o.a {
		m := q.register(r)
		switch {
		case m.results > 0:
			w.report(PendingMatrix, w.active, "has as a factor register %s, in which a wgmma in flight accumulates", name(r))
		case m.touched:
			w.report(MissingFence, w.active, "has as a factor register %s, which was touched after the last wgmma.fence", name(r))
		}
		m.factors++
	}
	for _, s := range o.source {
		reading := s.shared.bytes().reading[s.at : s.at+s.n]
		for i := range reading {
			if reading[i] < 255 {
				reading[i]++
			}
		}
	}
	q.open = append(q.open, o)
}

// waitMatrices ends the groups but for the newest keep.
func (w *warp) waitMatrices(keep int) {
	q := &w.matrix
	done := len(q.groups) - keep
	if done <= 0 {
		return
	}
	lane := first(w.active)
	for _, g := range q.groups[:done] {
		for _, o := range g {
			for _, r := range o.acc {
				q.register(r).results--
			}
			for _, r := range o.a {
				q.register(r).factors--
			}
			for _, s := range o.source {
				reading := s.shared.bytes().reading[s.at : s.at+s.n]
				for i := range reading {
					if reading[i] > 0 {
						reading[i]--
					}
				}
				w.noteRead(s.shared, lane, s.at, s.n)
			}
		}
	}
	q.groups = q.groups[done:]
}
