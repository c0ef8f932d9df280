// Package load finds, parses and checks a file and everything that it imports, from disk, from an editor and from the
// standard library. It is all that a tool needs which reads programs; it must not know what becomes of them.
package load

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"sort"
	"strings"
	"sync"

	"tilec/jit/bug"
	"tilec/jit/file"
	"tilec/lang"
	"tilec/parser"
	"tilec/stdlib"
	"tilec/typecheck"
	"tilec/typecheck/typed"
)

// Load parses and checks a file and everything that it imports. The program
// comes even with diagnostics, as far as it could be checked. A failure of the
// compiler is a panic with a *bug.Error.
func (l *Loader) Load(path string, text []byte) (*typed.Program, lang.Diagnostics) {
	stage := "parse"
	defer func() {
		if r := recover(); r != nil {
			panic(l.bug(stage, r, path, text))
		}
	}()
	root, syntax := l.Parse(path, text)
	stage = "check"
	program, ds := typecheck.Check(root, l.Import)
	ProposeImports(root, ds)
	return program, append(ds, syntax...).Sort()
}

// bug is a panic while a file was loaded, with the sources that were read.
func (l *Loader) bug(stage string, value any, path string, text []byte) *bug.Error {
	b := bug.Recovered(stage, value)
	b.Sources = append(b.Sources, bug.Source{Path: path, Text: string(text)})
	for name, m := range l.modules {
		if m != nil && m.Source != nil {
			b.Sources = append(b.Sources, bug.Source{Path: name, Text: m.Source.Text})
		}
	}
	return b
}

// Loader parses a file and what it imports.
type Loader struct {
	// Open gives the text of a file that is not to be read from disk, such as
	// what an editor has of it; it may be nil.
	Open func(name string) (text []byte, ok bool)
	// Parsed, where it is set, is called with each file once it is parsed.
	Parsed func(path string, m *lang.Module)
	// Tree, where it is set, parses instead of the parser: see parser.Tree.
	Tree func(path, text string) (*lang.Module, lang.Diagnostics)

	modules map[string]*lang.Module
}

// Parse parses a text; what the tree lacks is in the diagnostics.
func (l *Loader) Parse(path string, text []byte) (*lang.Module, lang.Diagnostics) {
	if l == nil {
		l = &Loader{}
	}
	if l.Tree != nil {
		return l.Tree(path, string(text))
	}
	m, ds := parser.Parse(lang.NewSource(path, string(text)))
	if m != nil && l.Parsed != nil {
		l.Parsed(path, m)
	}
	return m, ds
}

// Import finds an imported file: "std/nn" in the standard library, anything else
// relative to the file that imports it. A file is parsed once. It is a typecheck.Loader.
func (l *Loader) Import(path string, from *lang.Module, at lang.Span) (*lang.Module, lang.Diagnostics) {
	if l == nil {
		l = &Loader{}
	}
	dir := ""
	if from != nil && from.Source != nil {
		dir = from.Source.Path
	}
	name, read := resolve(path, dir)
	if m, ok := l.modules[name]; ok {
		return m, nil
	}
	text, err := l.read(name, read)
	if err != nil {
		reason := err.Error()
		if errors.Is(err, fs.ErrNotExist) {
			reason = "there is no file " + name
		}
		d := &lang.Diagnostic{Code: lang.ErrImport, At: at, Message: fmt.Sprintf("cannot import %q: %s", path, reason)}
		if near := nearestLibrary(path); near != "" {
			d.Fix = &lang.Fix{Message: fmt.Sprintf("did you mean %q?", near)}
		}
		return nil, lang.Diagnostics{d}
	}
	m, ds := l.Parse(name, text)
	if l.modules == nil {
		l.modules = map[string]*lang.Module{}
	}
	l.modules[name] = m
	return m, ds
}

func (l *Loader) read(name string, fromDisk func() ([]byte, error)) ([]byte, error) {
	if l.Open != nil {
		if text, ok := l.Open(name); ok {
			return text, nil
		}
	}
	return fromDisk()
}

