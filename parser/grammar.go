package parser

import (
	"errors"
	"io"
	"strings"
	"sync"

	"github.com/alecthomas/participle/v2"
	"github.com/alecthomas/participle/v2/lexer"

	"tilec/lang"
)

// This file is the grammar of declarations and clauses, as participle reads it
// from struct tags. It is LL(1): a first token decides, so that an error is
// always about the token that it names. Expressions and blocks are productions
// of their own (expr.go, block.go); they give the tree of lang directly.

// extent is the tokens of a node; participle fills it.
type extent struct{ Tokens []lexer.Token }

type ident struct {
	Token lexer.Token `parser:"@Ident"`
}

type attribute struct {
	extent
	Name ident     `parser:"'@' @@"`
	Args arguments `parser:"@@?"`
}

// declaration is any declaration; one of the pointers is set.
type declaration struct {
	extent
	Attrs  []*attribute `parser:"( @@ Newline* )*"`
	Import *importDecl  `parser:"( @@"`
	Const  *constDecl   `parser:"| @@"`
	Fn     *fnDecl      `parser:"| @@"`
	Kernel *kernelDecl  `parser:"| @@"`
	Struct *structDecl  `parser:"| @@"`
	Graph  *graphDecl   `parser:"| @@"`
	Test   *testDecl    `parser:"| @@ )"`
}

type importDecl struct {
	Path lexer.Token `parser:"'import' @String"`
}

type constDecl struct {
	Name  ident     `parser:"'const' @@"`
	Value lang.Expr `parser:"'=' @@"`
}

type fnDecl struct {
	Name     ident      `parser:"'fn' @@"`
	Generics []*generic `parser:"( '<' @@ ( ',' @@ )* '>' )?"`
	Params   []*param   `parser:"'(' ( @@ ( ',' @@ )* )? ')'"`
	Result   *typeExpr  `parser:"( '->' @@ )?"`
	Value    lang.Expr  `parser:"( '=' @@"`
	Body     body       `parser:"| @@ )"`
}

type kernelDecl struct {
	Name     ident      `parser:"'kernel' @@"`
	Generics []*generic `parser:"( '<' @@ ( ',' @@ )* '>' )?"`
	Params   []*param   `parser:"'(' ( @@ ( ',' @@ )* )? ')'"`
	Outputs  *outputs   `parser:"( '->' @@ )?"`
	Clauses  []*clause  `parser:"@@*"`
	Body     body       `parser:"@@"`
}

type graphDecl struct {
	Name     ident      `parser:"'graph' @@"`
	Generics []*generic `parser:"( '<' @@ ( ',' @@ )* '>' )?"`
	Params   []*param   `parser:"'(' ( @@ ( ',' @@ )* )? ')'"`
	Outputs  *outputs   `parser:"( '->' @@ )?"`
	Body     body       `parser:"@@"`
}

type structDecl struct {
	Name     ident      `parser:"'struct' @@"`
	Generics []*generic `parser:"( '<' @@ ( ',' @@ )* '>' )?"`
	Fields   []*field   `parser:"'{' ( @@ ( ( ',' | Newline ) @@ )* )? '}'"`
}

type testDecl struct {
	Name lexer.Token `parser:"'test' @String"`
	Body body        `parser:"@@"`
}

type generic struct {
	extent
	Const   string `parser:"@'const'?"`
	Name    ident  `parser:"@@"`
	Bound   ident  `parser:"':' @@"`
	Default sum    `parser:"( '=' @@ )?"`
}

// param is a parameter or an output. `out` and `inout` are modes only before a name.
type param struct {
	extent
	Mode    string    `parser:"( (?= ( 'out' | 'inout' ) Ident ) @( 'out' | 'inout' ) )?"`
	Axis    string    `parser:"@'axis'?"`
	Name    ident     `parser:"@@"`
	Type    *typeExpr `parser:"( ':' @@ )?"`
	Default lang.Expr `parser:"( '=' @@ )?"`
}

type outputs struct {
	Params []*param `parser:"'(' ( @@ ( ',' @@ )* )? ')' | @@ ( ',' @@ )*"`
}

type field struct {
	extent
	Name  ident        `parser:"@@"`
	Type  *typeExpr    `parser:"':' @@"`
	Attrs []*attribute `parser:"@@*"`
}

type typeExpr struct {
	extent
	Count lang.Expr   `parser:"( '[' @@ ']' )?"`
	Name  ident       `parser:"@@"`
	Args  []*typeExpr `parser:"( '<' @@ ( ',' @@ )* '>' )?"`
	Shape *shape      `parser:"@@?"`
}

type shape struct {
	Open lexer.Token `parser:"@'['"`
	Dims []lang.Expr `parser:"( @@ ( ',' @@ )* )? ']'"`
}

