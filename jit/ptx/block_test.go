package ptx

import (
	le "encoding/binary"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"tilec/lang"
)

// machine runs the text of a whole kernel, block by block, thread by thread up
// to each instruction that threads execute together. Beyond what program checks
// it reports accesses outside the tensors, races in shared memory between
// barriers, reads of shared memory nobody wrote that reach an address, and warp
// instructions that not all lanes reach.
type machine struct {
	t       testing.TB
	p       *program
	code    []blockStep
	threads []*thread
	params  map[string]uint64
	regions []region
	shared  []byte
	spots   []spotState // by byte of shared memory
	epoch   int32       // number of barriers passed
	block   uint32
}

type region struct {
	name string
	base uint64
	data []byte
}

// spotState is who touched a byte of shared memory, and when.
type spotState struct {
	writer, reader   int32
	wroteAt, readAt  int32
	several, written bool
}

type blockStep struct {
	step
	text   string
	each   func(m *machine, th *thread)      // by every thread alone
	warp   func(m *machine, lanes []*thread) // by the lanes of a warp together
	isBar  bool
	isExit bool
}

type thread struct {
	id      int
	v       []uint64
	pc      int
	pending [][]func() // cp.async, by group; the last is open
	groups  [][]int    // bytes of shared memory that wgmma reads, by group; the last is open
}

// newMachine decodes a module's text.
func newMachine(t testing.TB, m *Module) *machine {
	t.Helper()
	x := &machine{t: t, p: &program{regs: map[string]int{}}, params: map[string]uint64{}}
	_, body, _ := strings.Cut(m.Text, "\n{\n")
	body, _, _ = strings.Cut(body, "\n}\n")
	labels := map[string]int{}
	var lines []string
	for _, l := range strings.Split(body, "\n") {
		l = strings.TrimSpace(l)
		switch {
		case l == "", strings.HasPrefix(l, "//"), strings.HasPrefix(l, ".reg"), strings.HasPrefix(l, ".loc"):
		case strings.HasSuffix(l, ":"):
			labels[strings.TrimSuffix(l, ":")] = len(lines)
		default:
			lines = append(lines, strings.TrimSuffix(l, ";"))
		}
	}
	for _, l := range lines {
		x.code = append(x.code, x.decode(l, labels))
	}
	x.shared = make([]byte, m.Shared)
	for range m.Threads {
		x.threads = append(x.threads, &thread{id: len(x.threads)})
	}
	return x
}

var operandPattern = regexp.MustCompile(`\{[^}]*\}|\[[^\]]*\]|[^,\s]+`)

func (m *machine) decode(text string, labels map[string]int) blockStep {
	s := blockStep{text: text, step: step{guard: -1, target: -1}}
	rest := text
	if strings.HasPrefix(rest, "@") {
		var g string
		g, rest, _ = strings.Cut(rest[1:], " ")
		s.negate = strings.HasPrefix(g, "!")
		s.guard = m.p.slot(strings.TrimPrefix(g, "!"))
	}
	name, operands, _ := strings.Cut(strings.TrimSpace(rest), " ")
	ops := operandPattern.FindAllString(operands, -1)
	parts := strings.Split(name, ".")
	switch parts[0] {
	case "bra":
		at, ok := labels[ops[0]]
		if !ok {
			m.t.Fatalf("no label %s", ops[0])
		}
		s.target = at
	case "ret":
		s.isExit = true
	case "bar":
		s.isBar = true
	case "ld", "st", "red":
		s.each = m.memory(parts, ops)
	case "atom":
		s.each = m.compareAndSwap(ops, map[bool]int{true: 2, false: 4}[strings.HasSuffix(parts[len(parts)-1], "b16")])
	case "cp":
		s.each = m.async(parts, ops)
	case "cvta":
		d, x := m.p.slot(ops[0]), m.p.slot(ops[1])
		s.run = func(v []uint64) { v[d] = v[x] }
	case "shfl":
		s.warp = m.shuffle(ops)
	case "ldmatrix":
		s.warp = m.ldmatrix(parts, ops)
	case "wgmma":
		switch parts[1] {
		case "mma_async":
			s.warp = m.wgmma(parts, ops)
		case "commit_group":
			s.warp = func(m *machine, ls []*thread) { ls[0].groups = append(ls[0].groups, nil) }
		case "wait_group":
			n, _ := strconv.Atoi(ops[0])
			s.warp = func(m *machine, ls []*thread) { m.finishGroups(ls[0], n) }
		default:
			s.run = func([]uint64) {}
		}
	case "fence":
		s.run = func([]uint64) {}
	case "mma":
		s.warp = m.mma(parts, ops)
	case "testp":
		d, x := m.p.slot(ops[0]), m.p.operand(m.t, ops[1])
		s.run = func(v []uint64) { v[d] = flag(v[x]>>23&0xff != 0xff) }
	case "mad":
		s.run = m.multiplyAdd(parts, ops)
	default:
		if name == "mov.u32" || name == "cvt.rna.tf32.f32" || name == "cvt.rn.bf16x2.f32" || name == "cvt.rn.f16x2.f32" {
			s.run = m.move(name, ops)
			break
		}
		s.step = m.p.decode(m.t, text, labels)
	}
	return s
}

