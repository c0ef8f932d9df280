package rules

import (
	"tilec/lang"
	"tilec/typecheck/report"
	"tilec/typecheck/size"
	"tilec/typecheck/typed"
)

// Checker is the state of one Check.
type Checker struct {
	Program *typed.Program
	*report.Log
	structs map[*lang.StructDecl]*StructInfo
	consts  map[*lang.ConstDecl]*constInfo
	Kernels map[*lang.KernelDecl]*typed.Kernel
	Graphs  map[*lang.GraphDecl]*typed.Graph
	Tests   map[string]lang.Span // the first of each name
	Hidden  size.Hidden
	// Broken are the kernels and graphs whose signature has errors.
	Broken map[lang.Decl]bool
	// Recursive are the fns and graphs that call themselves.
	Recursive map[lang.Decl]bool
	// Signatures are the signatures of kernels and graphs.
	Signatures map[lang.Decl]*Signature
	// Sizing counts the places that we are in where a size is needed: shapes, axes, slices.
	Sizing int
	// Evaluate types an expression that stands in no kernel: of a constant, or of a shape. Kernels know how.
	Evaluate func(s *Scope, e lang.Expr) Operand
	// calls are the fn calls being inlined, outermost first, for what is typed by rules of no body.
	calls []Frame
}

// NewChecker is the state of checking a file and what it imports.
func NewChecker(root *lang.Module) *Checker {
	return &Checker{
		Program:    &typed.Program{},
		Log:        report.NewLog(root),
		structs:    map[*lang.StructDecl]*StructInfo{},
		consts:     map[*lang.ConstDecl]*constInfo{},
		Kernels:    map[*lang.KernelDecl]*typed.Kernel{},
		Graphs:     map[*lang.GraphDecl]*typed.Graph{},
		Tests:      map[string]lang.Span{},
		Broken:     map[lang.Decl]bool{},
		Recursive:  map[lang.Decl]bool{},
		Signatures: map[lang.Decl]*Signature{},
	}
}

// Errorf reports an error at a place; inside a fn, with where it was called.
func (c *Checker) Errorf(code lang.Code, at lang.Span, format string, args ...any) report.Draft {
	return LabelCalls(c.Log.Errorf(code, at, format, args...), c.calls)
}

// NewHidden makes a symbol that stands for an integer of the program in proofs.
func (c *Checker) NewHidden(name string) *size.Symbol {
	return c.Hidden.Position(name)
}
