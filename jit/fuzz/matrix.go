package fuzz

import (
	"fmt"
	"slices"
	"strings"

	"tilec/lang"
)

// This file makes programs about one large matrix product, whose sizes reach
// the tiles, pipelines and tensor cores that small products never see.

// product types, by what hardware there is for them.
var matrixTypes = []lang.DType{lang.F16, lang.F16, lang.F16, lang.BF16, lang.BF16, lang.BF16, lang.F32, lang.F32, lang.F64, lang.I8, lang.U8, lang.F4E2M1, lang.F8E4M3, lang.F8E5M2}

// productTypes are those that wgmma multiplies.
var productTypes = []lang.DType{lang.F16, lang.F16, lang.BF16, lang.BF16, lang.BF16, lang.F32, lang.F32, lang.I8, lang.U8, lang.F8E4M3, lang.F8E5M2}

// widenedChance is how often of a hundred times an operand of 16 bits is one of 8 that is widened, as weights are.
const widenedChance = 20

// madeChance is how often such an operand is made of narrower numbers by more than a conversion: scaled, or unpacked.
const madeChance = 15

// thirdChance is how often of a hundred times the products of a sum have a third factor.
const thirdChance = 30

// groupsChance is how often of a hundred times a product goes through groups of its depth by their number.
const groupsChance = 12

func (g *generator) matrixKernel() string {
	g.dims, g.matrix = []string{"M", "N", "K"}, true
	e, pinned, converted := concrete(pick(g.r, matrixTypes...)), 25, 15
	if g.topic == Products { // whose launches pin extents
		e, pinned, converted = concrete(pick(g.r, productTypes...)), 0, 5
	}
	acc := e.acc()
	var grid []string
	axes := map[string]*axis{}
	declare := func(name, dim string, by bool) {
		a := &axis{name: name, dim: dim, kind: gridAxis, scalar: !by}
		clause := name + " in " + dim
		if by {
			clause += " by " + g.extent(a, pinned)
		}
		grid = append(grid, clause)
		axes[name], g.axes = a, append(g.axes, a)
	}
	batch := g.chance(20)
	if batch {
		g.dims = append(g.dims, "B")
		declare("b", "B", false)
	}
	declare("i", "M", true)
	declare("j", "N", true)
	i, j := axes["i"], axes["j"]
	k := &axis{name: "k", dim: "K", kind: loopAxis}
	g.groups = 0
	if e.acc().d == lang.F32 && g.chance(groupsChance) {
		g.groups = pick(g.r, 16, 32, 32, 64)
	}

	operand := func(a *axis) value {
		over := []*axis{a, k}
		if g.chance(40) {
			over = []*axis{k, a}
		}
		var index, dims []string
		if batch && g.chance(70) {
			index, dims = append(index, "b"), append(dims, "B")
		}
		for _, x := range over {
			at := x.name
			if x == k && g.groups > 0 {
				at = fmt.Sprintf("g * %d + index(r)", g.groups)
			}
			index, dims = append(index, at), append(dims, x.dim)
		}
		from := e
		narrow := (e.d == lang.F16 || e.d == lang.BF16) && g.groups == 0
		switch {
		case narrow && g.chance(madeChance):
			return value{"(" + g.madeOperand(e, over, a, index, dims) + ")", e, over}
		case g.chance(converted):
			from = concrete(pick(g.r, lang.F32, lang.I8, lang.BF16))
		case (e.d == lang.F16 || e.d == lang.BF16) && g.chance(widenedChance):
			from = concrete(pick(g.r, lang.I8, lang.I8, lang.U8, lang.F8E4M3, lang.F8E5M2))
		}
		text := g.tensor(from, dims).name + "[" + strings.Join(index, ", ") + "]"
		if g.groups > 0 {
			text = "(" + text + " else 0)"
		}
		switch {
		case from != e:
			text = "(" + text + " as " + e.name + ")"
		case g.chance(converted * 2 / 3):
			text = "(" + text + " * " + g.literal(e) + ")"
		}
		return value{text, e, over}
	}
	a, b := operand(i), operand(j)
	frame := []*axis{i, j}
	total := value{"acc", acc, frame}
	switch form := g.r.IntN(5); {
	case g.groups > 0: // each with a scale
		g.line("axis r in %d", g.groups)
		scale := g.tensor(concrete(lang.F32), []string{"N", "K"}).name
		at := pick(g.r, "j", "index(j) / 16", "index(j) / 128")
		g.line("let acc = for g in K / %d with acc = %s {", g.groups, g.zeros(acc, frame))
		g.line("    acc + dot(%s, %s, over r) * (%s[%s, g] else 1)", a.text, b.text, scale, at)
		g.line("}")
	case form == 0:
		g.line("axis k in K")
		g.line("let acc = dot(%s, %s, over k)", a.text, b.text)
	case form == 1:
		g.line("axis k in K")
		if e.d != lang.F64 && e.acc().d == lang.F32 && g.chance(thirdChance) { // the gain of a norm, or the scale of a group
			if of := pick(g.r, e, e, concrete(lang.F32)); of == e {
				a.text = fmt.Sprintf("(%s * %s[k])", a.text, g.tensor(e, []string{"K"}).name)
			} else if e.d != lang.F32 { // by f32 both are
				a.text = fmt.Sprintf("(%s as f32 * %s[k])", a.text, g.tensor(of, []string{"K"}).name)
				b.text = fmt.Sprintf("(%s as f32)", b.text)
			}
		}
		g.line("let acc = sum(%s * %s, over k)", a.text, b.text)
	default:
		init := g.zeros(acc, frame)
		if g.chance(25) {
			init = g.start(acc, frame).text
		}
		next := fmt.Sprintf("mma(%s, %s, acc)", a.text, b.text)
		if g.chance(25) {
			next = fmt.Sprintf("acc + dot(%s, %s, over k)", a.text, b.text)
		}
		over := "K"
		if g.chance(15) {
			over += g.bounds("K")
		}
		g.line("let acc = for k in %s by %s with acc = %s {", over, g.extent(k, pinned), init)
		g.line("    %s", next)
		g.line("}")
	}
	g.vars = append(g.vars, total)
	for range g.r.IntN(3) {
		g.bind(g.whole(g.someType(), frame[:1+g.r.IntN(2)]))
	}
	v := total
	if g.chance(60) {
		v = g.update(total)
	}
	if to := g.someFloat(); to != acc && g.chance(60) {
		v = value{"(" + v.text + " as " + to.name + ")", to, v.axes}
	}
	index := slices.Clone(frame)
	if batch {
		index = append(index, axes["b"])
	}
	if g.chance(40) {
		index = g.shuffled(index)
	}
	g.put(index, v)
	return g.assemble(grid)
}

