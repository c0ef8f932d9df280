package emu

import (
	"fmt"
	"slices"
	"strings"

	"tilec/jit/emu/number"
	"tilec/jit/emu/syntax"
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
	// variables whose address is known when a block starts: of each block's own shared memory, and what has its place at launch
	dynamic  bool
	variable *syntax.Variable
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
	st     *syntax.Statement
	mods   []string
	ops    []syntax.Operand
	in     *inst
	then   []func(*warp) // what the instruction does besides

	shared *constants
}

// constants shares rows of equal constants in a kernel.
type constants struct {
	values   map[uint64]row
	specials map[string]row
	vars     map[*syntax.Variable]row
}

// mostRows of a kernel are registers, constants and addresses.
const mostRows = 1 << 19

// decode turns the statements of a kernel into instructions; it panics with a *syntax.Error.
func decode(k *Kernel) {
	k.code = make([]inst, len(k.Statements)+1)
	shared := &constants{map[uint64]row{}, map[string]row{}, map[*syntax.Variable]row{}}
	k.ccRow = row(k.rows)
	k.rows += 2 // the carry, and the sink
	for i := range k.Statements {
		st := &k.Statements[i]
		in := &k.code[i]
		in.guard = -1
		in.site = &site{index: i, text: st.Opcode, ptxLine: st.Line, file: st.File, line: st.SourceLine}
		d := &decoder{kernel: k, st: st, mods: slices.Clone(st.Modifiers), ops: st.Operands, in: in, shared: shared}
		d.instruction()
	}
	watchMatrices(k)
	end := &k.code[len(k.Statements)]
	end.guard, end.control = -1, exit
	end.site = &site{index: len(k.Statements), text: "the end of the kernel", class: classControl}
	if k.rows > mostRows {
		panic(&syntax.Error{Message: "the kernel has too many registers"})
	}
}

// fail refuses an instruction. It is called, not copied to a hundred places: the binary is smaller.
//
//go:noinline
func (d *decoder) fail(format string, args ...any) {
	panic(&syntax.Error{Line: d.st.Line, Message: fmt.Sprintf(format, args...) + " in " + d.st.Opcode})
}

