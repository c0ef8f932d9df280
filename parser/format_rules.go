package parser

import (
	"strings"
)

// This file is the layout itself: what is separated by a space, and where
// lines are broken when they are too long.

const (
	// blockIndent is the indentation of a block, and of what goes on behind a line of a statement.
	blockIndent = 4
	// headerIndent is that of what goes on behind the first line of a header, whose body has blockIndent.
	headerIndent = 8
	// rigidWidth is the width up to which brackets are not broken: a break elsewhere reads better.
	rigidWidth = 30
)

// The tokens with no space behind them, and before them.
var (
	tightAfter  = set("( [ . @ ~")
	tightBefore = set(") ] . , :")
)

// setGaps decides on the space before each token.
func setGaps(all []*leaf) {
	var tokens []*leaf
	for _, l := range all {
		if l.Type != kindNewline {
			tokens = append(tokens, l)
		}
	}
	at := func(i int) *leaf {
		if i < 0 || i >= len(tokens) {
			return &leaf{}
		}
		return tokens[i]
	}
	for i, l := range tokens {
		if _, ok := binaryLevel[l.Value]; ok && l.Type != kindString && !l.angle && i > 0 {
			l.binary = canEnd(&at(i-1).Token) && !at(i-1).word || is(&at(i-1).Token, ">")
		}
		l.gap = gap(at(i-1), l)
	}
	for i, l := range tokens {
		if is(&l.Token, "..") {
			setRangeGaps(at(i-2), at(i-1), l, at(i+1), at(i+2))
		}
	}
}

// gap is the space between two tokens on one line.
func gap(prev, l *leaf) string {
	op := func(l *leaf, in map[string]bool) bool { return l.Type == kindOp && in[l.Value] }
	unary := is(&prev.Token, "-") && !prev.binary
	switch {
	case op(prev, tightAfter), unary, prev.angle && prev.Value == "<", prev.isFloor():
		return ""
	case op(l, tightBefore), l.angle, l.isFloor():
		return ""
	case is(&l.Token, "("), is(&l.Token, "["):
		if prev.Type == kindIdent && !prev.word || prev.angle || is(&prev.Token, ")") || is(&prev.Token, "]") || is(&prev.Token, "}") {
			return ""
		}
	case l.Type == kindIdent && is(&prev.Token, "]"): // [L]Block
		return ""
	}
	return " "
}

// setRangeGaps writes a range tight between single words, `a..b`, and with
// spaces otherwise, `i + 1 .. n`. An end that is left out takes no space.
func setRangeGaps(beforeLo, lo, dots, hi, afterHi *leaf) {
	begins := func(l *leaf) bool { return is(&l.Token, "[") || is(&l.Token, ",") }
	ends := func(l *leaf) bool { return is(&l.Token, "]") || is(&l.Token, ",") }
	word := func(l *leaf) bool { return canEnd(&l.Token) && l.Type != kindOp }
	tight := (begins(lo) || word(lo) && begins(beforeLo)) && (ends(hi) || word(hi) && ends(afterHi))
	if tight && !begins(lo) {
		dots.gap = ""
	}
	if tight {
		hi.gap = ""
	}
}

// joint is what stands between two pieces: sep, or a newline where a comment needs one.
func joint(prev, next piece, sep doc) doc {
	if prev.last().trail == "" && len(next.first().lead) == 0 {
		return sep
	}
	indent := 0
	switch s := sep.(type) {
	case breakDoc:
		indent = s.indent
	case textDoc:
		indent = blockIndent
	}
	return newlineDoc{indent: indent}
}

// remarksDoc is comments on lines of their own, without a newline behind the last.
func remarksDoc(lead []remark) doc {
	var parts []doc
	for i, r := range lead {
		if i > 0 {
			parts = append(parts, newlineDoc{blank: r.blank})
		}
		parts = append(parts, commentDoc(r.text))
	}
	return concat(parts...)
}

func leafDoc(l *leaf) doc {
	var parts []doc
	if len(l.lead) > 0 {
		parts = append(parts, remarksDoc(l.lead), newlineDoc{blank: l.blank})
	}
	return concat(append(parts, tokenDoc(l))...)
}

