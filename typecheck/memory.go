package typecheck

import (
	"slices"
	"strings"

	"tilec/lang"
	"tilec/typecheck/report"
	"tilec/typecheck/rules"
	"tilec/typecheck/typed"
)

// This file checks a file again after a change. Names, constants, structs and signatures are typed anew each time; what
// takes the time, the bodies, only where something that they depend on is not as it was. A body depends on its own text,
// on what each name in it stands for, and on what those declarations depend on in turn: of a kernel or a graph, whose
// calls look at its signature alone, that is its header.

// Memory is what is known of the declarations of a file, and of those that it imports, from the last check. It knows a
// declaration again by its node: see parser.Tree. The zero Memory knows nothing.
type Memory struct {
	decls map[lang.Decl]*remembered
	files map[string]*fileBefore // by Source.Path
}

// fileBefore is a file as it was.
type fileBefore struct {
	names      map[string]meaning
	incomplete bool
}

// meaning is what a name of a file stood for, as far as those can tell who use it.
type meaning struct {
	kind   rules.EntityKind
	decl   lang.Decl // of a fn, a constant or a struct
	path   string    // of the file that declares a kernel or a graph
	header string
	// wrong: the signature has errors. recursive: it calls itself.
	wrong, recursive bool
}

// remembered is what is known of a declaration.
type remembered struct {
	// header is that of a kernel or a graph; "" of another, of which its users depend on everything.
	header string
	// names are all names in it, inHeader those that its users depend on, and reads those that may be of a file that it imports.
	names, inHeader, reads map[string]bool
	wrong, recursive       bool
	// body is what was said of its body, and unused of its names that nothing uses; nil where it has to be said anew.
	body, unused *kept
}

// Checked is a file that was checked again.
type Checked struct {
	Errors, Warnings lang.Diagnostics
	// Modules are the files, the root the last.
	Modules []*lang.Module
	// Bodies are those of kernels, graphs and tests, in the order of a program: kernels first, tests last.
	Bodies []Body
}

// Body is what a declaration does.
type Body struct {
	Decl lang.Decl
	// Typed is the *typed.Kernel, *typed.Graph or *typed.Test; nil where the types in the body are those of the last check.
	Typed typed.Node
}

// Check does what Check does, with the errors and warnings that it gives, for a file that may have changed since the last time.
func (mem *Memory) Check(root *lang.Module, load Loader) *Checked {
	c := newProgram(root)
	c.again = &again{before: *mem, now: Memory{decls: map[lang.Decl]*remembered{}, files: map[string]*fileBefore{}}, sources: map[*lang.Source]*lang.Module{}}
	*mem = Memory{} // a panic leaves nothing
	errors := c.check(load)
	*mem = c.again.now
	x := &Checked{Errors: errors, Warnings: c.Program.Warnings, Modules: c.Program.Modules}
	for _, bodies := range c.again.bodies {
		x.Bodies = append(x.Bodies, bodies...)
	}
	return x
}

// again is a check of a file that may have been checked before.
type again struct {
	before, now Memory
	sources     map[*lang.Source]*lang.Module
	bodies      [3][]Body // of kernels, of graphs, of tests
	// changed are the names of each file that mean something else than before; stale are the declarations of which the
	// part that others depend on depends on one of those.
	changed map[*rules.Module]map[string]bool
	stale   map[lang.Decl]bool
	// newNames: a file has a name more, or less, so that others may be proposed for one that is unknown.
	newNames bool
}

// compare finds what is not as it was, once signatures are typed.
func (c *program) compare() {
	a := c.again
	if a == nil {
		return
	}
	for _, m := range c.order {
		a.sources[m.Tree.Source] = m.Tree
		for _, d := range m.Tree.Decls {
			var r remembered
			if old := a.before.decls[d]; old != nil {
				r = *old
				r.body, r.unused = nil, nil
			} else {
				r = remember(d)
			}
			r.wrong, r.recursive = c.Broken[d], c.Recursive[d]
			a.now.decls[d] = &r
		}
	}
	whole := len(a.before.files) == len(c.order)
	for _, m := range c.order {
		f := &fileBefore{names: make(map[string]meaning, len(m.Scope.Names)), incomplete: m.Incomplete}
		for name, e := range m.Scope.Names {
			x := meaning{kind: e.Kind}
			if r := a.now.decls[e.Decl]; r != nil {
				x = meaning{kind: e.Kind, wrong: r.wrong, recursive: r.recursive}
				if r.header != "" {
					x.path, x.header = e.Module.Tree.Source.Path, r.header
				} else {
					x.decl = e.Decl
				}
			}
			f.names[name] = x
		}
		a.now.files[m.Tree.Source.Path] = f
		old := a.before.files[m.Tree.Source.Path]
		whole = whole && old != nil && old.incomplete == f.incomplete
	}
	if !whole {
		a.before = Memory{}
	}
	a.changed, a.stale = map[*rules.Module]map[string]bool{}, map[lang.Decl]bool{}
	for _, m := range c.order {
		if whole {
			a.changed[m] = changedNames(a.before.files[m.Tree.Source.Path], a.now.files[m.Tree.Source.Path], &a.newNames)
		}
	}
	c.findStale()
}