// clause is one of the lines between a kernel's parameters and its body.
type clause struct {
	extent
	Tune []*tune       `parser:"'tune' @@ ( ',' @@ )*"`
	Grid []*axisClause `parser:"| 'grid' @@ ( ',' @@ )*"`
}

type tune struct {
	extent
	Name    ident       `parser:"@@"`
	Choices []lang.Expr `parser:"( 'in' '{' @@ ( ',' @@ )* '}'"`
	Fixed   lang.Expr   `parser:"| '=' @@ )"`
}

type axisClause struct {
	extent
	Name ident     `parser:"@@"`
	Over lang.Expr `parser:"'in' @@"`
	By   lang.Expr `parser:"( 'by' @@ )?"`
}

// The heads of statements and of the expressions that hold blocks.

type letStmt struct {
	Names []*ident  `parser:"'let' ( @@ | '(' @@ ( ',' @@ )* ')' )"`
	Value lang.Expr `parser:"'=' @@"`
}

type axisStmt struct {
	Axis *axisClause `parser:"'axis' @@"`
}

type forExpr struct {
	Axis    *axisClause `parser:"'for' @@"`
	Carried []*ident    `parser:"( 'with' ( @@ | '(' @@ ( ',' @@ )* ')' )"`
	Init    lang.Expr   `parser:"'=' @@ )?"`
	Body    body        `parser:"@@"`
}

type ifExpr struct {
	Cond lang.Expr `parser:"'if' @@"`
	Then body      `parser:"@@"`
	Else otherwise `parser:"( 'else' @@ )?"`
}

// Productions that have no struct: each has a function that parses it.
type (
	// sum is an expression that binds tighter than comparison, so that `>` may follow.
	sum interface{ lang.Node }
	// body is a block in braces: a *lang.Block.
	body interface{ lang.Node }
	// otherwise is what may follow `else`: a *lang.Block or an *lang.IfExpr.
	otherwise interface{ lang.Node }
	// arguments is what stands in the brackets of a call: an *argumentList.
	arguments interface{ lang.Node }
)

// root makes every production that is parsed on its own part of one grammar.
type root struct {
	Decl *declaration `parser:"@@"`
	Let  *letStmt     `parser:"| @@"`
	Axis *axisStmt    `parser:"| @@"`
	For  *forExpr     `parser:"| @@"`
	If   *ifExpr      `parser:"| @@"`
	Attr *attribute   `parser:"| @@"`
}

// grammar is the built parsers with the state of the parse that uses them:
// their hooks have no other way to know the source. Building is slow against
// parsing, so Parse takes grammars from a pool.
type grammar struct {
	decl *participle.Parser[declaration]
	let  *participle.Parser[letStmt]
	axis *participle.Parser[axisStmt]
	loop *participle.Parser[forExpr]
	cond *participle.Parser[ifExpr]
	attr *participle.Parser[attribute]

	parse
}

var grammars = sync.Pool{New: func() any { return newGrammar() }}

func newGrammar() *grammar {
	g := &grammar{}
	all := participle.MustBuild[root](
		participle.Lexer(definition{}),
		participle.UseLookahead(0),
		participle.ParseTypeWith(g.parseExpr),
		participle.ParseTypeWith(g.parseSum),
		participle.ParseTypeWith(g.parseBody),
		participle.ParseTypeWith(g.parseOtherwise),
		participle.ParseTypeWith(g.parseArguments),
	)
	g.decl = production[declaration](all)
	g.let = production[letStmt](all)
	g.axis = production[axisStmt](all)
	g.loop = production[forExpr](all)
	g.cond = production[ifExpr](all)
	g.attr = production[attribute](all)
	return g
}

func production[P any](all *participle.Parser[root]) *participle.Parser[P] {
	p, err := participle.ParserForProduction[P](all)
	if err != nil {
		panic(err)
	}
	return p
}

// definition is the lexer as participle wants it. Parse feeds the tokens by itself.
type definition struct{}

// Symbols are the kinds of tokens.
func (definition) Symbols() map[string]lexer.TokenType { return symbols }

// Lex gives the tokens of a file.
func (definition) Lex(filename string, r io.Reader) (lexer.Lexer, error) {
	var text strings.Builder
	if _, err := io.Copy(&text, r); err != nil {
		return nil, err
	}
	tokens, _, diags := tokenize(lang.NewSource(filename, text.String()), 1)
	if len(diags) > 0 {
		return nil, errors.New(diags[0].Error())
	}
	return &tokenList{tokens.list}, nil
}

// tokenList gives out tokens that were cut before; its last is EOF.
type tokenList struct{ rest []lexer.Token }

// Next gives the next token; EOF again and again at the end.
func (l *tokenList) Next() (lexer.Token, error) {
	t := l.rest[0]
	if len(l.rest) > 1 {
		l.rest = l.rest[1:]
	}
	return t, nil
}
