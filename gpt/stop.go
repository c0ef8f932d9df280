package gpt

import "strings"

// stopper cuts a text before the first of several stop strings, where the text comes in pieces. Text that may be the
// beginning of a stop string is held back until what follows tells, so that nothing of a stop string is given.
type stopper struct {
	stops []string
	held  string
}

// push takes the next piece and gives what is certain to be text. Stopped reports that a stop string is complete: the text ends
// with what is given. Of several stop strings that one counts which is complete first, and among those the longest, so that
// the text does not depend on how it is cut into pieces.
func (s *stopper) push(piece string) (text string, stopped bool) {
	all := s.held + piece
	begin, end := -1, len(all)+1
	for _, stop := range s.stops {
		// What was held is no whole stop string, yet one may begin in it.
		if at := strings.Index(all, stop); at >= 0 && (at+len(stop) < end || at+len(stop) == end && at < begin) {
			begin, end = at, at+len(stop)
		}
	}
	if begin >= 0 {
		s.held = ""
		return all[:begin], true
	}
	n := 0
	for _, stop := range s.stops {
		n = max(n, beginning(all, stop))
	}
	s.held = strings.Clone(all[len(all)-n:])
	return all[:len(all)-n], false
}

// flush ends the text and gives what was held back.
func (s *stopper) flush() string {
	text := s.held
	s.held = ""
	return text
}

// beginning is the length of the longest end of a text that a stop string begins with and is longer than.
func beginning(text, stop string) int {
	for n := min(len(text), len(stop)-1); n > 0; n-- {
		if strings.HasSuffix(text, stop[:n]) {
			return n
		}
	}
	return 0
}