// matrixTrials chooses sizes at which a product is worth tiling; half of them suit wide accesses.
func (g *generator) matrixTrials(seed uint64) []Trial {
	var out []Trial
	for n := range 2 {
		r := g.trial(seed, n)
		size := func(odd, even []int64) int64 {
			if g.chance(50) {
				return pick(g.r, odd...)
			}
			return pick(g.r, even...)
		}
		outer, inner := []int64{1, 5, 17, 33, 65, 100, 129}, []int64{1, 3, 17, 31, 65, 100, 130, 257}
		r.Dims["M"] = size(outer, []int64{16, 64, 64, 128, 192})
		r.Dims["N"] = size(outer, []int64{8, 32, 64, 64, 128, 256})
		r.Dims["K"] = size(inner, []int64{16, 32, 64, 64, 128, 256})
		r.Dims["B"] = 1 + g.r.Int64N(3)
		if g.chance(25) {
			g.large(&r)
		}
		for r.Dims["M"]*r.Dims["N"]*r.Dims["K"]*r.Dims["B"] > 1_200_000 {
			switch g.r.IntN(3) {
			case 0:
				r.Dims["M"] = (r.Dims["M"] + 1) / 2
			case 1:
				r.Dims["N"] = (r.Dims["N"] + 1) / 2
			default:
				r.Dims["K"] = (r.Dims["K"] + 1) / 2
			}
		}
		out = append(out, r)
	}
	return out
}

// large asks for tiles that a group of four warps multiplies together.
func (g *generator) large(r *Trial) {
	r.Pins = map[string]int64{"warps": pick[int64](g.r, 4, 4, 8)}
	pin := func(axis, dim string, extents ...int64) {
		n := pick(g.r, extents...)
		if tile := g.tileOf[axis]; tile != "" {
			r.Pins[tile] = n
		}
		r.Dims[dim] = n + pick[int64](g.r, 0, 0, 0, -1, 8)
	}
	pin("i", "M", 64, 128)
	pin("j", "N", 128)
	pin("k", "K", 16, 32, 64)
	if g.chance(50) {
		r.Pins["stages"] = 1 + g.r.Int64N(4)
	}
	r.Dims["B"] = 1
}

// madeOperand is an operand over two axes, of which one is its rows or columns, that is made of narrower numbers: of 4 or 8 bits, with scales for rows or for groups of the depth, or of several to
// a word.
func (g *generator) madeOperand(e elem, over []*axis, a *axis, index, dims []string) string {
	scale := func() string {
		if g.chance(40) {
			return g.tensor(concrete(lang.F32), []string{a.dim}).name + "[" + a.name + "]"
		}
		at := fmt.Sprintf("%s, index(k) / %d", a.name, pick(g.r, 2, 8, 32, 128))
		return "(" + g.tensor(concrete(pick(g.r, lang.F32, lang.F16)), []string{a.dim, "K"}).name + "[" + at + "] else 1)"
	}
	if g.chance(50) {
		from := concrete(pick(g.r, lang.I8, lang.U8, lang.F8E4M3, lang.F8E5M2, lang.F4E2M1))
		w := g.tensor(from, dims).name + "[" + strings.Join(index, ", ") + "]"
		if from.d == lang.F4E2M1 && g.chance(30) {
			return fmt.Sprintf("%s as %s", w, e.name)
		}
		return fmt.Sprintf("(%s as f32 * (%s as f32)) as %s", w, scale(), e.name)
	}
	word := concrete(pick(g.r, lang.I32, lang.I32, lang.U32, lang.U8))
	bits := pick(g.r, 2, 4, 4, 4, 8)
	each := word.d.Bits() / bits
	if each < 2 {
		bits, each = 4, 2
	}
	by := pick(g.r, over...) // along which they are packed
	for i := range index {
		if index[i] == by.name {
			index[i] = fmt.Sprintf("index(%s) / %d", by.name, each)
		}
	}
	w := g.tensor(word, dims).name + "[" + strings.Join(index, ", ") + "]"
	q := fmt.Sprintf("((%s >> ((index(%s) %% %d * %d) as %s)) & %d) as i32", w, by.name, each, bits, word.name, 1<<bits-1)
	if g.chance(60) {
		q = "(" + q + fmt.Sprintf(" - %d)", pick(g.r, 1, 8))
	}
	if g.chance(40) {
		return fmt.Sprintf("(%s) as %s", q, e.name)
	}
	return fmt.Sprintf("((%s) as f32 * (%s as f32)) as %s", q, scale(), e.name)
}
