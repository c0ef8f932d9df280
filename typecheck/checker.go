package typecheck

import (
	"tilec/lang"
	"tilec/typecheck/size"
	"tilec/typecheck/typed"
)

// checker is the state of one Check.
type checker struct {
	prog *typed.Program
	*log
	structs map[*lang.StructDecl]*structInfo
	consts  map[*lang.ConstDecl]*constInfo
	kernels map[*lang.KernelDecl]*typed.Kernel
	graphs  map[*lang.GraphDecl]*typed.Graph
	tests   map[string]lang.Span // the first of each name
	hidden  size.Hidden
	// broken are the kernels and graphs whose signature has errors.
	broken map[lang.Decl]bool
	// recursive are the fns and graphs that call themselves.
	recursive map[lang.Decl]bool
	// sigs are the signatures of kernels and graphs.
	sigs map[lang.Decl]*signature
	// sizing counts the places that we are in where a size is needed: shapes, axes, slices.
	sizing int
	// evaluate types an expression that stands in no kernel: of a constant, or of a shape. Kernels know how.
	evaluate func(s *scope, e lang.Expr) operand
	// calls are the fn calls being inlined, outermost first, for what is typed by rules of no body.
	calls []frame
}

// newChecker is the state of checking a file and what it imports.
func newChecker(root *lang.Module) *checker {
	return &checker{
		prog:      &typed.Program{},
		log:       newLog(root),
		structs:   map[*lang.StructDecl]*structInfo{},
		consts:    map[*lang.ConstDecl]*constInfo{},
		kernels:   map[*lang.KernelDecl]*typed.Kernel{},
		graphs:    map[*lang.GraphDecl]*typed.Graph{},
		tests:     map[string]lang.Span{},
		broken:    map[lang.Decl]bool{},
		recursive: map[lang.Decl]bool{},
		sigs:      map[lang.Decl]*signature{},
	}
}

// Errorf reports an error at a place; inside a fn, with where it was called.
func (c *checker) Errorf(code lang.Code, at lang.Span, format string, args ...any) report {
	return labelCalls(c.log.Errorf(code, at, format, args...), c.calls)
}

// newHidden makes a symbol that stands for an integer of the program in proofs.
func (c *checker) newHidden(name string) *size.Symbol {
	return c.hidden.Position(name)
}
