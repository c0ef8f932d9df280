package emu

import (
	"fmt"
	"slices"
	"strings"
)

// A row is the index of a register's values in the lanes of a warp.
type row int

// A predRow is the index of a predicate's mask of lanes; -1 is none.
type predRow int

// A constRow is a row that holds one value in all lanes from the start.
type constRow struct {
	row     row
	value   uint64
	special specialRegister // where not nil, what fills the row
	// dynamic shared variables: the address is known at launch
	dynamic  bool
	variable *variable
}

// An inst is a decoded instruction.
type inst struct {
	// run works on the active lanes; nil for control instructions.
	run func(*warp)
	// control decides where the fragment goes.
	control func(*warp, *fragment) outcome
	guard   predRow
	not     bool
	// srcs and preds must have been written before they are read.
	srcs  []row
	preds []predRow
	// uses are those of them on which more depends than a result; follows says that
	// undefined operands make undefined results, and spread of which, by dsts and
	// then predDsts, in which lanes: without it, of all in the same lanes.
	uses     []row
	follows  bool
	spread   func(*warp) []uint32
	predDsts []predRow
	// dsts are the rows written; touches are the rows read or written that some
	// wgmma of the kernel works on.
	dsts, touches []row
	site          *site
}

// A site is where an instruction stands, for findings and figures.
type site struct {
	index   int
	text    string
	ptxLine int
	file    int
	line    int
	class   class
	matrix  bool // a wgmma.mma_async
}

// A decoder turns one statement into an inst, taking its modifiers and operands one after the other.
type decoder struct {
	kernel *Kernel
	st     *statement
	mods   []string
	ops    []operand
	in     *inst
	then   []func(*warp) // what the instruction does besides

	shared *constants
}

// constants shares rows of equal constants in a kernel.
type constants struct {
	values   map[uint64]row
	specials map[string]row
	vars     map[*variable]row
}

// mostRows of a kernel are registers, constants and addresses.
const mostRows = 1 << 19

// decode turns the statements of a kernel into instructions; it panics with a *SyntaxError.
func decode(k *Kernel) {
	k.code = make([]inst, len(k.statements)+1)
	shared := &constants{map[uint64]row{}, map[string]row{}, map[*variable]row{}}
	k.ccRow = row(k.rows)
	k.rows += 2 // the carry, and the sink
	for i := range k.statements {
		st := &k.statements[i]
		in := &k.code[i]
		in.guard = -1
		in.site = &site{index: i, text: st.opcode, ptxLine: st.line, file: st.file, line: st.srcLine}
		d := &decoder{kernel: k, st: st, mods: slices.Clone(st.mods), ops: st.ops, in: in, shared: shared}
		d.instruction()
	}
	watchMatrices(k)
	end := &k.code[len(k.statements)]
	end.guard, end.control = -1, exit
	end.site = &site{index: len(k.statements), text: "the end of the kernel", class: classControl}
	if k.rows > mostRows {
		panic(&SyntaxError{0, "the kernel has too many registers"})
	}
}

func (d *decoder) fail(format string, args ...any) {
	panic(&SyntaxError{d.st.line, fmt.Sprintf(format, args...) + " in " + d.st.opcode})
}

func (d *decoder) instruction() {
	op, ok := operations[d.st.name]
	if !ok {
		panic(&SyntaxError{d.st.line, "the emulator does not know the instruction " + d.st.opcode})
	}
	if d.st.guard != "" {
		r, ok := d.st.scope.register(d.st.guard)
		if !ok || r.t.kind != kindPred {
			d.fail("guard %s is not a predicate register", d.st.guard)
		}
		d.in.guard, d.in.not = predRow(r.index), d.st.not
	}
	d.in.site.class = op.class
	d.in.follows = following[d.st.name]
	op.decode(d)
	if len(d.mods) > 0 {
		d.fail("unknown modifier .%s", d.mods[0])
	}
	if len(d.ops) > 0 {
		d.fail("%d operands too many", len(d.ops))
	}
	if d.in.run == nil && d.in.control == nil {
		d.in.run = func(*warp) {}
	}
	if run := d.in.run; run != nil && d.then != nil {
		d.in.run = func(w *warp) {
			run(w)
			for _, f := range d.then {
				f(w)
			}
		}
	}
}

// has takes a modifier when it is there.
func (d *decoder) has(mod string) bool {
	i := slices.Index(d.mods, mod)
	if i < 0 {
		return false
	}
	d.mods = slices.Delete(d.mods, i, i+1)
	return true
}