// tokenDoc is a token with the comment behind it.
func tokenDoc(l *leaf) doc {
	var d doc = textDoc(l.Value)
	if l.isFloor() {
		d = floorDoc{}
	}
	if l.trail != "" {
		d = concat(d, commentDoc(" "+l.trail))
	}
	return d
}

// pieceDoc lays out a piece; brackets indent what they hold by indent.
func pieceDoc(p piece, indent int) doc {
	switch p := p.(type) {
	case *leaf:
		return leafDoc(p)
	case *compound:
		return compoundDoc(p)
	case *enclosed:
		if p.isBlock {
			return blockDoc(p, !p.onOneLine())
		}
		return bracketsDoc(p, indent)
	}
	return nil
}

// run is pieces with no break between them.
func run(seq sequence, indent int) doc {
	var parts []doc
	for i, p := range seq {
		if i > 0 {
			parts = append(parts, joint(seq[i-1], p, textDoc(p.first().gap)))
		}
		parts = append(parts, pieceDoc(p, indent))
	}
	return concat(parts...)
}

// listDoc is pieces with commas between, as many on a line as fit.
func listDoc(seq sequence, indent int) doc {
	return filled(compounds(seq), func(l *leaf) bool { return is(&l.Token, ",") }, indent, operatorsDoc)
}

// operatorsDoc is an expression, broken behind its loosest operators.
func operatorsDoc(seq sequence, indent int) doc {
	loosest := levelProduct + 1
	level := func(l *leaf) int {
		if !l.binary || l.isFloor() { // behind `//` a line break would make it a comment
			return levelProduct + 1
		}
		return binaryLevel[l.Value]
	}
	for i, p := range seq {
		if l, ok := p.(*leaf); ok && i+1 < len(seq) { // an operator at the end was cut before
			loosest = min(loosest, level(l))
		}
	}
	if loosest > levelProduct {
		return run(seq, indent)
	}
	return filled(seq, func(l *leaf) bool { return level(l) == loosest }, indent, operatorsDoc)
}

// filled cuts a sequence behind some leaves, and puts as many parts on a line as fit.
func filled(seq sequence, cutBehind func(*leaf) bool, indent int, inner func(sequence, int) doc) doc {
	var parts []doc
	from := 0
	add := func(to int) {
		part := seq[from:to]
		d := inner(part, indent)
		switch {
		case from == 0:
			parts = append(parts, d)
		case part.hasBlock(): // its lines are indented as the statement is
			parts = append(parts, group(joint(seq[from-1], part[0], breakDoc{" ", indent}), group(d)))
		default:
			parts = append(parts, nest(indent, group(joint(seq[from-1], part[0], breakDoc{flat: " "}), group(d))))
		}
		from = to
	}
	for i, p := range seq {
		if l, ok := p.(*leaf); ok && i+1 < len(seq) && cutBehind(l) {
			add(i + 1)
		}
	}
	if from < len(seq) {
		add(len(seq))
	}
	return concat(parts...)
}

// bracketsDoc is brackets that are no block. Broken, what they hold begins a
// line, and the closing bracket ends the last.
func bracketsDoc(b *enclosed, indent int) doc {
	inside := []doc{}
	var last piece = b.open
	if len(b.lines) > 0 {
		list := b.lines[0]
		inside = append(inside, joint(b.open, list[0], breakDoc{}), listDoc(list, 0))
		last = list[len(list)-1]
	}
	end := joint(last, b.close, textDoc(""))
	if len(b.close.lead) > 0 {
		inside = append(inside, newlineDoc{}, remarksDoc(b.close.lead))
	}
	if end.hard() {
		end = newlineDoc{}
	}
	d := concat(leafDoc(b.open), nest(indent, concat(inside...)), end, tokenDoc(b.close))
	return &groupDoc{inner: d, brackets: (is(&b.open.Token, "(") || is(&b.open.Token, "[")) && !b.hasBracketString(), rigid: leftOf(rigidWidth, d) >= 0}
}

// blockDoc is statements in braces: each on lines of its own, or all on one line when not expanded.
func blockDoc(b *enclosed, expanded bool) doc {
	return bracesDoc(b, b.lines, expanded, func(s sequence) doc { return listDoc(s, blockIndent) })
}

