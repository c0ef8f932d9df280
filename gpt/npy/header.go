package npy

import (
	"fmt"
	"strconv"
	"strings"
)

// header is the dictionary that describes the array.
type header struct {
	descr        string
	fortranOrder bool
	shape        []int
}

// parseHeader reads the Python dictionary literal of a header: exactly the
// keys 'descr' (a string), 'fortran_order' (True or False) and 'shape' (a tuple
// of integers), in any order.
func parseHeader(text string) (header, error) {
	var h header
	p := literal{text: text}
	fields := map[string]func() error{
		"descr":         func() (err error) { h.descr, err = p.string(); return },
		"fortran_order": func() (err error) { h.fortranOrder, err = p.bool(); return },
		"shape":         func() (err error) { h.shape, err = p.tuple(); return },
	}
	if err := p.dict(fields); err != nil {
		return h, err
	}
	if p.skipSpace(); p.at < len(text) {
		return h, p.wrong("the end")
	}
	return h, nil
}

// literal reads the few kinds of Python literals that headers have.
type literal struct {
	text string
	at   int
}

// wrong is the error of finding something else than what is required.
func (p *literal) wrong(required string) error {
	found := "the end"
	if p.at < len(p.text) {
		found = strconv.Quote(p.text[p.at:min(len(p.text), p.at+16)])
	}
	return fmt.Errorf("%s at byte %d, required %s", found, p.at, required)
}

func (p *literal) skipSpace() {
	for p.at < len(p.text) && strings.IndexByte(" \t\r\n", p.text[p.at]) >= 0 {
		p.at++
	}
}

// accept skips token, and white space before it, if it is next.
func (p *literal) accept(token string) bool {
	p.skipSpace()
	if !strings.HasPrefix(p.text[p.at:], token) {
		return false
	}
	p.at += len(token)
	return true
}

func (p *literal) expect(token string) error {
	if !p.accept(token) {
		return p.wrong(strconv.Quote(token))
	}
	return nil
}

// dict reads a dictionary that has each of the fields once and nothing else.
func (p *literal) dict(fields map[string]func() error) error {
	if err := p.expect("{"); err != nil {
		return err
	}
	seen := map[string]bool{}
	for !p.accept("}") {
		key, err := p.string()
		if err != nil {
			return err
		}
		value, ok := fields[key]
		switch {
		case !ok:
			return fmt.Errorf("key %q is unknown, required descr, fortran_order and shape", key)
		case seen[key]:
			return fmt.Errorf("key %q occurs twice", key)
		}
		seen[key] = true
		if err := p.expect(":"); err != nil {
			return err
		}
		if err := value(); err != nil {
			return fmt.Errorf("%s: %w", key, err)
		}
		if !p.accept(",") {
			if err := p.expect("}"); err != nil {
				return err
			}
			break
		}
	}
	for _, key := range []string{"descr", "fortran_order", "shape"} {
		if !seen[key] {
			return fmt.Errorf("key %q is missing", key)
		}
	}
	return nil
}

// string reads a quoted string without escapes.
func (p *literal) string() (string, error) {
	p.skipSpace()
	for _, quote := range []string{"'", `"`} {
		if !p.accept(quote) {
			continue
		}
		text, _, closed := strings.Cut(p.text[p.at:], quote)
		if !closed {
			return "", p.wrong("a closing " + quote)
		}
		if strings.Contains(text, `\`) {
			return "", p.wrong("a string without escapes")
		}
		p.at += len(text) + len(quote)
		return text, nil
	}
	return "", p.wrong("a string")
}

func (p *literal) bool() (bool, error) {
	switch {
	case p.accept("True"):
		return true, nil
	case p.accept("False"):
		return false, nil
	}
	return false, p.wrong("True or False")
}

// tuple reads a tuple of integers; one of a single element needs its comma, as in Python.
func (p *literal) tuple() ([]int, error) {
	if err := p.expect("("); err != nil {
		return nil, err
	}
	ints := []int{}
	comma := false
	for !p.accept(")") {
		if len(ints) > 0 && !comma {
			return nil, p.wrong(`"," or ")"`)
		}
		n, err := p.int()
		if err != nil {
			return nil, err
		}
		ints = append(ints, n)
		comma = p.accept(",")
	}
	if len(ints) == 1 && !comma {
		return nil, fmt.Errorf("(%d) is a number, required the tuple (%d,)", ints[0], ints[0])
	}
	return ints, nil
}

// int reads an integer, with the L that Python 2 put after long ones.
func (p *literal) int() (int, error) {
	p.skipSpace()
	end := p.at
	for end < len(p.text) && strings.IndexByte("-0123456789", p.text[end]) >= 0 {
		end++
	}
	n, err := strconv.Atoi(p.text[p.at:end])
	if err != nil {
		return 0, p.wrong(fmt.Sprintf("an integer of %d bits", strconv.IntSize))
	}
	p.at = end
	if strings.HasPrefix(p.text[p.at:], "L") {
		p.at++
	}
	return n, nil
}