// move is what the elementwise emitters do not use.
func (m *machine) move(name string, ops []string) func(v []uint64) {
	d := m.p.slot(ops[0])
	switch name {
	case "mov.u32":
		if ops[1] == sharedName {
			return func(v []uint64) { v[d] = 0 }
		}
		x := m.p.slot(ops[1])
		return func(v []uint64) { v[d] = v[x] }
	case "cvt.rna.tf32.f32":
		x := m.p.slot(ops[1])
		return func(v []uint64) {
			u := uint32(v[x])
			if u>>23&0xff != 0xff {
				u += 1 << 12
			}
			v[d] = uint64(u &^ (1<<13 - 1))
			if f := fl(v[x]); f != f {
				v[d] = v[x]
			}
		}
	}
	k := lang.BF16
	if strings.Contains(name, "f16x2") && !strings.Contains(name, "bf16x2") {
		k = lang.F16
	}
	hi, lo := m.p.slot(ops[1]), m.p.slot(ops[2])
	return func(v []uint64) { v[d] = halfBits(k, fl(v[hi]))<<16 | halfBits(k, fl(v[lo])) }
}

// multiplyAdd is mad.lo and mad.wide.
func (m *machine) multiplyAdd(parts, ops []string) func(v []uint64) {
	d, a, b, c := m.p.slot(ops[0]), m.p.operand(m.t, ops[1]), m.p.operand(m.t, ops[2]), m.p.operand(m.t, ops[3])
	wide, width := parts[1] == "wide", 32
	if strings.HasSuffix(parts[2], "64") {
		width = 64
	}
	return func(v []uint64) {
		x, y := v[a], v[b]
		if wide {
			x, y = uint64(int64(int32(x))), uint64(int64(int32(y)))
		}
		v[d] = x*y + v[c]
		if !wide {
			v[d] = norm(width, false, v[d])
		}
	}
}

// list are the slots of a vector operand.
func (m *machine) list(text string) []int {
	var out []int
	for _, f := range strings.Split(strings.Trim(text, "{}"), ",") {
		out = append(out, m.p.operand(m.t, strings.TrimSpace(f)))
	}
	return out
}

// address is an address operand.
func (m *machine) address(text string) func(v []uint64) uint64 {
	text = strings.Trim(text, "[]")
	base, offset, _ := strings.Cut(text, "+")
	n := int64(0)
	if offset != "" {
		var err error
		if n, err = strconv.ParseInt(offset, 10, 64); err != nil {
			m.t.Fatalf("address %q", text)
		}
	}
	x := m.p.slot(base)
	return func(v []uint64) uint64 { return v[x] + uint64(n) }
}

