package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"tilec/cmd/tilec/reference"
	"tilec/lang"
)

func (a *app) docCommand() *cobra.Command {
	folder := ""
	cmd := &cobra.Command{
		Use:   "doc [FILE.tile | std/MODULE] [NAME]",
		Short: "Look up an operation, the standard library, or what a file declares; or make a site of documentation",
		Long: `Doc prints what there is to look up. With nothing it lists the operations of the language and the modules of the standard
library; with a word, the operations that are written so and the library's declarations of that name; with a file or a
module, what that declares, and with a name behind it one declaration: its signature, what it is for, its axes with what a
plan chooses of them, and the tests that use it.

With --site, doc makes a folder of HTML: of the operations, the library, the errors and the commands, or of the pages that
contents list, a text in Markdown with a title, chapters, and pages as items that are links:

  # Our kernels
  ## Begin
  - [About](README.md)
  ## Reference
  - [Attention](attention.tile)
  - [Standard library](tilec:library)

A page is Markdown, a source, of which the page has what it declares, or tilec:operations, tilec:library, tilec:errors or
tilec:commands. What pages link to becomes a page too; a link that leads nowhere is an error.`,
		Example: `  tilec doc
  tilec doc max
  tilec doc softmax
  tilec doc std/nn
  tilec doc my.tile scale
  tilec doc --site html/ contents.md`,
		Args: cobra.MaximumNArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			if folder != "" {
				return a.docSite(cmd.Root(), folder, args)
			}
			return a.doc(args)
		},
	}
	cmd.Flags().StringVar(&folder, "site", "", "make this folder, which must be new or empty, a site of documentation")
	a.jsonFlag(cmd.Flags(), "print one JSON object instead of text")
	return cmd
}

// docPage is what `tilec doc --json` prints: of what was asked for, what there is.
type docPage struct {
	Chapters     []reference.Chapter   `json:"chapters,omitempty"`
	Operations   []reference.Operation `json:"operations,omitempty"`
	Modules      []reference.Module    `json:"modules,omitempty"`
	Declarations []declaration         `json:"declarations,omitempty"`
}

// declaration is a declaration of a module.
type declaration struct {
	Module string `json:"module"`
	reference.Entry
}

// doc prints what the arguments name.
func (a *app) doc(args []string) error {
	page, err := a.lookUp(args)
	if err != nil {
		return err
	}
	if a.json {
		return a.printJSON(page)
	}
	page.write(a.stdout)
	return nil
}

// lookUp finds what the arguments name.
func (a *app) lookUp(args []string) (page docPage, err error) {
	if len(args) == 0 {
		page.Chapters = reference.Operations()
		page.Modules, err = a.library()
		for i := range page.Modules {
			page.Modules[i].Entries = nil
		}
		return page, err
	}
	path, isFile := documented(args[0])
	if !isFile {
		if len(args) > 1 {
			return page, usageError{fmt.Errorf("%s is no file and no module of the standard library, so that nothing of it has the name %s: tilec doc %s", args[0], args[1], args[1])}
		}
		return a.lookUpWord(args[0])
	}
	program, err := a.load(path)
	if err != nil {
		return page, err
	}
	m := reference.Of(program)
	if len(args) == 1 {
		page.Modules = []reference.Module{m}
		return page, nil
	}
	e := m.Find(args[1])
	if e == nil {
		return page, fmt.Errorf("%s declares nothing of the name %s%s", m.Name, args[1], meant(args[1], entryNames([]reference.Module{m})))
	}
	page.Declarations = []declaration{{m.Name, *e}}
	return page, nil
}

// documented is the path of a file or module that an argument names.
func documented(arg string) (path string, ok bool) {
	if arg == "-" || filepath.Ext(arg) == ".tile" {
		return source(arg), true
	}
	if _, ok := embedded(arg + ".tile"); ok {
		return arg + ".tile", true
	}
	_, err := os.Stat(arg)
	return arg, err == nil && strings.ContainsRune(arg, filepath.Separator)
}

// lookUpWord finds operations and declarations of the library.
func (a *app) lookUpWord(word string) (page docPage, err error) {
	modules, err := a.library()
	if err != nil {
		return page, err
	}
	page.Operations = reference.FindOperations(word)
	for _, m := range modules {
		if e := m.Find(word); e != nil {
			page.Declarations = append(page.Declarations, declaration{m.Name, *e})
		}
	}
	if len(page.Operations)+len(page.Declarations) == 0 {
		names := entryNames(modules)
		for _, op := range lang.Ops() {
			names = append(names, op.Row().Spelling)
		}
		return page, fmt.Errorf("there is no operation, and no declaration of the standard library, of the name %s%s; tilec doc lists them", word, meant(word, names))
	}
	return page, nil
}