func changedNames(was, is *fileBefore, newNames *bool) map[string]bool {
	changed := map[string]bool{}
	for name, x := range is.names {
		old, known := was.names[name]
		*newNames = *newNames || !known
		if !known || old != x {
			changed[name] = true
		}
	}
	for name := range was.names {
		if _, known := is.names[name]; !known {
			*newNames, changed[name] = true, true
		}
	}
	return changed
}

// findStale follows the changes to the declarations that depend on them through others.
func (c *program) findStale() {
	a := c.again
	var reached []lang.Decl
	reach := func(d lang.Decl) {
		if !a.stale[d] {
			a.stale[d] = true
			reached = append(reached, d)
		}
	}
	for _, m := range c.order {
		for _, d := range m.Tree.Decls {
			if anyOf(a.now.decls[d].inHeader, a.changed[m]) {
				reach(d)
			}
		}
	}
	if len(reached) == 0 {
		return
	}
	users := map[lang.Decl][]lang.Decl{}
	for _, m := range c.order {
		for _, d := range m.Tree.Decls {
			for name := range a.now.decls[d].inHeader {
				if e := m.Scope.Names[name]; e != nil && e.Decl != nil {
					users[e.Decl] = append(users[e.Decl], d)
				}
			}
		}
	}
	for len(reached) > 0 {
		d := reached[0]
		reached = reached[1:]
		for _, user := range users[d] {
			reach(user)
		}
	}
}

// anyOf reports a name that is in both sets.
func anyOf(a, b map[string]bool) bool {
	for name := range b {
		if a[name] {
			return true
		}
	}
	return false
}

// sameBody reports whether all that the body of a declaration depends on is as it was.
func (a *again) sameBody(m *rules.Module, d lang.Decl) bool {
	old, r := a.before.decls[d], a.now.decls[d]
	if old == nil || old.wrong != r.wrong || old.recursive != r.recursive || a.stale[d] || anyOf(r.names, a.changed[m]) {
		return false
	}
	if len(a.stale) > 0 {
		for name := range r.names {
			if e := m.Scope.Names[name]; e != nil && a.stale[e.Decl] {
				return false
			}
		}
	}
	return true
}

// part checks the body of a declaration, or says again what was said of it. check gives the typed body, or nil for none.
func (c *program) part(m *rules.Module, d lang.Decl, check func() typed.Node) {
	a := c.again
	if a == nil {
		check()
		return
	}
	body := Body{Decl: d}
	if old := a.before.decls[d]; c.Muted == 0 && old != nil && old.body != nil && (old.body.part.Silent() || !a.newNames) && a.sameBody(m, d) &&
		c.sayAgain(old.body) {
		a.now.decls[d].body = old.body
	} else {
		p := c.Part(func() { body.Typed = check() })
		if c.Muted == 0 && d.SyntaxErrors() == lang.Intact {
			a.now.decls[d].body = a.keep(&p)
		}
	}
	switch d.(type) {
	case *lang.KernelDecl:
		a.bodies[0] = append(a.bodies[0], body)
	case *lang.GraphDecl:
		a.bodies[1] = append(a.bodies[1], body)
	case *lang.TestDecl:
		a.bodies[2] = append(a.bodies[2], body)
	}
}

// ownPart says of a declaration what depends on its text alone.
func (c *program) ownPart(d lang.Decl, check func()) {
	if c.again == nil {
		check()
		return
	}
	if old := c.again.before.decls[d]; old != nil && old.unused != nil && c.sayAgain(old.unused) {
		c.again.now.decls[d].unused = old.unused
		return
	}
	p := c.Part(check)
	c.again.now.decls[d].unused = c.again.keep(&p)
}

