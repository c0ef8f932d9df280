// Package stage shows a kernel in the stages of the compiler as listings, texts whose lines know which places of the source became them: what
// passes change, PTX, machine code. It knows how these texts name places; it must not know who looks at them.
package stage

import (
	"regexp"
	"strconv"
	"strings"

	"tilec/jit/block"
	"tilec/jit/compile"
	"tilec/jit/ir"
	"tilec/jit/ptx"
	"tilec/lang"
)

var (
	ptxFile     = regexp.MustCompile(`^\.file (\d+) (".*")$`)
	ptxPlace    = regexp.MustCompile(`^\s*\.loc (\d+) (\d+)`)
	machineLine = regexp.MustCompile(`^\s*//## File "(.*)", line (\d+)`)
)

// PTXOfBlock is the PTX module of a block program, whose text knows no sources.
func PTXOfBlock(p *block.Program) (lang.Listing, error) {
	m, err := ptx.Write(p)
	if err != nil {
		return nil, err
	}
	return lang.NewListing(m.Text, nil), nil
}

// PTX is a kernel's PTX module, or the error of a target that has none.
func PTX(l *compile.Lowered) (lang.Listing, error) {
	text, err := l.PTX()
	if err != nil {
		return nil, err
	}
	files := map[string]*lang.Source{} // by number
	sources := sourcesOf(l.Func)
	listing := lang.NewListing(text, nil)
	for _, line := range listing {
		if m := ptxFile.FindStringSubmatch(line.Text); m != nil {
			if path, err := strconv.Unquote(m[2]); err == nil {
				files[m[1]] = sources[path]
			}
		}
	}
	var at lang.Span
	for i, line := range listing {
		if m := ptxPlace.FindStringSubmatch(line.Text); m != nil {
			at = placeIn(files[m[1]], m[2])
		}
		if strings.HasPrefix(line.Text, "}") {
			at = lang.Span{}
		}
		listing[i].At = at
	}
	return listing, nil
}

// MachineCode is what nvdisasm prints of a kernel's machine code, without its headers. Its places, which become those of the lines, it prints on
// lines of their own.
func MachineCode(l *compile.Lowered, text string) lang.Listing {
	sources := sourcesOf(l.Func)
	var listing lang.Listing
	var at lang.Span
	code := false
	for _, line := range strings.Split(text, "\n") {
		m := machineLine.FindStringSubmatch(line)
		switch {
		case m != nil:
			at = placeIn(sources[m[1]], m[2])
		case strings.HasPrefix(line, ".text."):
			code = true
		case code && strings.TrimSpace(line) != "":
			listing = append(listing, lang.ListedLine{Text: strings.TrimRight(line, " \t"), At: at})
		}
	}
	return listing
}

// sourcesOf are the sources that a kernel's operations come from, by path.
func sourcesOf(f *ir.Func) map[string]*lang.Source {
	sources := map[string]*lang.Source{}
	f.Walk(func(op *ir.Op) bool {
		if s := op.At.Source; s != nil {
			sources[s.Path] = s
		}
		return true
	})
	return sources
}

// placeIn is a line of a source, given its number as text; no place at all where there is no such line.
func placeIn(s *lang.Source, line string) lang.Span {
	n, err := strconv.Atoi(line)
	if s == nil || err != nil {
		return lang.Span{}
	}
	return s.LineSpan(n)
}