func (m *machine) memory(parts, ops []string) func(*machine, *thread) {
	count, typ, space := 1, parts[len(parts)-1], ""
	for _, s := range parts {
		switch s {
		case "v2":
			count = 2
		case "v4":
			count = 4
		case "global", "shared", "param":
			space = s
		}
	}
	width, signed := widthOf(typ)
	if width == 0 {
		var err error
		if width, err = strconv.Atoi(strings.TrimLeft(typ, "bfsu")); err != nil {
			m.t.Fatalf("type %s", typ)
		}
	}
	signed = typ[0] == 's'
	size := width / 8
	if space == "param" {
		d, name := m.p.slot(ops[0]), strings.Trim(ops[1], "[]")
		return func(m *machine, th *thread) {
			x, ok := m.params[name]
			if !ok {
				m.t.Fatalf("no parameter %s", name)
			}
			th.v[d] = norm(width, signed, x)
		}
	}
	if parts[0] == "ld" {
		ds, at := m.list(ops[0]), m.address(ops[1])
		return func(m *machine, th *thread) {
			bytes := m.bytes(th, space, at(th.v), size*count, false)
			for i := range count {
				u := little(bytes[i*size : (i+1)*size])
				if signed {
					u = uint64(int64(u<<(64-width))>>(64-width)) & 0xffffffff
				}
				th.v[ds[i]] = u
			}
		}
	}
	at, xs := m.address(ops[0]), m.list(ops[1])
	if parts[0] == "red" {
		return func(m *machine, th *thread) {
			b := m.bytes(th, space, at(th.v), size, false)
			u := little(b)
			switch typ {
			case "f32":
				u = fromF32(fl(u) + fl(th.v[xs[0]]))
			case "f64":
				u = fromF64(db(u) + db(th.v[xs[0]]))
			default:
				u += th.v[xs[0]]
			}
			put(b, u)
		}
	}
	return func(m *machine, th *thread) {
		bytes := m.bytes(th, space, at(th.v), size*count, true)
		for i := range count {
			put(bytes[i*size:(i+1)*size], th.v[xs[i]])
		}
	}
}

// compareAndSwap is atom.global.cas on words of some bytes.
func (m *machine) compareAndSwap(ops []string, size int) func(*machine, *thread) {
	d, at, old, next := m.p.slot(ops[0]), m.address(ops[1]), m.p.operand(m.t, ops[2]), m.p.operand(m.t, ops[3])
	return func(m *machine, th *thread) {
		b := m.bytes(th, "global", at(th.v), size, true)
		seen := little(b)
		if seen == th.v[old] {
			put(b, th.v[next])
		}
		th.v[d] = seen
	}
}

func little(b []byte) uint64 {
	var x [8]byte
	copy(x[:], b)
	return le.LittleEndian.Uint64(x[:])
}

func put(b []byte, u uint64) {
	var x [8]byte
	le.LittleEndian.PutUint64(x[:], u)
	copy(b, x[:])
}

// bytes is the memory of an access, checked.
func (m *machine) bytes(th *thread, space string, at uint64, n int, write bool) []byte {
	if at%uint64(n) != 0 {
		m.t.Fatalf("thread %d: access of %d bytes at %#x is not aligned: %s", th.id, n, at, m.code[th.pc].text)
	}
	if space == "global" {
		for _, r := range m.regions {
			if at >= r.base && at+uint64(n) <= r.base+uint64(len(r.data)) {
				return r.data[at-r.base:][:n]
			}
		}
		m.t.Fatalf("block %d thread %d: access of %d bytes at %#x is outside the tensors: %s", m.block, th.id, n, at, m.code[th.pc].text)
	}
	if at+uint64(n) > uint64(len(m.shared)) {
		m.t.Fatalf("thread %d: access of %d bytes at %#x is outside the %d bytes of shared memory: %s", th.id, n, at, len(m.shared), m.code[th.pc].text)
	}
	for i := at; i < at+uint64(n); i++ {
		m.touch(int32(th.id), int(i), write, m.code[min(th.pc, len(m.code)-1)].text)
	}
	return m.shared[at:][:n]
}

// touch records an access to a byte of shared memory, and reports a race.
func (m *machine) touch(id int32, i int, write bool, text string) {
	s := &m.spots[i]
	if s.written && s.wroteAt == m.epoch && s.writer != id {
		m.t.Fatalf("race at byte %d of shared memory: thread %d wrote it, thread %d touches it before a barrier: %s", i, s.writer, id, text)
	}
	if !write {
		if s.readAt == m.epoch && s.reader != id {
			s.several = true
		} else if s.readAt != m.epoch {
			s.several = false
		}
		s.reader, s.readAt = id, m.epoch
		return
	}
	if s.readAt == m.epoch && (s.several || s.reader != id) {
		m.t.Fatalf("race at byte %d of shared memory: thread %d read it, thread %d writes it before a barrier: %s", i, s.reader, id, text)
	}
	s.writer, s.wroteAt, s.written = id, m.epoch, true
}

