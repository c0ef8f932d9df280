package lsp

import (
	"sort"
	"unicode/utf8"

	"tilec/cmd/tilec/lsp/protocol"
	"tilec/lang"
)

// lines maps the places of a text between byte offsets and the protocol's
// lines and characters, which are UTF-16 code units, both from 0.
type lines struct {
	text   string
	starts []int // offset of the first byte of each line
	wide   []wide
}

// wide is a character of more bytes than code units.
type wide struct {
	end int // the offset behind it
	// more is how many bytes more than code units the text has up to there.
	more int
}

// newLines indexes a text. A line ends with \n, \r\n or \r.
func newLines(text string) *lines {
	l := &lines{text: text, starts: []int{0}}
	more := 0
	for i, size := 0, 1; i < len(text); i += size {
		size = 1
		switch c := text[i]; {
		case c == '\n' || c == '\r' && (i+1 == len(text) || text[i+1] != '\n'):
			l.starts = append(l.starts, i+1)
		case c >= utf8.RuneSelf:
			var r rune
			if r, size = utf8.DecodeRuneInString(text[i:]); size > 1 {
				more += size - units(r)
				l.wide = append(l.wide, wide{i + size, more})
			}
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

// position is the place of an offset, which is clamped to the text. A line may be long and have many places, so that none
// is counted from its beginning.
func (l *lines) position(offset int) protocol.Position {
	offset = min(max(offset, 0), len(l.text))
	line := sort.SearchInts(l.starts, offset+1) - 1
	start := l.starts[line]
	return protocol.Position{Line: uint32(line), Character: uint32(offset - start - (l.more(offset) - l.more(start)))}
}

// more is how many bytes more than code units the text has up to an offset.
func (l *lines) more(offset int) int {
	n := sort.Search(len(l.wide), func(i int) bool { return l.wide[i].end > offset })
	if n == 0 {
		return 0
	}
	return l.wide[n-1].more
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
