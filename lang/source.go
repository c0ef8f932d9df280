package lang

import (
	"sort"
	"unicode/utf8"
)

// Source is one `.tile` text.
type Source struct {
	// Path is the name under which diagnostics show the source.
	Path string
	// Text is the whole file, UTF-8.
	Text  string
	lines []int // offset of the first byte of each line
	// narrow: every code point is one byte, so that columns need not be counted.
	narrow bool
}

// NewSource indexes the lines of a text.
func NewSource(path, text string) *Source {
	s := &Source{Path: path, Text: text, lines: []int{0}, narrow: true}
	for i := 0; i < len(text); i++ {
		s.narrow = s.narrow && text[i] < utf8.RuneSelf
		if text[i] == '\n' {
			s.lines = append(s.lines, i+1)
		}
	}
	return s
}

// Position gives the line and column of a byte offset, both from 1. Columns
// count code points. Offsets outside the text are clamped to it.
func (s *Source) Position(offset int) (line, column int) {
	offset = min(max(offset, 0), len(s.Text))
	line = sort.Search(len(s.lines), func(i int) bool { return s.lines[i] > offset })
	if s.narrow {
		return line, offset - s.lines[line-1] + 1
	}
	return line, utf8.RuneCountInString(s.Text[s.lines[line-1]:offset]) + 1
}

// LineSpan is the place of a line (from 1) without its newline; the zero Span when there is no such line.
func (s *Source) LineSpan(line int) Span {
	if line < 1 || line > len(s.lines) {
		return Span{}
	}
	return Span{s, s.lines[line-1], s.lines[line-1] + len(s.Line(line))}
}

// Line gives the text of a line (from 1) without its newline, "" when there is no such line.
func (s *Source) Line(line int) string {
	if line < 1 || line > len(s.lines) {
		return ""
	}
	end := len(s.Text)
	if line < len(s.lines) {
		end = s.lines[line] - 1
	}
	text := s.Text[s.lines[line-1]:end]
	if n := len(text); n > 0 && text[n-1] == '\r' {
		text = text[:n-1]
	}
	return text
}

// Span is a range of bytes [Start, End) of a source. The zero Span is no place at all.
type Span struct {
	Source     *Source
	Start, End int
}

// IsValid reports whether the span is a place in a source.
func (s Span) IsValid() bool { return s.Source != nil }

// Text is the text that the span covers. It is called, not copied to a hundred places: the binary is smaller.
//
//go:noinline
func (s Span) Text() string {
	if s.Source == nil || s.Start < 0 || s.End > len(s.Source.Text) || s.Start > s.End {
		return ""
	}
	return s.Source.Text[s.Start:s.End]
}

// To is the span from the start of s to the end of t.
func (s Span) To(t Span) Span {
	if !s.IsValid() {
		return t
	}
	if !t.IsValid() || t.Source != s.Source {
		return s
	}
	return Span{s.Source, min(s.Start, t.Start), max(s.End, t.End)}
}

// Position gives the line and column of the span's start; 0, 0 for the zero Span.
func (s Span) Position() (line, column int) {
	if s.Source == nil {
		return 0, 0
	}
	return s.Source.Position(s.Start)
}
