package main

import (
	"crypto/sha256"
	"fmt"
	"go/parser"
	"go/scanner"
	"go/token"
	"os"
	"path/filepath"
	"strings"

	"tilec/lang"
	tileparser "tilec/parser"
)

// Why a fault has no result that counts.
const (
	neverRun        = "never run"
	otherFault      = "the fault has changed since it was run"
	functionChanged = "the function that it changes has changed since it was run"
	appliesNoMore   = "it no longer applies to the sources"
)

// standing tells whether a fault's result holds for the sources under a root. A
// result holds only while the fault and the function that it changes are what
// they were when the tests ran; why says what has changed otherwise.
func standing(f *Fault, kept map[string]Result, root string) (r Result, why string) {
	function, err := f.function(root)
	r, ran := kept[f.ID]
	switch {
	case err != nil:
		return Result{}, appliesNoMore
	case !ran:
		return Result{}, neverRun
	case r.Fault != f.hash():
		return Result{}, otherFault
	case r.Function != function:
		return Result{}, functionChanged
	}
	return r, ""
}

// hash tells a fault from every other one, and from what it was before.
func (f *Fault) hash() string { return hashOf(f.Old + " => " + f.New) }

// function is a hash of the declarations that the fault changes, as they are
// under a root. It fails where the fault does not apply.
func (f *Fault) function(root string) (string, error) {
	source, err := os.ReadFile(filepath.Join(root, f.File))
	if err != nil {
		return "", err
	}
	if _, _, err := f.apply(string(source)); err != nil {
		return "", err
	}
	from := strings.Index(string(source), f.Old)
	text, err := declarations(f.File, string(source), from, from+len(f.Old))
	if err != nil {
		return "", err
	}
	return hashOf(text), nil
}

func hashOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return fmt.Sprintf("%x", sum[:8])
}

// declarations gives the declarations at the top of a file, Go or tile, that
// source[from:to] is part of: Go as its tokens, without comments and layout.
func declarations(name, source string, from, to int) (string, error) {
	var text strings.Builder
	if strings.HasSuffix(name, ".tile") {
		module, diags := tileparser.Parse(lang.NewSource(name, source))
		if len(diags) > 0 {
			return "", fmt.Errorf("%s does not parse: %s", name, diags[0].Message)
		}
		for _, d := range module.Decls {
			if s := d.Span(); s.Start < to && from < s.End {
				text.WriteString(s.Text() + "\n")
			}
		}
	} else {
		files := token.NewFileSet()
		file, err := parser.ParseFile(files, name, source, parser.SkipObjectResolution)
		if err != nil {
			return "", err
		}
		for _, d := range file.Decls {
			if begin, end := files.Position(d.Pos()).Offset, files.Position(d.End()).Offset; begin < to && from < end {
				text.WriteString(tokens(source[begin:end]))
			}
		}
	}
	if text.Len() == 0 {
		return "", fmt.Errorf("%s has no declaration at %q", name, source[from:to])
	}
	return text.String(), nil
}

// tokens gives Go source as its tokens, one a line.
func tokens(source string) string {
	var text strings.Builder
	var s scanner.Scanner
	s.Init(token.NewFileSet().AddFile("", -1, len(source)), []byte(source), nil, 0)
	for {
		_, tok, literal := s.Scan()
		if tok == token.EOF {
			return text.String()
		}
		if literal == "\n" { // a semicolon that the end of a line stands for
			literal = ";"
		}
		fmt.Fprintln(&text, tok, literal)
	}
}
