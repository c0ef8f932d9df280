package lang

import "strings"

// Listing is a text of the compiler, line by line: a program in one of its stages, of which a line knows which place of the source became it.
type Listing []ListedLine

// ListedLine is a line without its newline. At is the zero Span where the line comes from no place of a source.
type ListedLine struct {
	Text string
	At   Span
}

// NewListing puts a text, of which each line ends with a newline, and the places of its lines together. Lines behind the last place have none.
func NewListing(text string, places []Span) Listing {
	if text == "" {
		return nil
	}
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	l := make(Listing, len(lines))
	for i, line := range lines {
		l[i].Text = line
		if i < len(places) {
			l[i].At = places[i]
		}
	}
	return l
}

// String is the text.
func (l Listing) String() string {
	var b strings.Builder
	for _, line := range l {
		b.WriteString(line.Text)
		b.WriteByte('\n')
	}
	return b.String()
}

// LinesOf gives, for each line, the number of the line of a source that became it, from 1; 0 where it comes from elsewhere.
func (l Listing) LinesOf(s *Source) []int {
	lines := make([]int, len(l))
	for i, line := range l {
		if s != nil && line.At.Source == s {
			lines[i], _ = line.At.Position()
		}
	}
	return lines
}
