package bpe

import (
	"sort"
	"strings"
	"unicode"
)

// addedToken is a token that no merge makes: its text is looked for before a text is cut into pieces.
type addedToken struct {
	text string
	id   int32
	// stripLeft and stripRight say that white space on that side of it is part of it.
	stripLeft, stripRight bool
}

// addedTokens are looked for together: the one that begins first is found, of several the longest.
type addedTokens struct {
	byFirst map[byte][]addedToken // by the first byte, the longest first
	firsts  string                // the keys of byFirst
}

func newAddedTokens(all []addedToken) addedTokens {
	a := addedTokens{byFirst: map[byte][]addedToken{}}
	for _, t := range all {
		a.byFirst[t.text[0]] = append(a.byFirst[t.text[0]], t)
	}
	var firsts []byte
	for first, same := range a.byFirst {
		sort.Slice(same, func(i, j int) bool { return len(same[i].text) > len(same[j].text) })
		firsts = append(firsts, first)
	}
	a.firsts = string(firsts)
	return a
}

// cut finds the first token in a text and gives the text before and after it.
func (a addedTokens) cut(text string) (before string, t addedToken, after string, found bool) {
	for at := 0; len(a.firsts) > 0 && at < len(text); at++ {
		if strings.IndexByte(a.firsts, text[at]) < 0 {
			continue
		}
		for _, t := range a.byFirst[text[at]] {
			if !strings.HasPrefix(text[at:], t.text) {
				continue
			}
			before, after = text[:at], text[at+len(t.text):]
			if t.stripLeft {
				before = strings.TrimRightFunc(before, unicode.IsSpace)
			}
			if t.stripRight {
				after = strings.TrimLeftFunc(after, unicode.IsSpace)
			}
			return before, t, after, true
		}
	}
	return text, addedToken{}, "", false
}
