package block

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"tilec/jit/ir"
	"tilec/jit/layout"
	"tilec/jit/target"
)

// Parse reads a program in its text form (Program.String), and verifies it. Errors of the text name the place as `name:line:col`.
func Parse(name, text string) (*Program, error) {
	p, err := parse(name, text)
	if err != nil {
		return nil, err
	}
	if err := p.Verify(); err != nil {
		return nil, fmt.Errorf("%s: kernel %s: %w", name, p.Func.Name, err)
	}
	return p, nil
}

// ParseAll reads the programs of a text, one or more, as `tilec build --emit=block` prints those of a file.
func ParseAll(name, source string) (all []*Program, err error) {
	err = ir.ParseAllNoted(name, source, func() ir.Notes {
		t := newText()
		all = append(all, t.Program)
		return ir.Notes{Note: t.note, Whole: t.finish}
	})
	if err != nil {
		return nil, err
	}
	for _, p := range all {
		if err := p.Verify(); err != nil {
			return nil, fmt.Errorf("%s: kernel %s: %w", name, p.Func.Name, err)
		}
	}
	return all, nil
}

// parse reads a program without verifying it.
func parse(name, source string) (*Program, error) {
	t := newText()
	_, err := ir.ParseNoted(name, source, t.note, t.finish)
	if err != nil {
		return nil, err
	}
	return t.Program, nil
}

// newText is a text to read a program from.
func newText() *text {
	return &text{Program: newProgram(Settings{}, target.Machine{}), byName: map[string]*Tile{}}
}

// note reads a note about an operation, or about the kernel.
func (t *text) note(r *ir.Reader, op *ir.Op) {
	t.r = r
	at := r.Here()
	word := r.Name()
	i := slices.IndexFunc(notes, func(n note) bool { return n.word == word })
	switch {
	case i < 0:
		r.FailAt(at, "nothing is noted as %s", word)
	case !notes[i].about.is(op):
		r.FailAt(at, "%s is noted about %s", word, notes[i].about.name)
	case i > 0 && t.Target.Name == "":
		r.FailAt(at, "%s before the plan", word)
	case (i > 0 || t.Target.Name != "") && t.lastFor == op && i <= t.last:
		r.FailAt(at, "%s twice, or behind %s", word, notes[t.last].word)
	}
	t.last, t.lastFor = i, op
	notes[i].text(t, op)
}

// finish makes of what was read all that follows from that.
func (t *text) finish(r *ir.Reader, f *ir.Func) {
	t.r = r
	if t.Target.Name == "" {
		r.FailAt(r.Here(), "the kernel has no plan")
	}
	if err := t.of(f); err != nil {
		r.FailAt(r.Here(), "%v", err)
	}
	everywhere := func(vs []*ir.Value) {
		for _, v := range vs {
			if v.Type.IsScalar() {
				t.Homes[v] = layout.Uniform(t.Warps)
			}
		}
	}
	everywhere(f.Scalars)
	f.Walk(func(op *ir.Op) bool {
		everywhere(made(op))
		return true
	})
	for _, x := range t.Pipelines {
		t.Producing = t.Producing || x.Produced
	}
	if t.Words != nil {
		t.Words = t.wordsOf(t.Words.Row)
	}
	for _, later := range slices.Backward(t.later) {
		later()
	}
	if t.Tiles != nil {
		t.leaveInParts()
	}
	slices.SortFunc(t.Maps, func(x, y *TensorMap) int { return cmp.Or(len(x.Name)-len(y.Name), strings.Compare(x.Name, y.Name)) })
	for i, m := range t.Maps {
		if m.Name != mapName(i) {
			r.FailAt(r.Here(), "%s where %s belongs: maps are numbered from 0, each with a number of its own", m.Name, mapName(i))
		}
	}
}