// one takes the first modifier that is one of those given; "" without one.
func (d *decoder) one(of ...string) string {
	for i, m := range d.mods {
		if slices.Contains(of, m) {
			d.mods = slices.Delete(d.mods, i, i+1)
			return m
		}
	}
	return ""
}

// must is one that fails without a modifier.
func (d *decoder) must(of ...string) string {
	m := d.one(of...)
	if m == "" {
		d.fail("need one of .%s", strings.Join(of, " ."))
	}
	return m
}

// rounding takes a rounding modifier.
func (d *decoder) rounding(of ...string) (rounding, bool) {
	m := d.one(of...)
	return roundings[m], m != ""
}

// typ takes the next modifier that is a type.
func (d *decoder) typ() dtype {
	for i, m := range d.mods {
		if t, ok := types[m]; ok {
			d.mods = slices.Delete(d.mods, i, i+1)
			return t
		}
	}
	d.fail("need a type")
	panic("unreachable")
}

// typeOf is typ for one of the types named.
func (d *decoder) typeOf(names ...string) dtype {
	t := d.typ()
	if !slices.Contains(names, t.name) {
		d.fail("type .%s is none of .%s", t.name, strings.Join(names, " ."))
	}
	return t
}

func (d *decoder) more() bool { return len(d.ops) > 0 }

// operand takes the next operand.
func (d *decoder) operand() operand {
	if len(d.ops) == 0 {
		d.fail("an operand is missing")
	}
	o := d.ops[0]
	d.ops = d.ops[1:]
	return o
}

// constant is the row of a constant.
func (d *decoder) constant(value uint64) row {
	r, ok := d.shared.values[value]
	if !ok {
		r = d.newConst(constRow{value: value})
		d.shared.values[value] = r
	}
	return r
}

func (d *decoder) newConst(c constRow) row {
	c.row = row(d.kernel.rows)
	d.kernel.rows++
	d.kernel.consts = append(d.kernel.consts, c)
	return c.row
}

// src takes a source operand of a type: a register of that width, or a constant.
func (d *decoder) src(t dtype) row { return d.source(d.operand(), t, false) }

// wideSrc is src that also takes wider registers, whose low bits count.
func (d *decoder) wideSrc(t dtype) row { return d.source(d.operand(), t, true) }

func (d *decoder) source(o operand, t dtype, wide bool) row {
	switch o.kind {
	case opInt, opFloat:
		v, err := o.constant(t)
		if err != nil {
			d.fail("%v", err)
		}
		return d.constant(v)
	case opName:
		if o.not {
			d.fail("! stands before %s, which is no predicate", o.name)
		}
		if r, ok := d.st.scope.register(o.name); ok {
			d.checkWidth(o.name, r.t, t, wide)
			d.in.srcs = append(d.in.srcs, row(r.index))
			return row(r.index)
		}
		if s, ok := specials[o.name]; ok {
			if s.fill == nil {
				d.fail("%s is read by mov only", o.name)
			}
			r, ok := d.shared.specials[o.name]
			if !ok {
				r = d.newConst(constRow{special: s})
				d.shared.specials[o.name] = r
			}
			return r
		}
		if o.name == "WARP_SZ" {
			return d.constant(warpSize)
		}
		if v := d.st.scope.variable(o.name); v != nil {
			return d.addressOf(v, o.offset)
		}
		d.fail("%s is not declared", o.name)
	}
	d.fail("need a register or a constant")
	panic("unreachable")
}

func (d *decoder) checkWidth(name string, have, need dtype, wide bool) {
	if have.kind == kindPred || have.bits < need.bits || have.bits > need.bits && !wide {
		d.fail("%s has type .%s where .%s is needed", name, have.name, need.name)
	}
}

// addressOf is the row of a variable's address.
func (d *decoder) addressOf(v *variable, offset int64) row {
	if v.address != dynamicShared && v.space != spaceGlobal && v.space != spaceConst {
		return d.constant(v.address + uint64(offset))
	}
	if offset != 0 { // a row of its own, for the address comes at launch
		return d.newConst(constRow{dynamic: true, variable: v, value: uint64(offset)})
	}
	r, ok := d.shared.vars[v]
	if !ok {
		r = d.newConst(constRow{dynamic: true, variable: v})
		d.shared.vars[v] = r
	}
	return r
}

// A dest is a register to write, with the mask of its width. The sink _ has a row that nothing reads.
type dest struct {
	row  row
	mask uint64
}

// dst takes a destination of exactly the type's width.
func (d *decoder) dst(t dtype) dest { return d.destination(d.operand(), t, false) }

// wideDst takes a destination of the type's width or more.
func (d *decoder) wideDst(t dtype) dest { return d.destination(d.operand(), t, true) }