func bracesDoc(b *enclosed, lines []sequence, expanded bool, line func(sequence) doc) doc {
	var sep doc = breakDoc{flat: " "}
	if expanded {
		sep = newlineDoc{}
	}
	if len(lines)+len(b.close.lead) == 0 && b.open.trail == "" {
		return concat(leafDoc(b.open), tokenDoc(b.close))
	}
	var inside []doc
	for i, s := range lines {
		if i > 0 {
			inside = append(inside, newlineDoc{blank: s[0].first().blankAbove()})
		} else {
			inside = append(inside, sep)
		}
		inside = append(inside, line(s))
	}
	if lead := b.close.lead; len(lead) > 0 {
		inside = append(inside, newlineDoc{blank: lead[0].blank && len(lines) > 0}, remarksDoc(lead))
	}
	return concat(leafDoc(b.open), nest(blockIndent, concat(inside...)), sep, tokenDoc(b.close))
}

// compoundDoc is a `for` or an `if` with its blocks.
func compoundDoc(c *compound) doc {
	if begins(c.pieces, "for") {
		return loopDoc(c.pieces)
	}
	// The blocks of an `if` are expanded all or none.
	expanded := false
	for _, p := range c.pieces {
		if isBlockPiece(p) {
			expanded = expanded || !p.(*enclosed).onOneLine()
		}
	}
	var parts []doc
	for i := 0; i < len(c.pieces); {
		block := i + 1
		for block < len(c.pieces) && !isBlockPiece(c.pieces[block]) {
			block++
		}
		if i > 0 {
			parts = append(parts, joint(c.pieces[i-1], c.pieces[i], textDoc(" ")))
		}
		head := c.pieces[i:block] // `if` and its condition, `else`, or both
		parts = append(parts, group(operatorsDoc(head, blockIndent)))
		if block < len(c.pieces) {
			parts = append(parts, joint(head[len(head)-1], c.pieces[block], textDoc(" ")), blockDoc(c.pieces[block].(*enclosed), expanded))
		}
		i = block + 1
	}
	return group(parts...)
}

func isBlockPiece(p piece) bool {
	b, ok := p.(*enclosed)
	return ok && b.isBlock
}

// loopDoc is a `for`. When its head is too long, `with` and the `{` take lines of their own.
func loopDoc(seq sequence) doc {
	head, body := seq[:len(seq)-1], seq[len(seq)-1].(*enclosed)
	with := 0
	for with < len(head) && !begins(head[with:], "with") {
		with++
	}
	if with == len(head) {
		return concat(operatorsDoc(head, blockIndent), joint(head[len(head)-1], body, textDoc(" ")), blockDoc(body, true))
	}
	return concat(
		group(operatorsDoc(head[:with], blockIndent),
			nest(blockIndent, concat(joint(head[with-1], head[with], breakDoc{flat: " "}), operatorsDoc(head[with:], blockIndent))),
			joint(head[len(head)-1], body, breakDoc{flat: " "})),
		blockDoc(body, true))
}

// peelAttributes cuts a declaration into its attributes and itself.
func peelAttributes(seq sequence) []sequence {
	var out []sequence
	for begins(seq, "@") {
		n := 2
		if len(seq) > n {
			if b, ok := seq[n].(*enclosed); ok && is(&b.open.Token, "(") {
				n++
			}
		}
		out = append(out, seq[:n])
		seq = seq[n:]
	}
	if len(seq) > 0 {
		out = append(out, seq)
	}
	return out
}

// betweenDecls sets what takes several lines apart by a blank line.
func betweenDecls(prev, next sequence) doc {
	l := next[0].first()
	if begins(prev, "@") {
		return newlineDoc{}
	}
	if blank := l.blankAbove(); blank || !(begins(next, "@") || isBlockPiece(prev[len(prev)-1]) || isBlockPiece(next[len(next)-1])) {
		return newlineDoc{blank: blank}
	}
	apart := l.blank
	for _, r := range l.lead {
		apart = apart || r.blank
	}
	// A `///` comment behind the declaration above is the doc of this one.
	docAbove := strings.HasPrefix(prev[len(prev)-1].last().trail, "///")
	return newlineDoc{blank: !apart && !docAbove}
}

