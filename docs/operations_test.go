// Package docs_test keeps the generated pages of the documentation in step
// with the tables that they are made from.
package docs_test

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"tilec/lang"
)

var update = flag.Bool("update", false, "write the generated pages")

// chapters are the groups of the operation table, in the order of the page.
var chapters = []struct {
	group lang.Group
	title string
}{
	{lang.GroupMemory, "Load and store"},
	{lang.GroupCreate, "Create"},
	{lang.GroupShape, "Shape"},
	{lang.GroupReduce, "Reduce"},
	{lang.GroupScan, "Scan, and reduce by a function"},
	{lang.GroupSort, "Sort"},
	{lang.GroupContract, "Contract"},
	{lang.GroupSelect, "Select"},
	{lang.GroupMath, "Math"},
	{lang.GroupBits, "Bits"},
	{lang.GroupCompare, "Compare"},
	{lang.GroupLogic, "Logic"},
	{lang.GroupConvert, "Convert"},
	{lang.GroupAtomic, "Atomic"},
	{lang.GroupUtility, "Utility"},
	{lang.GroupControl, "Control"},
}

// rules says in words which element types an operation takes and gives.
var rules = map[lang.Rule]string{
	lang.RuleSpecial:  "",
	lang.RuleNumeric:  "numbers of one type; that type",
	lang.RuleFloat:    "floats of one type; that type",
	lang.RuleInt:      "integers of one type; that type",
	lang.RuleCompare:  "one type; `bool`",
	lang.RuleBool:     "`bool`; `bool`",
	lang.RuleTest:     "a float; `bool`",
	lang.RuleSelect:   "`bool`, then two of one type; that type",
	lang.RuleSum:      "a number; its accumulator",
	lang.RuleSame:     "a number; the same type",
	lang.RuleMean:     "a float; its accumulator",
	lang.RuleArg:      "a number; `i32`",
	lang.RuleBits64:   "`u64`; `u64`",
	lang.RuleContract: "two of one type; its accumulator, or the type of the third",
}

// syntax is how operations are written whose arguments are not all operands.
var syntax = map[lang.Op]string{
	lang.OpConst:      "1.5",
	lang.OpFull:       "full(f32, value, i, j)",
	lang.OpIndex:      "index(i)",
	lang.OpStart:      "i.start",
	lang.OpEnd:        "i.end",
	lang.OpSize:       "N",
	lang.OpRandomBits: "random_bits(seed, i, j)",
	lang.OpLoad:       "x[i, j]",
	lang.OpStore:      "y[i, j] = a",
	lang.OpCast:       "a as f32",
	lang.OpRename:     "rename(x, i -> j)",
	lang.OpFor:        "for k in K by BK with a = e { ... }",
	lang.OpJoin:       "@split(k, 4)",
	lang.OpSort:       "sort(x, over j)",
	lang.OpTopK:       "topk(x, r, over j)",
	lang.OpIf:         "if c { ... } else { ... }",
	lang.OpReduce:     "reduce(x, over k, identity, fn)",
	lang.OpScan:       "scan(x, over k, identity, fn)",
	lang.OpPrint:      `print("x is {}", x)`,
	lang.OpAssert:     `assert(c, "x is {}", x)`,
}

// written shows how an operation is written.
func written(op lang.Op) string {
	if text, ok := syntax[op]; ok {
		return text
	}
	if op.IsAtomic() {
		return op.AtomicUsage()
	}
	r := op.Row()
	args := strings.Join(r.Operands, ", ")
	switch r.Form {
	case lang.FormInfix:
		return fmt.Sprintf("a %s b", r.Spelling)
	case lang.FormPrefix:
		return r.Spelling + pad(r.Spelling) + "a"
	case lang.FormCall:
		return fmt.Sprintf("%s(%s)", r.Spelling, args)
	case lang.FormReduce:
		return fmt.Sprintf("%s(%s, over k)", r.Spelling, args)
	}
	return r.Spelling
}

// pad separates a word from its operand.
func pad(spelling string) string {
	if strings.Trim(spelling, "abcdefghijklmnopqrstuvwxyz") == "" {
		return " "
	}
	return ""
}

func cell(s string) string { return strings.ReplaceAll(s, "|", "\\|") }

func code(s string) string {
	if s == "" {
		return ""
	}
	return "`" + cell(s) + "`"
}

func operationsPage() string {
	var b strings.Builder
	b.WriteString(`# Operations
This page is made from the operation table (` + "`lang/ops.go`" + `) by ` + "`go test ./docs -update`" + `; a test fails when the two differ.

Operands of an elementwise operation broadcast by the names of their axes. The accumulator of f32 and of every
narrower float is f32, that of integers below 32 bits is i32, and any other type is its own; a product that feeds a sum
is computed in it. *ulp* is the
largest error in f32, in units of the last place, that any backend may make; 0 is correctly rounded.
`)
	for _, chapter := range chapters {
		fmt.Fprintf(&b, "\n## %s\n| written | is | takes; gives | ulp | in the IR | CUDA Tile |\n|---|---|---|---|---|---|\n", chapter.title)
		for _, op := range lang.Ops() {
			r := op.Row()
			if r.Group != chapter.group {
				continue
			}
			ulp := ""
			if r.Elementwise && (r.Rule == lang.RuleFloat || r.Ulp > 0) {
				ulp = fmt.Sprint(r.Ulp)
			}
			fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %s |\n", code(written(op)), cell(r.Doc), rules[r.Rule], ulp, code(r.Name), code(r.CuTile))
		}
		for _, f := range lang.Functions() {
			if f.Group == chapter.group {
				fmt.Fprintf(&b, "| %s | %s | | | | %s |\n", code(f.Written), cell(f.Doc), code(f.CuTile))
			}
		}
	}
	b.WriteString(measuredErrors())
	return b.String()
}

func TestOperationsPage(t *testing.T) {
	const path = "operations.md"
	want := operationsPage()
	if *update {
		if err := os.WriteFile(path, []byte(want), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != want {
		t.Errorf("%s is out of date: run go test ./docs -update", path)
	}
}

func TestEveryOperationHasAChapter(t *testing.T) {
	known := map[lang.Group]bool{}
	for _, c := range chapters {
		known[c.group] = true
	}
	for _, op := range lang.Ops() {
		r := op.Row()
		if !known[r.Group] {
			t.Errorf("operation %s is in group %q, which has no chapter", r.Name, r.Group)
		}
		if _, ok := rules[r.Rule]; !ok {
			t.Errorf("operation %s has a type rule that the page has no words for", r.Name)
		}
	}
}