func (c *program) sayAgain(k *kept) bool {
	p, ok := c.again.restore(k)
	return ok && c.Again(p)
}

// remember takes from a declaration what does not change with its place.
func remember(d lang.Decl) remembered {
	r := remembered{names: map[string]bool{}, reads: map[string]bool{}}
	var body *lang.Block
	switch d := d.(type) {
	case *lang.KernelDecl:
		body = d.Body
	case *lang.GraphDecl:
		body = d.Body
	}
	above := true
	take := func(name string) {
		r.names[name] = true
		if above {
			r.inHeader[name] = true
		}
	}
	if r.inHeader = r.names; body != nil {
		r.inHeader = map[string]bool{}
		at := d.Span()
		at.End = body.Place.Start
		r.header = strings.Clone(at.Text())
	}
	lang.Walk(d, func(n lang.Node) bool {
		switch n := n.(type) {
		case *lang.Block:
			above = above && n != body
		case *lang.Ident:
			take(n.Name)
		case *lang.NameExpr:
			take(n.Name)
			r.reads[n.Name] = true
		case *lang.TypeExpr:
			r.reads[n.Name.Name] = true
		}
		return true
	})
	return r
}

// kept is what was said of a part of a program, with places that move with their declarations.
type kept struct {
	part   report.Part
	places []where
}

// where is a place in a declaration, from the start of which it counts; of no declaration for no place.
type where struct {
	decl       lang.Decl
	start, end int
}

// keep takes what was said of a part; nil where a place is in no declaration.
func (a *again) keep(p *report.Part) *kept {
	k := &kept{part: *p}
	k.part.Errors, k.part.Warnings = cloned(p.Errors), cloned(p.Warnings)
	ok := true
	k.eachPlace(func(at *lang.Span) {
		w := where{}
		if at.IsValid() {
			if w.decl = a.around(*at); w.decl == nil {
				ok = false
				return
			}
			start := w.decl.Span().Start
			w.start, w.end = at.Start-start, at.End-start
		}
		k.places = append(k.places, w)
	})
	if !ok {
		return nil
	}
	return k
}

// restore gives what was said of a part with its places as they are now, and reports whether they are all still there.
func (a *again) restore(k *kept) (*report.Part, bool) {
	now := &kept{part: k.part}
	now.part.Errors, now.part.Warnings = cloned(k.part.Errors), cloned(k.part.Warnings)
	ok, i := true, 0
	now.eachPlace(func(at *lang.Span) {
		w := k.places[i]
		i++
		if w.decl == nil {
			return
		}
		if a.now.decls[w.decl] == nil {
			ok = false
			return
		}
		in := w.decl.Span()
		*at = lang.Span{Source: in.Source, Start: in.Start + w.start, End: in.Start + w.end}
	})
	return &now.part, ok
}

// around is the declaration that a place lies in; nil for none.
func (a *again) around(at lang.Span) lang.Decl {
	m := a.sources[at.Source]
	if m == nil {
		return nil
	}
	if d := m.DeclAt(at.Start); d != nil && at.End <= d.Span().End {
		return d
	}
	return nil
}

// eachPlace visits the places of all diagnostics, always in one order.
func (k *kept) eachPlace(visit func(*lang.Span)) {
	for _, ds := range []lang.Diagnostics{k.part.Errors, k.part.Warnings} {
		for _, d := range ds {
			visit(&d.At)
			for i := range d.Labels {
				visit(&d.Labels[i].At)
			}
			if d.Fix != nil {
				for i := range d.Fix.Edits {
					visit(&d.Fix.Edits[i].At)
				}
			}
		}
	}
}

// cloned are diagnostics that share nothing with the ones given: a reader may add to them.
func cloned(ds lang.Diagnostics) lang.Diagnostics {
	all := slices.Clone(ds)
	for i, d := range all {
		x := *d
		x.Labels, x.Notes = slices.Clone(d.Labels), slices.Clone(d.Notes)
		if d.Fix != nil {
			x.Fix = &lang.Fix{Message: d.Fix.Message, Edits: slices.Clone(d.Fix.Edits)}
		}
		all[i] = &x
	}
	return all
}