// library describes what is part of the binary.
func (a *app) library() ([]reference.Module, error) {
	var all []reference.Module
	for _, name := range embeddedNames() {
		program, err := a.load(name)
		if err != nil {
			return nil, err
		}
		all = append(all, reference.Of(program))
	}
	return all, nil
}

// entryNames are the names that modules declare.
func entryNames(modules []reference.Module) (names []string) {
	for _, m := range modules {
		for _, e := range m.Entries {
			names = append(names, e.Name)
		}
	}
	return names
}

// meant proposes the name that was likely meant; nothing where none is near.
func meant(name string, names []string) string {
	if near := lang.Nearest(name, names); near != "" {
		return fmt.Sprintf("; did you mean %s?", near)
	}
	return ""
}

// write prints the page for people.
func (p docPage) write(w io.Writer) {
	between := ""
	section := func() {
		fmt.Fprint(w, between)
		between = "\n"
	}
	for _, c := range p.Chapters {
		section()
		fmt.Fprintln(w, c.Title)
		writeOperations(w, c.Operations)
	}
	for _, o := range p.Operations {
		section()
		writeOperation(w, o)
	}
	if p.Chapters != nil {
		section()
		fmt.Fprintln(w, "Modules")
		t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
		for _, m := range p.Modules {
			fmt.Fprintf(t, "  %s\t%s\n", m.Name, firstSentence(m.About))
		}
		t.Flush()
		return
	}
	for _, m := range p.Modules {
		section()
		fmt.Fprintf(w, "%s\n%s\n", m.Name, indented(m.About))
		for _, e := range m.Entries {
			fmt.Fprintf(w, "\n%s\n%s\n", e.Signature, indented(firstSentence(e.Doc)))
		}
	}
	for _, d := range p.Declarations {
		section()
		d.write(w)
	}
}

// writeOperations lists operations, a line each.
func writeOperations(w io.Writer, operations []reference.Operation) {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, o := range operations {
		fmt.Fprintf(t, "  %s\t%s\n", o.Written, firstSentence(o.Doc))
	}
	t.Flush()
}

// writeOperation prints all that there is to know of an operation.
func writeOperation(w io.Writer, o reference.Operation) {
	fmt.Fprintf(w, "%s\n\n%s\n", o.Written, indented(o.Doc))
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, row := range [][2]string{{"takes; gives", strings.ReplaceAll(o.Types, "`", "")}, {"largest error in f32, ulp", o.Ulp}, {"in the IR", o.IR}, {"in CUDA Tile", o.CuTile}} {
		if row[1] != "" {
			fmt.Fprintf(t, "  %s\t%s\n", row[0], row[1])
		}
	}
	t.Flush()
}

// write prints all that there is to know of a declaration.
func (d declaration) write(w io.Writer) {
	fmt.Fprintf(w, "%s, of %s\n\n%s\n", d.Name, d.Module, d.Signature)
	if d.Doc != "" {
		fmt.Fprintf(w, "\n%s\n", indented(d.Doc))
	}
	if len(d.Axes) > 0 {
		fmt.Fprintln(w)
		t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
		fmt.Fprintln(t, "  axis\tis\tover\textent")
		for _, x := range d.Axes {
			extent := x.Extent
			if len(x.Choices) > 0 {
				extent += " of " + strings.ReplaceAll(strings.Trim(fmt.Sprint(x.Choices), "[]"), " ", ", ")
			} else if x.Chosen {
				extent += ", as planned"
			}
			fmt.Fprintf(t, "  %s\t%s\t%s\t%s\n", x.Name, x.Is, x.Over, extent)
		}
		t.Flush()
	}
	for _, test := range d.Tests {
		fmt.Fprintf(w, "\n%s\n", test.Text)
	}
}

// firstSentence is the first sentence of a text, on one line.
func firstSentence(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	if first, _, ok := strings.Cut(text, ". "); ok {
		return first + "."
	}
	return text
}

// indented sets lines two columns in.
func indented(text string) string {
	return "  " + strings.ReplaceAll(text, "\n", "\n  ")
}