// async is cp.async: the copy happens when it is waited for, not before.
func (m *machine) async(parts, ops []string) func(*machine, *thread) {
	switch parts[2] {
	case "commit_group":
		return func(m *machine, th *thread) { th.pending = append(th.pending, nil) }
	case "wait_group":
		n, _ := strconv.Atoi(ops[0])
		return func(m *machine, th *thread) {
			for len(th.pending)-1 > n {
				for _, f := range th.pending[0] {
					f()
				}
				th.pending = th.pending[1:]
			}
		}
	}
	to, from := m.address(ops[0]), m.address(ops[1])
	size, _ := strconv.Atoi(ops[2])
	take := -1
	if len(ops) > 3 {
		take = m.p.operand(m.t, ops[3])
	}
	return func(m *machine, th *thread) {
		n := size
		if take >= 0 {
			n = int(th.v[take])
		}
		if n < 0 || n > size {
			m.t.Fatalf("cp.async takes %d of %d bytes", n, size)
		}
		d, s := to(th.v), from(th.v)
		if d%uint64(size) != 0 || s%uint64(size) != 0 {
			m.t.Fatalf("cp.async of %d bytes is not aligned: %#x, %#x", size, d, s)
		}
		data := make([]byte, size)
		if n > 0 {
			for i := range n {
				data[i] = m.bytes(th, "global", s+uint64(i), 1, false)[0]
			}
		}
		text := m.code[th.pc].text
		if len(th.pending) == 0 {
			th.pending = [][]func(){nil}
		}
		last := len(th.pending) - 1
		// The hardware may write at any time from now on.
		for i := range size {
			m.touch(int32(th.id), int(d)+i, true, text)
		}
		for i := range m.shared[d:][:size] {
			m.shared[int(d)+i] = 0xff
		}
		th.pending[last] = append(th.pending[last], func() {
			for i := range size {
				m.touch(int32(th.id), int(d)+i, true, text)
			}
			copy(m.shared[d:], data)
		})
	}
}

func (m *machine) shuffle(ops []string) func(*machine, []*thread) {
	d, x, bit := m.p.slot(ops[0]), m.p.slot(ops[1]), m.p.operand(m.t, ops[2])
	return func(m *machine, ls []*thread) {
		got := make([]uint64, len(ls))
		for i, th := range ls {
			got[i] = ls[i^int(th.v[bit])].v[x]
		}
		for i, th := range ls {
			th.v[d] = got[i]
		}
	}
}

func (m *machine) ldmatrix(parts, ops []string) func(*machine, []*thread) {
	ds, at := m.list(ops[0]), m.address(ops[1])
	trans := strings.Contains(strings.Join(parts, "."), ".trans")
	return func(m *machine, ls []*thread) {
		for i, d := range ds {
			var rows [8][]byte
			for r := range rows {
				th := ls[8*i+r]
				rows[r] = m.bytes(th, "shared", at(th.v), 16, false)
			}
			for l, th := range ls {
				g, t := l>>2, l&3
				if trans {
					th.v[d] = little(rows[2*t][2*g:2*g+2]) | little(rows[2*t+1][2*g:2*g+2])<<16
				} else {
					th.v[d] = little(rows[g][4*t : 4*t+4])
				}
			}
		}
	}
}

// mma multiplies as the tables of the PTX ISA for m16n8k8, m16n8k16 and m16n8k32 say:
// a register holds 1, 2 or 4 neighbours of the depth.
func (m *machine) mma(parts, ops []string) func(*machine, []*thread) {
	ds, as, bs, cs := m.list(ops[0]), m.list(ops[1]), m.list(ops[2]), m.list(ops[3])
	var depth int
	if _, err := fmt.Sscanf(parts[3], "m16n8k%d", &depth); err != nil {
		m.t.Fatalf("%v", parts)
	}
	per := depth / 8
	elementA, elementB := m.factor(parts[7]), m.factor(parts[8])
	start, result := accumulator(parts[6])
	return func(m *machine, ls []*thread) {
		var a [16][32]float64
		var b [32][8]float64
		for l, th := range ls {
			g, t := l>>2, l&3
			for h := range per {
				shift, at := h*32/per, per*t+h
				for i, s := range as {
					a[g+8*(i&1)][at+4*per*(i>>1)] = elementA(th.v[s] >> shift)
				}
				for i, s := range bs {
					b[at+4*per*i][g] = elementB(th.v[s] >> shift)
				}
			}
		}
		for l, th := range ls {
			g, t := l>>2, l&3
			var out [4]uint64
			for i, s := range cs {
				row, col := g+8*(i>>1), 2*t+i&1
				sum := start(th.v[s])
				for k := range depth {
					sum += a[row][k] * b[k][col]
				}
				out[i] = result(sum)
			}
			for i, d := range ds {
				th.v[d] = out[i]
			}
		}
	}
}

