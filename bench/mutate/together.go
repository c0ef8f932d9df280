package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// This file puts many faults into one build. Compiling and linking the tests takes
// longer than most tests, so each function that faults change becomes a switch:
//
//	func f(p0 int) int {
//		switch faultPut {
//		case "id":
//			return fault1_f(p0)
//		}
//		return sound_f(p0)
//	}
//
// and an environment variable says which fault a run has. Faults that are in no
// function, or that do not build this way, are tried one build at a time.

// faultVariable names the fault that is in a run of the tests.
const faultVariable = "TILEC_FAULT"

// together puts those faults into the tree that can be in it side by side.
func (t *tree) together(list []Fault) error {
	t.put = map[string]bool{}
	byFile := map[string][]Fault{}
	for _, f := range list {
		byFile[f.File] = append(byFile[f.File], f)
	}
	refused := map[string]bool{}
	for {
		t.put = map[string]bool{}
		ranges := map[string][]faultLines{}
		folders := map[string]string{} // the package of each
		for path, faults := range byFile {
			if !strings.HasSuffix(path, ".go") {
				continue
			}
			source, err := os.ReadFile(filepath.Join(t.origin, path))
			if err != nil {
				return err
			}
			faults = slices.DeleteFunc(slices.Clone(faults), func(f Fault) bool { return refused[f.ID] })
			text, name, lines, err := switched(path, string(source), faults)
			if err != nil {
				return err
			}
			if err := os.WriteFile(filepath.Join(t.root, path), []byte(text), 0o644); err != nil {
				return err
			}
			ranges[path] = lines
			for _, l := range lines {
				t.put[l.id] = true
				folders[filepath.Dir(path)] = name
			}
		}
		args := []string{"-n", "10", "go", "build", "-trimpath"}
		for folder, name := range folders {
			text := "package " + name + "\n\nimport \"os\"\n\nvar faultPut = os.Getenv(\"" + faultVariable + "\")\n"
			if err := os.WriteFile(filepath.Join(t.root, folder, "faultput.go"), []byte(text), 0o644); err != nil {
				return err
			}
			args = append(args, "./"+folder)
		}
		cmd := exec.Command("nice", args...)
		cmd.Dir = t.root
		out, err := cmd.CombinedOutput()
		if err == nil {
			return nil
		}
		before := len(refused)
		for _, m := range compileError.FindAllStringSubmatch(string(out), -1) {
			line, _ := strconv.Atoi(m[2])
			for _, l := range ranges[filepath.Clean(m[1])] {
				if l.from <= line && line <= l.to {
					refused[l.id] = true
				}
			}
		}
		if len(refused) == before {
			return fmt.Errorf("the faults do not build together: %s", out)
		}
	}
}

var compileError = regexp.MustCompile(`(?m)^(?:\./)?(\S+\.go):(\d+):\d+: `)

// faultLines are the lines of the function with a fault in it.
type faultLines struct {
	id       string
	from, to int
}

// switched gives a file in which each function that a fault changes is a switch,
// the name of its package, and where the functions with faults are.
func switched(path, source string, list []Fault) (text, pkg string, lines []faultLines, err error) {
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, path, source, parser.SkipObjectResolution)
	if err != nil {
		return "", "", nil, err
	}
	at := func(p token.Pos) int { return files.Position(p).Offset }
	slice := func(n ast.Node) string { return source[at(n.Pos()):at(n.End())] }
	type edit struct {
		from, to int
		text     string
	}
	var edits []edit
	var appended []struct{ id, text string }
	for _, d := range file.Decls {
		fn, ok := d.(*ast.FuncDecl)
		if !ok || fn.Body == nil || fn.Name.Name == "init" || fn.Name.Name == "main" {
			continue
		}
		begin, end := at(fn.Pos()), at(fn.End())
		var cases []string
		for i, f := range list {
			from := strings.Index(source, f.Old)
			if from < at(fn.Body.Pos()) || from+len(f.Old) > end || strings.Count(source, f.Old) != 1 {
				continue
			}
			name := fmt.Sprintf("fault%d_%s", i, fn.Name.Name)
			body := source[begin:at(fn.Name.Pos())] + name + source[at(fn.Name.End()):from] + f.New + source[from+len(f.Old):end]
			appended = append(appended, struct{ id, text string }{f.ID, body})
			cases = append(cases, fmt.Sprintf("\tcase %q:\n\t\t%s\n", f.ID, callOf(fn, name, slice)))
		}
		if len(cases) == 0 {
			continue
		}
		sound := "sound_" + fn.Name.Name // not exported: tests may look at what is
		edits = append(edits, edit{at(fn.Name.Pos()), at(fn.Name.End()), sound})
		appended = append(appended, struct{ id, text string }{"", header(fn, slice) + " {\n\tswitch faultPut {\n" + strings.Join(cases, "") + "\t}\n\t" + callOf(fn, sound, slice) + "\n}"})
	}
	slices.SortFunc(edits, func(a, b edit) int { return b.from - a.from })
	text = source
	for _, e := range edits {
		text = text[:e.from] + e.text + text[e.to:]
	}
	for _, a := range appended {
		text += "\n"
		from := 1 + strings.Count(text, "\n")
		text += a.text + "\n"
		if a.id != "" {
			lines = append(lines, faultLines{a.id, from, strings.Count(text, "\n")})
		}
	}
	return text, file.Name.Name, lines, nil
}

// parametersOf lists parameters with names of their own, and the arguments that hand them on.
func parametersOf(fields *ast.FieldList, prefix string, slice func(ast.Node) string) (params, args []string) {
	if fields == nil {
		return nil, nil
	}
	for _, f := range fields.List {
		for range max(len(f.Names), 1) {
			name := fmt.Sprintf("%s%d", prefix, len(params))
			params = append(params, name+" "+slice(f.Type))
			if _, variadic := f.Type.(*ast.Ellipsis); variadic {
				name += "..."
			}
			args = append(args, name)
		}
	}
	return params, args
}

// header is a function's signature with parameters p0, p1, ... and a receiver r0.
func header(fn *ast.FuncDecl, slice func(ast.Node) string) string {
	recv, _ := parametersOf(fn.Recv, "r", slice)
	params, _ := parametersOf(fn.Type.Params, "p", slice)
	text := "func "
	if len(recv) > 0 {
		text += "(" + recv[0] + ") "
	}
	text += fn.Name.Name
	if fn.Type.TypeParams != nil {
		text += slice(fn.Type.TypeParams)
	}
	text += "(" + strings.Join(params, ", ") + ")"
	if fn.Type.Results != nil {
		var results []string
		for _, f := range fn.Type.Results.List {
			for range max(len(f.Names), 1) {
				results = append(results, slice(f.Type))
			}
		}
		text += " (" + strings.Join(results, ", ") + ")"
	}
	return text
}

// callOf hands the parameters of header on to another function.
func callOf(fn *ast.FuncDecl, name string, slice func(ast.Node) string) string {
	_, args := parametersOf(fn.Type.Params, "p", slice)
	call := name
	if fn.Recv != nil {
		call = "r0." + name
	}
	if fn.Type.TypeParams != nil {
		var types []string
		for _, f := range fn.Type.TypeParams.List {
			for _, n := range f.Names {
				types = append(types, n.Name)
			}
		}
		call += "[" + strings.Join(types, ", ") + "]"
	}
	call += "(" + strings.Join(args, ", ") + ")"
	if fn.Type.Results != nil {
		return "return " + call
	}
	return call + "\n\t\treturn"
}
