package ir

import (
	"fmt"

	"tilec/lang"
)

// This file lets other stages say in the text form what they know of a kernel. A note is a line that begins with @, below the line that it is
// about; notes about the kernel stand behind its declarations. Without its notes the text is the kernel's.

// ParseNoted reads a kernel whose text has notes (Func.Noted), and verifies it. note reads what stands behind the @ of a note about an
// operation, or about the kernel where that is nil; the regions of the operation, and what comes behind it, are still to be read then. whole
// is called with the kernel. Errors, also those that either of them gives the Reader, name the place as `name:line:col`.
func ParseNoted(name, text string, note func(r *Reader, about *Op), whole func(r *Reader, f *Func)) (f *Func, err error) {
	p := newParser(name, text)
	defer func() {
		if err != nil {
			f = nil
		}
	}()
	defer p.catch(&err)
	p.next()
	err = p.noted(Notes{note, whole}, true)
	return p.f, err
}

// Notes read the notes of one kernel, as ParseNoted has them.
type Notes struct {
	Note  func(r *Reader, about *Op)
	Whole func(r *Reader, f *Func)
}

// ParseAllNoted reads the kernels of a text, one or more, as ParseNoted reads one; begin is called before each.
func ParseAllNoted(name, text string, begin func() Notes) (err error) {
	p := newParser(name, text)
	defer p.catch(&err)
	for p.next(); ; {
		p.reset()
		if err := p.noted(begin(), false); err != nil || p.tok.kind == tokEnd {
			return err
		}
	}
}

// noted reads a kernel with notes, which may be all of the text.
func (p *parser) noted(n Notes, all bool) error {
	r := &Reader{p}
	p.note = func(about *Op) { n.Note(r, about) }
	p.kernel()
	if all && p.tok.kind != tokEnd {
		p.fail("%s after the kernel", p.tok)
	}
	if err := Verify(p.f); err != nil {
		return fmt.Errorf("%s: %w", p.file, err)
	}
	n.Whole(r, p.f)
	return nil
}

// notes reads the notes about an operation, or about the kernel, and reports that there were any.
func (p *parser) notes(about *Op) (any bool) {
	for p.note != nil && p.accept("@") {
		p.note(about)
		any = true
	}
	return any
}

// Reader reads what a note says, in the tokens of the text form. What does not stand there as it must ends ParseNoted with an error.
type Reader struct{ p *parser }

// Place is where a token of a text stands.
type Place struct{ tok token }

// Here is the place of the next token.
// It is called, not copied to its many callers: the binary is smaller.
//
//go:noinline
func (r *Reader) Here() Place { return Place{r.p.tok} }

// FailAt ends reading with an error at a place.
// It is called, not copied to its many callers: the binary is smaller.
//
//go:noinline
func (r *Reader) FailAt(at Place, format string, args ...any) { r.p.failAt(at.tok, format, args...) }

// Around is the operation in whose region the note stands; nil in the kernel's body.
func (r *Reader) Around() *Op {
	if n := len(r.p.around); n > 0 {
		return r.p.around[n-1]
	}
	return nil
}

// Next is the next token as messages show it.
func (r *Reader) Next() string { return r.p.tok.String() }

// IsWord reports that a word comes next, which is not one in quotes.
func (r *Reader) IsWord() bool { return r.p.tok.kind == tokWord }

// Accept reads punctuation, a character or `..`, where it comes next; Punct reads one that must.
func (r *Reader) Accept(punct string) bool { return r.p.accept(punct) }

// Punct reads punctuation that must come next.
func (r *Reader) Punct(punct string) { r.p.punct(punct) }

// AcceptWord reads a word where it comes next.
func (r *Reader) AcceptWord(word string) bool { return r.p.acceptWord(word) }

// Word reads a word that must come next.
func (r *Reader) Word(word string) { r.p.word(word) }

// Name reads a word, a plain number or a string in quotes.
func (r *Reader) Name() string { return r.p.name() }

// Integer reads an integer, and Size one of at least 0.
func (r *Reader) Integer() int64 { return r.p.integer() }

// Size reads an integer of at least 0.
func (r *Reader) Size() int64 { return r.p.size() }

// Type reads an element type.
func (r *Reader) Type() lang.DType { return r.p.dtype() }

// Axis reads the name of an axis of the kernel.
func (r *Reader) Axis() *Axis { return r.p.axisUse() }

// IsAxisBefore reports that the name of an axis comes next, and punctuation behind it.
func (r *Reader) IsAxisBefore(punct string) bool {
	if k := r.p.tok.kind; k != tokWord && k != tokString && k != tokNumber {
		return false
	}
	ahead := r.p.lexer
	ahead.next()
	return ahead.is(punct)
}

// Tensor reads the name of a tensor of the kernel, `%x`.
func (r *Reader) Tensor() *Tensor { return r.p.tensorUse() }

// Value reads the number of a value that the text has defined up to here, `%5`.
func (r *Reader) Value() *Value { return r.p.use() }

// Forward reads the number of a value that the text may define further down; find gives that value, nil where the text has none, when
// the kernel is whole.
func (r *Reader) Forward() (find func() *Value) {
	id := r.p.valueID()
	return func() *Value { return r.p.values[id] }
}

// The words of the text form that notes share with it.
var (
	// Quoted gives a name as it is where it is a word or a number, else as a Go string.
	Quoted = quote
	// TensorName is a tensor's name, `%x`, ValueName a value's, `%5`.
	TensorName = tensorName
	ValueName  = use
)
