package parser

import (
	"fmt"
	"slices"

	"tilec/lang"
)

// FormatWidth is the number of columns that formatted text takes, where it can be broken so.
const FormatWidth = 100

// Format gives the text of a source in the canonical layout: every token and
// comment in its order, with the line breaks and spaces that the layout wants.
// The formatted text has the same syntax tree, and formats to itself. A source
// with syntax errors is not formatted; the error is its lang.Diagnostics.
func Format(src *lang.Source) (string, error) {
	mod, ds := Parse(src)
	if len(ds) > 0 {
		return "", ds
	}
	text := format(mod)
	after, ds := Parse(lang.NewSource(src.Path, text))
	if len(ds) > 0 || !sameTree(mod, after) {
		return "", fmt.Errorf("%s: formatting would change what the program means, so it was left as it is; this is a bug in the formatter", src.Path)
	}
	return text, nil
}

// sameTree reports modules that print as the same tree.
func sameTree(a, b *lang.Module) bool {
	same := slices.EqualFunc(a.Imports, b.Imports, func(x, y *lang.Import) bool { return x.Path == y.Path })
	return same && slices.EqualFunc(a.Decls, b.Decls, func(x, y lang.Decl) bool { return declTree(x).equal(declTree(y)) })
}

// format lays out the text of a module without errors.
func format(mod *lang.Module) string {
	all := leaves(mod)
	setGaps(all)
	f := forest{rest: all}
	var decls []sequence
	for _, seq := range f.lines() {
		decls = append(decls, peelAttributes(seq)...)
	}
	var parts []doc
	for i, d := range decls {
		if i > 0 {
			parts = append(parts, betweenDecls(decls[i-1], d))
		}
		parts = append(parts, declDoc(d))
	}
	if eof := f.next(); len(eof.lead) > 0 {
		if len(decls) > 0 {
			parts = append(parts, newlineDoc{blank: eof.lead[0].blank})
		}
		parts = append(parts, remarksDoc(eof.lead))
	}
	if len(parts) == 0 {
		return ""
	}
	return printDoc(concat(parts...), FormatWidth) + "\n"
}