// ProposeImports says, of names that nothing declares, which file of the library does.
func ProposeImports(m *lang.Module, ds lang.Diagnostics) {
	if m == nil {
		return
	}
	var in map[string]shelf
	for _, d := range ds {
		if d.Code != lang.ErrUnknownName || d.At.Source != m.Source {
			continue
		}
		if in == nil {
			in = libraryOf()
		}
		found, ok := in[d.At.Text()]
		if !ok {
			continue
		}
		if found.launched && !inGraph(m, d.At) { // to import what may not be called there would only be another error
			if d.Fix == nil {
				d.Fix = &lang.Fix{Message: fmt.Sprintf("it is %s: `import %q`", found.what, found.file)}
			}
			continue
		}
		d.Fix = &lang.Fix{Message: fmt.Sprintf("it is %s: `import %q`", found.what, found.file), Edits: []lang.Edit{ImportEdit(m, found.file)}}
	}
}

// ImportEdit is what imports one more file: a line below the imports, or at the top.
func ImportEdit(m *lang.Module, file string) lang.Edit {
	line := fmt.Sprintf("import %q\n", file)
	top := lang.Span{Source: m.Source}
	if n := len(m.Imports); n > 0 {
		top.Start = m.Imports[n-1].Place.End
		line = "\n" + strings.TrimSuffix(line, "\n")
	} else {
		top.Start = len(m.Source.Text) - len(strings.TrimPrefix(m.Source.Text, "\ufeff"))
		line += "\n"
	}
	top.End = top.Start
	return lang.Edit{At: top, New: line}
}

// Library visits every fn, kernel and graph of the standard library, by file, with what imports it.
func Library(visit func(file string, d lang.Decl)) {
	in := libraryOf()
	names := slices.Sorted(maps.Keys(in))
	slices.SortStableFunc(names, func(a, b string) int { return strings.Compare(in[a].file, in[b].file) })
	for _, name := range names {
		visit(in[name].file, in[name].decl)
	}
}

// inGraph reports a place in a graph or a test.
func inGraph(m *lang.Module, at lang.Span) bool {
	i := sort.Search(len(m.Decls), func(i int) bool { return m.Decls[i].Span().Start > at.Start })
	if i == 0 {
		return false
	}
	switch m.Decls[i-1].(type) {
	case *lang.GraphDecl, *lang.TestDecl:
		return true
	}
	return false
}

// shelf is where the standard library has a name: the path of the import, what it is, and whether graphs alone may call it.
type shelf struct {
	file, what string
	launched   bool
	decl       lang.Decl
}

// libraryOf finds every name that the standard library declares.
var libraryOf = sync.OnceValue(func() map[string]shelf {
	in := map[string]shelf{}
	files, err := stdlib.FS.ReadDir(".")
	if err != nil {
		return in
	}
	for _, f := range files {
		text, err := stdlib.FS.ReadFile(f.Name())
		if err != nil {
			continue
		}
		m, _ := parser.Parse(lang.NewSource("std/"+f.Name(), string(text)))
		for _, d := range m.Decls {
			s := shelf{file: "std/" + strings.TrimSuffix(f.Name(), ".tile"), decl: d}
			switch d.(type) {
			case *lang.FnDecl:
				s.what = "a function of the standard library"
			case *lang.KernelDecl:
				s.launched = true
				s.what = "a kernel of the standard library, which graphs call"
			case *lang.GraphDecl:
				s.launched = true
				s.what = "a graph of the standard library"
			default:
				continue
			}
			in[d.DeclName().Name] = s
		}
	}
	return in
})

// nearestLibrary is the file of the library that a path which leads nowhere may mean; "" for none.
func nearestLibrary(path string) string {
	files, err := stdlib.FS.ReadDir(".")
	if err != nil {
		return ""
	}
	var names []string
	for _, f := range files {
		name := "std/" + strings.TrimSuffix(f.Name(), ".tile")
		if name == "std/"+strings.TrimSuffix(filepath.Base(path), ".tile") {
			return name
		}
		names = append(names, name)
	}
	return lang.Nearest(path, names)
}

// FileOf is the file that an import in the file from means, and whether that is one of the standard library, which is part of the binary.
func FileOf(path, from string) (name string, library bool) {
	if rest, ok := strings.CutPrefix(path, "std/"); ok {
		return "std/" + strings.TrimSuffix(rest, ".tile") + ".tile", true
	}
	name = filepath.Join(filepath.Dir(from), filepath.FromSlash(path))
	if filepath.Ext(name) != ".tile" {
		name += ".tile"
	}
	return name, false
}

func resolve(path, from string) (name string, read func() ([]byte, error)) {
	name, library := FileOf(path, from)
	if library {
		return name, func() ([]byte, error) { return stdlib.FS.ReadFile(strings.TrimPrefix(name, "std/")) }
	}
	return name, func() ([]byte, error) { return file.Read(name, file.MaxSource) }
}
