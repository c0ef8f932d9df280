package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"

	"tilec/lang"
)

// argument is one NAME=VALUE of the command line.
type argument struct {
	name, text string
	// file and tensor are set by `@file` and `@file:tensor`, of an .npz file an array.
	file, tensor string
	// generator makes the elements, from its own arguments: `full(1.5)`.
	generator  *generator
	parameters []float64
	// dims are the sizes in brackets: numbers or names of dimensions; nil without brackets.
	dims []string
	// dtype stands behind the colon; Invalid without one.
	dtype lang.DType
}

// parseArguments reads the arguments of a kernel or graph.
func parseArguments(texts []string) ([]*argument, error) {
	seen := map[string]bool{}
	var all []*argument
	for _, text := range texts {
		name, value, ok := strings.Cut(text, "=")
		if !ok || name == "" || value == "" {
			return nil, usageError{fmt.Errorf("argument %q: must be NAME=VALUE, as in x=randn[4,8] or eps=1e-5", text)}
		}
		if seen[name] {
			return nil, usageError{fmt.Errorf("%s is given twice", name)}
		}
		seen[name] = true
		a, err := parseArgument(name, value)
		if err != nil {
			return nil, usageError{fmt.Errorf("%s=%s: %w", name, value, err)}
		}
		all = append(all, a)
	}
	return all, nil
}

// parseArgument reads a value: a file, a generator, or anything else as a text
// whose meaning depends on what the name stands for.
func parseArgument(name, text string) (*argument, error) {
	a := &argument{name: name, text: text}
	if file, ok := strings.CutPrefix(text, "@"); ok {
		return a, a.parseFile(file)
	}
	if strings.HasPrefix(text, "[") {
		return a, a.parseElements(text)
	}
	head := text
	if n := strings.IndexAny(text, "([:"); n >= 0 {
		head = text[:n]
	}
	g, ok := generators[head]
	if !ok {
		if head != text {
			return nil, fmt.Errorf("unknown generator %q: known are %s", head, strings.Join(generatorNames(), ", "))
		}
		return a, nil
	}
	a.generator = g
	return a, a.parseGenerator(head, text[len(head):])
}

// parseElements reads the elements of a tensor, `[[1,2],[3,4]]`, with an element type behind a colon or not.
func (a *argument) parseElements(text string) error {
	list, dtype, hasType := strings.Cut(text, "]:")
	if hasType {
		list += "]"
		var err error
		if a.dtype, err = parseDType(dtype); err != nil {
			return err
		}
	}
	const form = "elements are numbers in brackets, rows of one length: [[1,2],[3,4]]"
	var all any
	if json.Unmarshal([]byte(list), &all) != nil {
		return errors.New(form)
	}
	a.generator = &listed
	for x := all; ; {
		rows, ok := x.([]any)
		if !ok {
			break
		}
		a.dims = append(a.dims, strconv.Itoa(len(rows)))
		if len(rows) == 0 {
			break
		}
		x = rows[0]
	}
	if !a.addElements(all, 0) {
		return errors.New(form)
	}
	return nil
}

// addElements takes what is so deep in brackets, and reports whether all rows are alike.
func (a *argument) addElements(x any, depth int) bool {
	if v, ok := x.(float64); ok {
		a.parameters = append(a.parameters, v)
		return depth == len(a.dims)
	}
	rows, ok := x.([]any)
	if !ok || depth == len(a.dims) || strconv.Itoa(len(rows)) != a.dims[depth] {
		return false
	}
	for _, row := range rows {
		if !a.addElements(row, depth+1) {
			return false
		}
	}
	return true
}

func (a *argument) parseFile(file string) error {
	switch filepath.Ext(file) {
	case ".npy", ".safetensors", ".npz": // of the latter two, one that has one tensor
		a.file = file
		return nil
	}
	for _, ending := range []string{".safetensors", ".npz"} {
		if n := strings.Index(file, ending+":"); n >= 0 {
			n += len(ending)
			a.file, a.tensor = file[:n], file[n+1:]
			return nil
		}
	}
	return fmt.Errorf("a file is @NAME.npy, @NAME.npz:ARRAY or @NAME.safetensors:TENSOR")
}

// parseGenerator reads what follows a generator's name: `(parameters)`, `[sizes]`, `:dtype`, each optional.
func (a *argument) parseGenerator(name, rest string) error {
	if strings.HasPrefix(rest, "(") {
		items, after, err := bracketed(rest, ")")
		if err != nil {
			return err
		}
		rest = after
		for _, item := range items {
			v, err := strconv.ParseFloat(item, 64)
			if err != nil {
				return fmt.Errorf("%q is no number", item)
			}
			a.parameters = append(a.parameters, v)
		}
	}
	if n := len(a.generator.parameters); n != len(a.parameters) {
		return fmt.Errorf("%s takes %d numbers in parentheses%s, %d are given", name, n, a.generator.signature(), len(a.parameters))
	}
	if a.generator.check != nil {
		if err := a.generator.check(a.parameters); err != nil {
			return err
		}
	}
	if strings.HasPrefix(rest, "[") {
		items, after, err := bracketed(rest, "]")
		if err != nil {
			return err
		}
		rest, a.dims = after, items
	}
	if d, ok := strings.CutPrefix(rest, ":"); ok {
		dtype, err := parseDType(d)
		if err != nil {
			return err
		}
		a.dtype, rest = dtype, ""
	}
	if rest != "" {
		return fmt.Errorf("do not understand %q", rest)
	}
	return nil
}

// bracketed reads a list up to its closing bracket and gives its items and what follows.
func bracketed(text, end string) (items []string, rest string, err error) {
	inner, rest, ok := strings.Cut(text[1:], end)
	if !ok {
		return nil, "", fmt.Errorf("a %q is missing", end)
	}
	items = []string{}
	if strings.TrimSpace(inner) == "" {
		return items, rest, nil
	}
	for _, item := range strings.Split(inner, ",") {
		items = append(items, strings.TrimSpace(item))
	}
	return items, rest, nil
}