func (d *decoder) instruction() {
	op, ok := operations[d.st.Name]
	if !ok {
		panic(&syntax.Error{Line: d.st.Line, Message: "the emulator does not know the instruction " + d.st.Opcode})
	}
	if d.st.Guard != "" {
		r, ok := d.st.Scope.Register(d.st.Guard)
		if !ok || r.Type.Kind != number.KindPred {
			d.fail("guard %s is not a predicate register", d.st.Guard)
		}
		d.in.guard, d.in.not = predRow(r.Index), d.st.Negated
	}
	d.in.site.class = op.class
	d.in.follows = following[d.st.Name]
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
func (d *decoder) rounding(of ...string) (number.Rounding, bool) {
	m := d.one(of...)
	return number.Roundings[m], m != ""
}

// typ takes the next modifier that is a type.
func (d *decoder) typ() number.Type {
	for i, m := range d.mods {
		if t, ok := number.Types[m]; ok {
			d.mods = slices.Delete(d.mods, i, i+1)
			return t
		}
	}
	d.fail("need a type")
	panic("unreachable")
}

// typeOf is typ for one of the types named.
func (d *decoder) typeOf(names ...string) number.Type {
	t := d.typ()
	if !slices.Contains(names, t.Name) {
		d.fail("type .%s is none of .%s", t.Name, strings.Join(names, " ."))
	}
	return t
}

func (d *decoder) more() bool { return len(d.ops) > 0 }

// operand takes the next operand.
func (d *decoder) operand() syntax.Operand {
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
func (d *decoder) src(t number.Type) row { return d.source(d.operand(), t, false) }

// wideSrc is src that also takes wider registers, whose low bits count.
func (d *decoder) wideSrc(t number.Type) row { return d.source(d.operand(), t, true) }

func (d *decoder) source(o syntax.Operand, t number.Type, wide bool) row {
	switch o.Kind {
	case syntax.OpInt, syntax.OpFloat:
		v, err := o.Constant(t)
		if err != nil {
			d.fail("%v", err)
		}
		return d.constant(v)
	case syntax.OpName:
		if o.Negated {
			d.fail("! stands before %s, which is no predicate", o.Name)
		}
		if r, ok := d.st.Scope.Register(o.Name); ok {
			d.checkWidth(o.Name, r.Type, t, wide)
			d.in.srcs = append(d.in.srcs, row(r.Index))
			return row(r.Index)
		}
		if s, ok := specials[o.Name]; ok {
			if s.fill == nil {
				d.fail("%s is read by mov only", o.Name)
			}
			r, ok := d.shared.specials[o.Name]
			if !ok {
				r = d.newConst(constRow{special: s})
				d.shared.specials[o.Name] = r
			}
			return r
		}
		if o.Name == "WARP_SZ" {
			return d.constant(warpSize)
		}
		if v := d.st.Scope.Variable(o.Name); v != nil {
			return d.addressOf(v, o.Offset)
		}
		d.fail("%s is not declared", o.Name)
	}
	d.fail("need a register or a constant")
	panic("unreachable")
}

func (d *decoder) checkWidth(name string, have, need number.Type, wide bool) {
	if have.Kind == number.KindPred || have.Bits < need.Bits || have.Bits > need.Bits && !wide {
		d.fail("%s has type .%s where .%s is needed", name, have.Name, need.Name)
	}
}

// addressOf is the row of a variable's address.
func (d *decoder) addressOf(v *syntax.Variable, offset int64) row {
	if v.Space != syntax.SpaceShared && v.Space != syntax.SpaceGlobal && v.Space != syntax.SpaceConst {
		return d.constant(v.Address + uint64(offset))
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
func (d *decoder) dst(t number.Type) dest { return d.destination(d.operand(), t, false) }

// wideDst takes a destination of the type's width or more.
func (d *decoder) wideDst(t number.Type) dest { return d.destination(d.operand(), t, true) }

func (d *decoder) destination(o syntax.Operand, t number.Type, wide bool) dest {
	if o.Kind == syntax.OpSink {
		return dest{d.kernel.ccRow + 1, ^uint64(0)}
	}
	if o.Kind != syntax.OpName || o.Negated {
		d.fail("the destination is not a register")
	}
	r, ok := d.st.Scope.Register(o.Name)
	if !ok {
		d.fail("%s is not a declared register", o.Name)
	}
	d.checkWidth(o.Name, r.Type, t, wide)
	d.in.dsts = append(d.in.dsts, row(r.Index))
	return dest{row(r.Index), r.Type.Mask()}
}

// A predSource is a predicate operand, perhaps negated.
type predSource struct {
	row predRow
	not bool
}

// pred takes a predicate source.
func (d *decoder) pred() predSource { return d.predicate(d.operand()) }

func (d *decoder) predicate(o syntax.Operand) predSource {
	if o.Kind == syntax.OpInt { // 0 and 1 are predicate constants
		if o.Bits == 0 {
			return predSource{noPred, false}
		}
		return predSource{noPred, true}
	}
	r, ok := d.st.Scope.Register(o.Name)
	if o.Kind != syntax.OpName || !ok || r.Type.Kind != number.KindPred {
		d.fail("%s is not a predicate register", o.Name)
	}
	d.in.preds = append(d.in.preds, predRow(r.Index))
	return predSource{predRow(r.Index), o.Negated}
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

func (d *decoder) predDestination(o syntax.Operand) predRow {
	if o.Kind == syntax.OpSink {
		return noPred
	}
	r, ok := d.st.Scope.Register(o.Name)
	if o.Kind != syntax.OpName || !ok || r.Type.Kind != number.KindPred {
		d.fail("the destination %s is not a predicate register", o.Name)
	}
	d.in.predDsts = append(d.in.predDsts, predRow(r.Index))
	return predRow(r.Index)
}

// pair takes d|p: a destination and, where it is there, a predicate.
func (d *decoder) pair() (first syntax.Operand, second syntax.Operand, both bool) {
	o := d.operand()
	if o.Kind == syntax.OpPair {
		return o.Elements[0], o.Elements[1], true
	}
	return o, syntax.Operand{}, false
}

// vector takes {a, b, ...}; an operand that is not one counts as a vector of itself.
func (d *decoder) vector() []syntax.Operand {
	o := d.operand()
	if o.Kind == syntax.OpVector {
		return o.Elements
	}
	return []syntax.Operand{o}
}

// sources takes a vector of n registers.
func (d *decoder) sources(n int, t number.Type) []row {
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
func (d *decoder) dests(n int, t number.Type, wide bool) []dest {
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
	if o.Kind != syntax.OpInt {
		d.fail("need an integer constant")
	}
	return int64(o.Bits)
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
