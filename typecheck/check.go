package typecheck

import (
	"fmt"

	"tilec/lang"
	"tilec/typecheck/size"
	"tilec/typecheck/typed"
)

// Loader gives the file that an import names: a standard file ("std/nn"), or a
// path relative to the importing file. A file that is asked for twice must have
// the same Source.Path both times.
type Loader = func(path string, from *lang.Module, at lang.Span) (*lang.Module, lang.Diagnostics)

// Check types a file and everything that it imports. The program is complete
// when there are no diagnostics; with some, it holds what could be typed. Of a
// file with syntax errors it reports what is wrong in the intact declarations,
// and nothing that follows from what could not be parsed.
func Check(root *lang.Module, load Loader) (*typed.Program, lang.Diagnostics) {
	c := &checker{
		prog:      &typed.Program{},
		modules:   map[string]*module{},
		fns:       map[*lang.FnDecl]*fnInfo{},
		structs:   map[*lang.StructDecl]*structInfo{},
		consts:    map[*lang.ConstDecl]*constInfo{},
		kernels:   map[*lang.KernelDecl]*typed.Kernel{},
		graphs:    map[*lang.GraphDecl]*typed.Graph{},
		tests:     map[string]lang.Span{},
		reported:  map[errorKey]bool{},
		broken:    map[lang.Decl]bool{},
		recursive: map[lang.Decl]bool{},
		sigs:      map[lang.Decl]*signature{},
	}
	c.loadAll(root, load)
	for _, m := range c.order {
		c.declareModule(m)
	}
	for _, m := range c.order {
		c.importNames(m)
	}
	c.findRecursion()
	c.checkDecls()
	c.unused()
	c.prog.Warnings = c.causes(c.prog.Warnings)
	return c.prog, c.diags.Sort()
}

// checker is the state of one Check.
type checker struct {
	prog    *typed.Program
	diags   lang.Diagnostics
	modules map[string]*module // by Source.Path
	order   []*module          // imported before importing
	fns     map[*lang.FnDecl]*fnInfo
	structs map[*lang.StructDecl]*structInfo
	consts  map[*lang.ConstDecl]*constInfo
	kernels map[*lang.KernelDecl]*typed.Kernel
	graphs  map[*lang.GraphDecl]*typed.Graph
	tests   map[string]lang.Span // the first of each name
	serial  int
	// reported is every error so far.
	reported map[errorKey]bool
	// broken are the kernels and graphs whose signature has errors.
	broken map[lang.Decl]bool
	// recursive are the fns and graphs that call themselves.
	recursive map[lang.Decl]bool
	// sigs are the signatures of kernels and graphs.
	sigs map[lang.Decl]*signature
	// muted counts the reasons not to report: checking what is already known to be wrong.
	muted int
	// sizing counts the places that we are in where a size is needed: shapes, axes, slices.
	sizing int
	// calls are the fn calls being inlined, outermost first, for what is typed by rules of no body.
	calls []frame
	// found counts the errors met, those that were said before too.
	found int
}

// checkDecls types every declaration: first what signatures need, then signatures, then bodies.
func (c *checker) checkDecls() {
	// What is left of a damaged declaration is typed for its types, not for its errors.
	quietFrom := lang.DamagedHeader
	each := func(visit func(*module, lang.Decl)) {
		for _, m := range c.order {
			for _, d := range m.tree.Decls {
				if quiet := d.SyntaxErrors() >= quietFrom; quiet {
					c.muted++
					visit(m, d)
					c.muted--
				} else {
					visit(m, d)
				}
			}
		}
	}
	each(func(m *module, d lang.Decl) {
		switch d := d.(type) {
		case *lang.ConstDecl:
			c.constValue(m, d)
		case *lang.StructDecl:
			c.structOf(m, d)
		}
	})
	each(func(m *module, d lang.Decl) {
		switch d := d.(type) {
		case *lang.KernelDecl:
			c.kernelOf(m, d)
		case *lang.GraphDecl:
			c.graphOf(m, d)
		case *lang.FnDecl:
			c.checkFn(m, d)
		}
	})
	quietFrom = lang.DamagedBody
	each(func(m *module, d lang.Decl) {
		switch d := d.(type) {
		case *lang.KernelDecl:
			c.kernelBody(m, d)
		case *lang.GraphDecl:
			c.graphBody(m, d)
		case *lang.TestDecl:
			if m == c.order[len(c.order)-1] { // those of an imported file are its own matter
				c.testBody(m, d)
			}
		}
	})
}

type errorKey struct {
	code    lang.Code
	at      lang.Span
	message string
}

// report is a diagnostic under construction.
type report struct {
	*lang.Diagnostic
	// many: so many errors have been found that no names are proposed any more.
	many bool
}

// Errorf reports an error at a place; inside a fn, with where it was called.
func (c *checker) Errorf(code lang.Code, at lang.Span, format string, args ...any) report {
	return labelCalls(c.reportf(code, at, format, args...), c.calls)
}

// reportf reports an error at a place.
func (c *checker) reportf(code lang.Code, at lang.Span, format string, args ...any) report {
	d := &lang.Diagnostic{Code: code, At: at, Message: fmt.Sprintf(format, args...)}
	// A fn is typed once for itself and once for every call: what is wrong in all is said once.
	k := errorKey{code, at, d.Message}
	c.found++
	if c.muted == 0 && !c.reported[k] {
		c.reported[k] = true
		c.diags = append(c.diags, d)
	}
	return report{d, c.found > mostSuggested}
}

// label says something of another place.
func (r report) label(at lang.Span, format string, args ...any) report {
	if at.IsValid() {
		r.Labels = append(r.Labels, lang.Label{At: at, Text: fmt.Sprintf(format, args...)})
	}
	return r
}

// here is the text beside the carets.
func (r report) here(format string, args ...any) report {
	r.Label = fmt.Sprintf(format, args...)
	return r
}

func (r report) note(format string, args ...any) report {
	r.Notes = append(r.Notes, fmt.Sprintf(format, args...))
	return r
}

// help says what to do where it takes a person to do it.
func (r report) help(format string, args ...any) report {
	r.Fix = &lang.Fix{Message: fmt.Sprintf(format, args...)}
	return r
}

// replace proposes an edit: the span becomes the text.
func (r report) replace(at lang.Span, text, format string, args ...any) report {
	r.Fix = &lang.Fix{Message: fmt.Sprintf(format, args...), Edits: []lang.Edit{{At: at, New: text}}}
	return r
}

// insertAfter proposes to write text behind a span.
func (r report) insertAfter(at lang.Span, text, format string, args ...any) report {
	return r.replace(lang.Span{Source: at.Source, Start: at.End, End: at.End}, text, format, args...)
}

// suggest adds "did you mean" when a name is close.
func (r report) suggest(at lang.Span, name string, candidates []string) report {
	if r.many {
		return r
	}
	if n := lang.Nearest(name, candidates); n != "" {
		return r.replace(at, n, "did you mean `%s`?", n)
	}
	return r
}

// orHelp is help where nothing better was found.
func (r report) orHelp(format string, args ...any) report {
	if r.Fix != nil {
		return r
	}
	return r.help(format, args...)
}

// plural is "1 argument", "2 arguments".
func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	if what == "index" {
		return fmt.Sprintf("%d indices", n)
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// newHidden makes a symbol that stands for an integer of the program in proofs.
func (c *checker) newHidden(name string) *size.Symbol {
	c.serial++
	return &size.Symbol{Name: name, Kind: size.PositionSymbol, DType: lang.I32, Serial: c.serial}
}
