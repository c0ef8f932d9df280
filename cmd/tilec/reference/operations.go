package reference

import (
	"fmt"
	"strings"

	"tilec/lang"
)

// Operation is an operation of the language, or one that it has by others.
type Operation struct {
	// Written shows how it is written, Doc says what it is, Types which element types it takes and gives, where that is to be said in words.
	Written string `json:"written"`
	Doc     string `json:"doc"`
	Types   string `json:"types,omitempty"`
	// Ulp is the largest error in f32, in units of the last place, that any backend may make; "" where there is none to tell of.
	Ulp string `json:"ulp,omitempty"`
	// IR and CuTile are its names in the tile IR and in CUDA Tile Python; "" for none.
	IR     string `json:"ir,omitempty"`
	CuTile string `json:"cutile,omitempty"`
	// spelling is the word or the sign by which it is looked up.
	spelling string
}

// Chapter is a group of operations.
type Chapter struct {
	Title      string      `json:"title"`
	Operations []Operation `json:"operations"`
}

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

// Written shows how an operation is written.
func Written(op lang.Op) string {
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

// Operations are those of the language, by chapters.
func Operations() []Chapter {
	var all []Chapter
	for _, c := range chapters {
		chapter := Chapter{Title: c.title}
		for _, op := range lang.Ops() {
			r := op.Row()
			if r.Group != c.group {
				continue
			}
			o := Operation{Written: Written(op), Doc: r.Doc, Types: rules[r.Rule], IR: r.Name, CuTile: r.CuTile, spelling: r.Spelling}
			if r.Elementwise && (r.Rule == lang.RuleFloat || r.Ulp > 0) {
				o.Ulp = fmt.Sprint(r.Ulp)
			}
			chapter.Operations = append(chapter.Operations, o)
		}
		for _, f := range lang.Functions() {
			if f.Group == c.group {
				name, _, _ := strings.Cut(f.Written, "(")
				chapter.Operations = append(chapter.Operations, Operation{Written: f.Written, Doc: f.Doc, CuTile: f.CuTile, spelling: name})
			}
		}
		all = append(all, chapter)
	}
	return all
}

// FindOperations are the operations that a word or a sign stands for, of which there may be several: max of two tiles, and max over an axis.
func FindOperations(word string) (found []Operation) {
	for _, c := range Operations() {
		for _, o := range c.Operations {
			if word == o.spelling || word == o.IR {
				found = append(found, o)
			}
		}
	}
	return found
}