// factor reads an element of an operand from the low bits.
func (m *machine) factor(kind string) func(uint64) float64 {
	switch kind {
	case "s8":
		return func(v uint64) float64 { return float64(int8(v)) }
	case "u8":
		return func(v uint64) float64 { return float64(uint8(v)) }
	case "f64":
		return db
	case "tf32":
		return func(v uint64) float64 { return float64(fl(v &^ (1<<13 - 1))) }
	}
	d, ok := lang.ParseDType(kind)
	if !ok {
		m.t.Fatalf("products of %s", kind)
	}
	return func(v uint64) float64 { return float64(halfValue(d, v&0xffff)) }
}

// accumulator reads and writes a register with a sum; those of integers wrap.
func accumulator(kind string) (start func(uint64) float64, result func(float64) uint64) {
	if kind == "f64" {
		return db, fromF64
	}
	if kind == "s32" {
		return func(v uint64) float64 { return float64(int32(v)) }, func(v float64) uint64 { return uint64(uint32(int64(v))) }
	}
	return func(v uint64) float64 { return float64(fl(v)) }, func(v float64) uint64 { return uint64(math.Float32bits(float32(v))) }
}

// wideElement reads one element of size bytes of a wgmma operand in shared memory, as the
// descriptor says: row along the rows or columns, k along the depth.
func (m *machine) wideElement(th *thread, desc uint64, trans bool, row, k, size int) uint64 {
	start := desc & 0x3fff << 4
	panel, eight := desc>>16&0x3fff<<4, desc>>32&0x3fff<<4
	width, bits := uint64(128), uint64(7)
	switch desc >> 62 {
	case 2:
		width, bits = 64, 3
	case 3:
		width, bits = 32, 1
	}
	across, along := uint64(row), uint64(k*size)
	if trans {
		across, along = uint64(k), uint64(row*size)
	}
	at := start + across/8*eight + across%8*width + along%width
	if trans {
		at += along / width * panel
	}
	// The pattern begins at multiples of 8 rows; within the first one, k steps move start.
	at ^= at >> 7 & bits << 4
	if len(th.groups) == 0 {
		th.groups = [][]int{nil}
	}
	last := len(th.groups) - 1
	th.groups[last] = append(th.groups[last], int(at))
	return little(m.bytes(th, "shared", at, size, false))
}

// finishGroups waits until n groups of wgmma are under way: what the others read, they have read until now.
func (m *machine) finishGroups(th *thread, n int) {
	for len(th.groups)-1 > n {
		for _, at := range th.groups[0] {
			m.touch(int32(th.id), at, false, "wgmma under way")
		}
		th.groups = th.groups[1:]
	}
}