// declDoc is an attribute or a declaration.
func declDoc(seq sequence) doc {
	body, ok := seq[len(seq)-1].(*enclosed)
	if !ok || !body.isBlock || begins(seq, "const") || begins(seq, "@") || isExpressionFn(seq) {
		return listDoc(seq, blockIndent)
	}
	head, clauses := cutClauses(seq[:len(seq)-1])
	parts := []doc{listDoc(head, headerIndent)}
	for _, c := range clauses {
		parts = append(parts, nest(blockIndent, concat(newlineDoc{}, listDoc(c, blockIndent))))
	}
	var sep doc = textDoc(" ")
	if len(clauses) > 0 {
		sep = newlineDoc{}
	} else if len(head) > 0 && joint(head[len(head)-1], body, sep).hard() {
		sep = newlineDoc{}
	}
	parts = append(parts, sep)
	if begins(seq, "struct") {
		parts = append(parts, bracesDoc(body, fieldsOf(body), true, func(s sequence) doc { return listDoc(s, blockIndent) }))
	} else {
		parts = append(parts, blockDoc(body, true))
	}
	return concat(parts...)
}

// isExpressionFn reports whether a declaration is `fn name(...) = expression`.
func isExpressionFn(seq sequence) bool {
	for _, p := range seq {
		if l, ok := p.(*leaf); ok && is(&l.Token, "=") {
			return begins(seq, "fn")
		}
	}
	return false
}

// cutClauses cuts the header of a kernel before each `tune` and `grid`.
func cutClauses(seq sequence) (head sequence, clauses []sequence) {
	from := -1
	for i := range seq {
		if !begins(seq[i:], "tune") && !begins(seq[i:], "grid") {
			continue
		}
		if from < 0 {
			head = seq[:i]
		} else {
			clauses = append(clauses, seq[from:i])
		}
		from = i
	}
	if from < 0 {
		return seq, nil
	}
	return head, append(clauses, seq[from:])
}

// fieldsOf are the fields of a struct, without the commas between them.
func fieldsOf(b *enclosed) []sequence {
	var fields []sequence
	for _, line := range b.lines {
		var field sequence
		for i, p := range line {
			l, ok := p.(*leaf)
			if !ok || !is(&l.Token, ",") {
				field = append(field, p)
				continue
			}
			end := field[len(field)-1].last()
			if l.trail != "" {
				end.trail = l.trail
			}
			if i+1 < len(line) {
				next := line[i+1].first()
				next.lead = append(l.lead, next.lead...)
			}
			fields, field = append(fields, field), nil
		}
		if len(field) > 0 {
			fields = append(fields, field)
		}
	}
	return fields
}

// blankAbove reports whether a blank line stands above the leaf and its comments.
func (l *leaf) blankAbove() bool {
	if len(l.lead) > 0 {
		return l.lead[0].blank
	}
	return l.blank
}

// onOneLine reports whether a block is so in the source, with at most one statement.
func (b *enclosed) onOneLine() bool {
	return len(b.lines) <= 1 && b.open.Pos.Line == b.close.Pos.Line
}

// held is what the layout asks of the pieces inside of others.
type held struct {
	// block: there is one. bracketString: there is a string with a bracket in it.
	block, bracketString bool
}

// hasBlock reports whether a block is among the pieces or inside them.
func (s sequence) hasBlock() bool { return s.held().block }

// hasBracketString reports whether a string inside the brackets has a bracket in it.
func (b *enclosed) hasBracketString() bool { return b.holds().bracketString }

// holds is what is inside of the brackets. It is found once, for brackets around brackets ask again.
func (b *enclosed) holds() held {
	if b.inside == nil {
		h := held{}
		for _, line := range b.lines {
			l := line.held()
			h = held{h.block || l.block, h.bracketString || l.bracketString}
		}
		b.inside = &h
	}
	return *b.inside
}

func (s sequence) held() (all held) {
	for _, p := range s {
		h := held{block: isBlockPiece(p)}
		switch p := p.(type) {
		case *leaf:
			h.bracketString = p.Type == kindString && strings.ContainsAny(p.Value, "()[]")
		case *enclosed:
			in := p.holds()
			h.block, h.bracketString = h.block || in.block, in.bracketString
		case *compound:
			h = p.pieces.held()
		}
		all = held{all.block || h.block, all.bracketString || h.bracketString}
	}
	return all
}
