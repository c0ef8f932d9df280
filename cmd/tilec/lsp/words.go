package lsp

import (
	"fmt"
	"strings"

	"tilec/lang"
)

// word is something of the language itself, with what hover says of it.
type word struct{ text, doc string }

// keywords, with how they are used.
var keywords = []word{
	{"import", "`import \"std/nn\"`: a file of the standard library, or a path relative to this file"},
	{"const", "`const NAME = expr`: a constant"},
	{"fn", "`fn name(x, axis j) = expr`: a pure function of tiles, inlined where it is called"},
	{"kernel", "`kernel name<T: float>(x: T[M, N]) -> y: T[M, N] grid i in M by BM { ... }`: what one block computes"},
	{"struct", "`struct Name { field: T[N] }`: named tensors and structs, for weights"},
	{"graph", "`graph name(params) -> outputs { ... }`: a program of whole tensors that calls kernels"},
	{"test", "`test \"name\" { ... }`: a graph with `check` statements, run by `tilec test`"},
	{"tune", "`tune BM in {64, 128}` limits what the planner may choose; `tune BM = 128` pins it"},
	{"grid", "`grid i in N by B`: one block for every B elements of N; without `by` a scalar index"},
	{"axis", "`axis d in D`: a whole dimension as one axis of a tile"},
	{"for", "`for k in K by BK with acc = init { ... }`: a sequential loop that carries values"},
	{"in", "the dimension that an axis walks"},
	{"by", "the extent of an axis: how many elements a block handles at once"},
	{"with", "the values that a loop carries: `with acc = zeros(f32, i, j)`"},
	{"over", "the axes of a reduction: `sum(x, over k)`, `sum(x, over (i, j))`"},
	{"let", "`let x = expr`: a name for a value, bound once"},
	{"if", "`if c { a } else { b }`: a choice by a scalar; by element it is `where(c, a, b)`"},
	{"else", "the other branch of an `if`; behind an access, what an element outside reads: `x[i + 1] else 0`"},
	{"as", "`x as f32`: conversion to another element type"},
	{"and", "both, of bool"},
	{"or", "either, of bool"},
	{"not", "the opposite, of bool"},
	{"true", "bool"},
	{"false", "bool"},
	{"out", "a parameter that is written: the same as `-> y`"},
	{"inout", "a parameter that is read and written, at the elements that the block owns; in a graph `inout s = x` is state that calls may write"},
	{"check", "`check a == b`, `check close(a, b, ulps = 4)`, `check c, \"message\"`: what must hold in a test, for every element"},
}

// attributes, with where they stand.
var attributes = settings()

func settings() []word {
	var words []word
	for _, s := range lang.AllSettings() {
		words = append(words, word{s.Name, fmt.Sprintf("`%s` %s: %s", s.Written, s.Places(), s.Doc)})
	}
	return words
}

// functions of the language that are no rows of the operation table.
var functions = append(written(lang.Functions()), []word{
	{"zeros", "`zeros(f32, i, j)`: a tile of zeros over the axes named"},
	{"ones", "`ones(f32, i, j)`: a tile of ones over the axes named"},
	{"static_assert", "`static_assert(D % 8 == 0, \"...\")`: an error unless constants and dimensions meet the condition"},
	{"assume", "`assume(N % 16 == 0)`: a condition of dimensions and scalars that every launch checks and proofs may use; on tiles, of debug builds"},
	{"arange", "`arange(i32, [M, N])`: in a graph or a test, the numbers 0, 1, 2 ... in row-major order"},
	{"close", "`check close(a, b, ulps = 4)`: in a test, whether a is near b: by units in the last place of b, `abs = 1e-6`, `rel = 1e-3` of b, or the sum of those given"},
	{"view", "`view(x, [B, S, H, D])`: the same elements in another shape, without a copy"},
}...)

// written shows functions with a call of each.
func written(fs []lang.Function) []word {
	out := make([]word, len(fs))
	for i, f := range fs {
		out[i] = word{f.Name, "`" + f.Written + "`: " + f.Doc}
	}
	return out
}

// constants of the language.
var constants = []word{
	{"inf", "infinity"},
	{"nan", "not a number"},
	{"pi", "3.14159..."},
}

// bounds are what a type parameter may stand for.
var bounds = []word{
	{"float", "any float type that accumulates in f32: f32 and narrower"},
	{"int", "any integer type"},
	{"any", "any element type"},
}

// syntax is how operations are written whose arguments are not all operands.
var syntax = map[lang.Op]string{
	lang.OpPrint:  "print(\"x is {}\", x)",
	lang.OpAssert: "assert(c, \"x is {}\", x)",
	lang.OpFull:   "full(f32, value, i, j)",
	lang.OpIndex:  "index(i)",
	lang.OpRename: "rename(x, i -> j)",
	lang.OpReduce: "reduce(x, over k, identity, (a, b) => ...)",
	lang.OpScan:   "scan(x, over k, identity, (a, b) => ...)",
}

func find(words []word, text string) (word, bool) {
	for _, w := range words {
		if w.text == text {
			return w, true
		}
	}
	return word{}, false
}

// rules says in words which element types an operation takes and gives.
var rules = map[lang.Rule]string{
	lang.RuleNumeric:  "takes numbers of one type; gives that type",
	lang.RuleFloat:    "takes floats of one type; gives that type",
	lang.RuleInt:      "takes integers of one type; gives that type",
	lang.RuleCompare:  "takes one type; gives `bool`",
	lang.RuleBool:     "takes `bool`; gives `bool`",
	lang.RuleTest:     "takes a float; gives `bool`",
	lang.RuleSelect:   "takes `bool`, then two of one type; gives that type",
	lang.RuleSum:      "takes a number; gives its accumulator",
	lang.RuleSame:     "takes a number; gives the same type",
	lang.RuleMean:     "takes a float; gives its accumulator",
	lang.RuleArg:      "takes a number; gives `i32`",
	lang.RuleBits64:   "takes `u64`; gives `u64`",
	lang.RuleContract: "takes two of one type; gives its accumulator, or the type of the third",
}

// opSignature is how an operation is written.
func opSignature(op lang.Op) string {
	if text, ok := syntax[op]; ok {
		return text
	}
	r := op.Row()
	args := strings.Join(r.Operands, ", ")
	switch r.Form {
	case lang.FormInfix:
		return "a " + r.Spelling + " b"
	case lang.FormPrefix:
		if r.Spelling == "not" {
			return "not a"
		}
		return r.Spelling + "a"
	case lang.FormReduce:
		return fmt.Sprintf("%s(%s, over k)", r.Spelling, args)
	case lang.FormCall:
		if args == "" {
			args = "..."
		}
		return fmt.Sprintf("%s(%s)", r.Spelling, args)
	}
	return r.Spelling
}

// opDoc is the page of an operation.
func opDoc(op lang.Op) string {
	r := op.Row()
	text := code(opSignature(op)) + r.Doc
	if rule := rules[r.Rule]; rule != "" {
		text += "\n\n" + rule
	}
	if r.Ulp > 0 {
		text += fmt.Sprintf("\n\nerror in f32: at most %g ulp", r.Ulp)
	}
	return text
}

// operations lists those that a spelling may mean: max is two.
func operations(spelling string, forms ...lang.Form) []lang.Op {
	var all []lang.Op
	for _, op := range lang.Ops() {
		r := op.Row()
		for _, f := range forms {
			if r.Spelling == spelling && r.Form == f {
				all = append(all, op)
			}
		}
	}
	return all
}

// code is a block of source in Markdown.
func code(text string) string { return "```tile\n" + text + "\n```\n" }