func (d *decoder) destination(o operand, t dtype, wide bool) dest {
	if o.kind == opSink {
		return dest{d.kernel.ccRow + 1, ^uint64(0)}
	}
	if o.kind != opName || o.not {
		d.fail("the destination is not a register")
	}
	r, ok := d.st.scope.register(o.name)
	if !ok {
		d.fail("%s is not a declared register", o.name)
	}
	d.checkWidth(o.name, r.t, t, wide)
	d.in.dsts = append(d.in.dsts, row(r.index))
	return dest{row(r.index), r.t.mask()}
}

// A predSource is a predicate operand, perhaps negated.
type predSource struct {
	row predRow
	not bool
}

// pred takes a predicate source.
func (d *decoder) pred() predSource { return d.predicate(d.operand()) }

func (d *decoder) predicate(o operand) predSource {
	if o.kind == opInt { // 0 and 1 are predicate constants
		if o.bits == 0 {
			return predSource{noPred, false}
		}
		return predSource{noPred, true}
	}
	r, ok := d.st.scope.register(o.name)
	if o.kind != opName || !ok || r.t.kind != kindPred {
		d.fail("%s is not a predicate register", o.name)
	}
	d.in.preds = append(d.in.preds, predRow(r.index))
	return predSource{predRow(r.index), o.not}
}

// noPred stands for the constant false as a source, and for a sink as a destination.
const noPred predRow = -1

func (p predSource) get(w *warp) uint32 {
	var m uint32
	if p.row != noPred {
		m = w.preds[p.row]
	}
	if p.not {
		m = ^m
	}
	return m
}

// predDst takes a predicate destination.
func (d *decoder) predDst() predRow { return d.predDestination(d.operand()) }

func (d *decoder) predDestination(o operand) predRow {
	if o.kind == opSink {
		return noPred
	}
	r, ok := d.st.scope.register(o.name)
	if o.kind != opName || !ok || r.t.kind != kindPred {
		d.fail("the destination %s is not a predicate register", o.name)
	}
	d.in.predDsts = append(d.in.predDsts, predRow(r.index))
	return predRow(r.index)
}

// pair takes d|p: a destination and, where it is there, a predicate.
func (d *decoder) pair() (first operand, second operand, both bool) {
	o := d.operand()
	if o.kind == opPair {
		return o.elems[0], o.elems[1], true
	}
	return o, operand{}, false
}

// vector takes {a, b, ...}; an operand that is not one counts as a vector of itself.
func (d *decoder) vector() []operand {
	o := d.operand()
	if o.kind == opVector {
		return o.elems
	}
	return []operand{o}
}

// sources takes a vector of n registers.
func (d *decoder) sources(n int, t dtype) []row {
	v := d.vector()
	if len(v) != n {
		d.fail("a vector has %d elements, need %d", len(v), n)
	}
	rows := make([]row, n)
	for i, o := range v {
		rows[i] = d.source(o, t, false)
	}
	return rows
}

// dests takes a vector of n destinations.
func (d *decoder) dests(n int, t dtype, wide bool) []dest {
	v := d.vector()
	if len(v) != n {
		d.fail("a vector has %d elements, need %d", len(v), n)
	}
	rows := make([]dest, n)
	for i, o := range v {
		rows[i] = d.destination(o, t, wide)
	}
	return rows
}

// constInt takes an operand that must be an integer constant.
func (d *decoder) constInt() int64 {
	o := d.operand()
	if o.kind != opInt {
		d.fail("need an integer constant")
	}
	return int64(o.bits)
}

// An operation is how instructions of a name are decoded, and what they count as.
type operation struct {
	class  class
	decode func(*decoder)
}

// following are the names of the instructions whose results are undefined when operands are.
var following = func() map[string]bool {
	names := map[string]bool{}
	for _, family := range []map[string]operation{integerOps, bitOps, floatOps, mathOps, convertOps, compareOps, moveOps, matrixOps} {
		for name := range family {
			names[name] = true
		}
	}
	for _, name := range []string{"ld", "ldu", "st", "cvta", "shfl", "vote", "match", "redux"} {
		names[name] = true
	}
	return names
}()

// operations are the instructions by name, gathered from the table of each family.
var operations = func() map[string]operation {
	all := map[string]operation{}
	for _, family := range []map[string]operation{
		integerOps, bitOps, floatOps, mathOps, convertOps, compareOps, moveOps, memoryOps, atomicOps,
		controlOps, barrierOps, warpOps, asyncOps, matrixOps,
		mbarrierOps, wgmmaOps, clusterOps,
	} {
		for name, op := range family {
			all[name] = op
		}
	}
	return all
}()