// wgmma is executed warp by warp: each computes its 16 rows.
func (m *machine) wgmma(parts, ops []string) func(*machine, []*thread) {
	var n, depth int
	if _, err := fmt.Sscanf(parts[4], "m64n%dk%d", &n, &depth); err != nil {
		m.t.Fatalf("%v", parts)
	}
	size := 32 / depth
	per := 4 / size
	elementA, elementB := m.factor(parts[6]), m.factor(parts[7])
	start, result := accumulator(parts[5])
	ds := m.list(ops[0])
	as := m.list(ops[1])
	b, keep := m.p.slot(ops[2]), m.p.slot(ops[3])
	tB := len(ops) > 4 && ops[len(ops)-1] == "1"
	tA := len(ops) > 4 && len(as) == 1 && ops[len(ops)-2] == "1"
	return func(m *machine, ls []*thread) {
		warp := ls[0].id / lanes % 4
		var rows [16][32]float64
		for l, th := range ls {
			g, t := l>>2, l&3
			for i, s := range as {
				if len(as) == 1 {
					break
				}
				for h := range per {
					rows[g+8*(i&1)][per*t+h+4*per*(i>>1)] = elementA(th.v[s] >> (h * 32 / per))
				}
			}
		}
		if len(as) == 1 {
			for r := range 16 {
				for k := range depth {
					rows[r][k] = elementA(m.wideElement(ls[0], ls[0].v[as[0]], tA, 16*warp+r, k, size))
				}
			}
		}
		columns := make([][32]float64, n)
		for c := range n {
			for k := range depth {
				columns[c][k] = elementB(m.wideElement(ls[0], ls[0].v[b], tB, c, k, size))
			}
		}
		for l, th := range ls {
			g, t := l>>2, l&3
			for i, d := range ds {
				row, col := g+8*(i>>1&1), 8*(i>>2)+2*t+i&1
				sum := 0.0
				if th.v[keep] != 0 {
					sum = start(th.v[d])
				}
				for k := range depth {
					sum += rows[row][k] * columns[col][k]
				}
				th.v[d] = result(sum)
			}
		}
	}
}

// launch runs every block.
func (m *machine) launch(blocks int) {
	m.t.Helper()
	tid, cta := m.p.slot("%tid.x"), m.p.slot("%ctaid.x")
	for b := range blocks {
		m.block = uint32(b)
		m.spots = make([]spotState, len(m.shared))
		m.epoch = 1
		for i := range m.shared {
			m.shared[i] = 0xff // NaN in every type
		}
		for _, th := range m.threads {
			if len(th.v) < len(m.p.slots) {
				th.v = make([]uint64, len(m.p.slots))
			}
			copy(th.v, m.p.slots)
			th.v[tid], th.v[cta] = uint64(th.id), uint64(b)
			th.pc, th.pending, th.groups = 0, nil, nil
		}
		for m.phase() {
			m.epoch++
		}
	}
}

// phase runs every warp to the next barrier; false when all have ended.
func (m *machine) phase() bool {
	m.t.Helper()
	ended, at := 0, -1
	for w := 0; w < len(m.threads); w += lanes {
		ls := m.threads[w : w+lanes]
		for {
			for _, th := range ls {
				m.run(th)
			}
			s := &m.code[ls[0].pc]
			for _, th := range ls {
				if th.pc != ls[0].pc {
					m.t.Fatalf("lanes %d and %d of a warp are at different instructions: %s / %s", ls[0].id, th.id, s.text, m.code[th.pc].text)
				}
			}
			if s.warp == nil {
				break
			}
			s.warp(m, ls)
			for _, th := range ls {
				th.pc++
			}
		}
		s := &m.code[ls[0].pc]
		if s.isExit {
			ended++
			continue
		}
		if at >= 0 && at != ls[0].pc {
			m.t.Fatalf("warps wait at different barriers")
		}
		at = ls[0].pc
	}
	if at < 0 {
		return false
	}
	if ended > 0 {
		m.t.Fatalf("some warps ended, others wait at a barrier")
	}
	for _, th := range m.threads {
		th.pc++
	}
	return true
}

// run executes a thread up to the next instruction that it shares with others.
func (m *machine) run(th *thread) {
	for n := 0; ; n++ {
		s := &m.code[th.pc]
		if s.warp != nil || s.isBar || s.isExit {
			if s.guard >= 0 {
				m.t.Fatalf("guarded: %s", s.text)
			}
			return
		}
		if n > 10_000_000 {
			m.t.Fatalf("thread %d does not end: %s", th.id, s.text)
		}
		if s.guard >= 0 && (th.v[s.guard] != 0) == s.negate {
			th.pc++
			continue
		}
		switch {
		case s.target >= 0:
			th.pc = s.target
			continue
		case s.each != nil:
			s.each(m, th)
		default:
			s.run(th.v)
		}
		th.pc++
	}
}

// bind makes a tensor's memory known and gives its address.
func (m *machine) bind(name string, data []byte) uint64 {
	base := uint64(len(m.regions)+1) << 32
	m.regions = append(m.regions, region{name, base, data})
	return base
}

func (m *machine) String() string { return fmt.Sprintf("%d instructions", len(m.code)) }
