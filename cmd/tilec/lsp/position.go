package lsp

import (
	"sort"
	"unicode/utf8"

	"go.lsp.dev/protocol"

	"tilec/lang"
)

// lines maps the places of a text between byte offsets and the protocol's
// lines and characters, which are UTF-16 code units, both from 0.
type lines struct {
	text   string
	starts []int // offset of the first byte of each line
}

// newLines indexes a text. A line ends with \n, \r\n or \r.
func newLines(text string) *lines {
	l := &lines{text: text, starts: []int{0}}
	for i := 0; i < len(text); i++ {
		if text[i] == '\n' || text[i] == '\r' && (i+1 == len(text) || text[i+1] != '\n') {
			l.starts = append(l.starts, i+1)
		}
	}
	return l
}

// units is the number of UTF-16 code units of a character.
func units(r rune) int {
	if r >= 0x10000 {
		return 2
	}
	return 1
}

// position is the place of an offset, which is clamped to the text.
func (l *lines) position(offset int) protocol.Position {
	offset = min(max(offset, 0), len(l.text))
	line := sort.SearchInts(l.starts, offset+1) - 1
	n := 0
	for _, r := range l.text[l.starts[line]:offset] {
		n += units(r)
	}
	return protocol.Position{Line: uint32(line), Character: uint32(n)}
}

// offset is the byte offset of a place. One behind the end of its line is at
// its end; one inside a surrogate pair is before the pair.
func (l *lines) offset(p protocol.Position) int {
	if int64(p.Line) >= int64(len(l.starts)) {
		return len(l.text)
	}
	at, end := l.starts[p.Line], len(l.text)
	if int(p.Line)+1 < len(l.starts) {
		end = l.starts[p.Line+1]
	}
	for n := 0; at < end && l.text[at] != '\n' && l.text[at] != '\r'; {
		r, size := utf8.DecodeRuneInString(l.text[at:])
		if n += units(r); int64(n) > int64(p.Character) {
			break
		}
		at += size
	}
	return at
}

func (l *lines) rangeOf(start, end int) protocol.Range {
	return protocol.Range{Start: l.position(start), End: l.position(max(start, end))}
}

// spanRange is the range of a span of the text that the lines are of.
func (l *lines) spanRange(s lang.Span) protocol.Range { return l.rangeOf(s.Start, s.End) }
