package graph

import (
	"maps"
	"slices"
	"strings"

	"tilec/lang"
	"tilec/typecheck/rules"
	"tilec/typecheck/size"
	"tilec/typecheck/typed"
)

// This file reads what a graph says of the config.json of its checkpoints: @config and @require.

// oneOf is how a row of @config says that a key has one of some words: `one_of("hidden_act", relu = 0, silu = 1)`.
const oneOf = "one_of"

// configRows reads `@config(H = "n_head", KV = "num_key_value_heads" else H)`.
func configRows(s *rules.Signature, g *typed.Graph, a *lang.Attr) {
	known := map[string]*typed.ConfigRow{}
	for _, x := range append(append([]*size.Symbol{}, g.Dims...), g.Consts...) {
		known[x.Name] = &typed.ConfigRow{Name: x.Name, Symbol: x, DType: x.DType}
	}
	for _, p := range g.Params {
		if p.Type.Kind == typed.GScalar {
			known[p.Name] = &typed.ConfigRow{Name: p.Name, DType: scalarType(p.Type.DType)}
		}
	}
	for _, arg := range a.Args {
		if arg.Name == nil {
			s.Checker.Errorf(lang.ErrAttribute, arg.Place, "@config maps a name to a key of config.json, as in `H = \"n_head\"`")
			continue
		}
		name := arg.Name.Name
		row := known[name]
		if row == nil {
			if s.OK {
				s.Checker.Errorf(lang.ErrAttribute, arg.Name.Place, "%s has no dimension, constant or scalar parameter %s", g.Name, name).
					Suggest(arg.Name.Place, name, slices.Sorted(maps.Keys(known)))
			}
			continue
		}
		if old := g.ConfigRow(name); old != nil {
			s.Checker.Errorf(lang.ErrAttribute, arg.Name.Place, "@config names %s twice", name).LabelAt(old.At, "first here")
			continue
		}
		row.At = arg.Place
		if configValue(s, g, row, arg.Value) {
			g.Config = append(g.Config, row)
		}
	}
}

// scalarType is the element type that a literal of a scalar parameter has where it is read.
func scalarType(d typed.DType) lang.DType {
	switch {
	case d.Param == nil:
		return d.Of
	case d.Param.Bound == "int":
		return lang.I32
	}
	return lang.F32
}

// configValue reads the right side of a row: keys and words with `else` between, and a default at the end.
func configValue(s *rules.Signature, g *typed.Graph, row *typed.ConfigRow, x lang.Expr) bool {
	if e, ok := x.(*lang.BinaryExpr); ok && e.Op == "else" {
		return configKey(s, row, e.X) && configValue(s, g, row, e.Y)
	}
	if call, ok := x.(*lang.CallExpr); ok && call.Else != nil && isOneOf(call) {
		return configWords(s, row, call) && configValue(s, g, row, call.Else)
	}
	switch x := x.(type) {
	case *lang.StringLit:
		return configKey(s, row, x)
	case *lang.CallExpr:
		if isOneOf(x) {
			return configWords(s, row, x)
		}
	}
	if len(row.Keys) == 0 {
		r := s.Checker.Errorf(lang.ErrAttribute, x.Span(), "@config maps a name to a key of config.json, as in `H = \"n_head\"`")
		if e, ok := x.(*lang.BinaryExpr); ok && strings.HasPrefix(strings.TrimSpace(e.Place.Text()), `"`) {
			r.Help("put a default that is computed in brackets: `\"head_dim\" else (C / H)`")
		}
		return false
	}
	return configDefault(s, g, row, x)
}

func isOneOf(call *lang.CallExpr) bool {
	n, ok := call.Fn.(*lang.NameExpr)
	return ok && n.Name == oneOf
}

// configKey adds a key to a row.
func configKey(s *rules.Signature, row *typed.ConfigRow, x lang.Expr) bool {
	key, ok := x.(*lang.StringLit)
	if !ok || !isKey(key.Value) {
		s.Checker.Errorf(lang.ErrAttribute, x.Span(), "this is no key of config.json: keys are texts, with points between those of objects in objects, as in `\"rope_scaling.factor\"`")
		return false
	}
	if len(row.Words) > 0 {
		s.Checker.Errorf(lang.ErrAttribute, x.Span(), "behind %s stands a default, not a second key", oneOf)
		return false
	}
	row.Keys = append(row.Keys, key.Value)
	return true
}

// configKeys adds keys with `else` between.
func configKeys(s *rules.Signature, row *typed.ConfigRow, x lang.Expr) bool {
	if e, ok := x.(*lang.BinaryExpr); ok && e.Op == "else" {
		return configKey(s, row, e.X) && configKeys(s, row, e.Y)
	}
	return configKey(s, row, x)
}

// isKey reports names with points between.
func isKey(text string) bool { return !slices.Contains(strings.Split(text, "."), "") }

// configWords reads `one_of("hidden_act", gelu_new = 0, silu = SILU)`.
func configWords(s *rules.Signature, row *typed.ConfigRow, call *lang.CallExpr) bool {
	usage := "write the key and what each of its words stands for: `" + oneOf + "(\"hidden_act\", relu = 0, silu = 1)`"
	switch {
	case len(row.Keys) > 0:
		s.Checker.Errorf(lang.ErrAttribute, call.Place, "a row of @config has its keys inside of %s where they have words", oneOf).Help("%s", usage)
		return false
	case len(call.Args) < 2 || call.Args[0].Name != nil:
		s.Checker.Errorf(lang.ErrAttribute, call.Place, "%s takes a key and words", oneOf).Help("%s", usage)
		return false
	case !configKeys(s, row, call.Args[0].Value):
		return false
	}
	for _, arg := range call.Args[1:] {
		if arg.Name == nil {
			s.Checker.Errorf(lang.ErrAttribute, arg.Place, "nothing says which word this value is for").Help("%s", usage)
			return false
		}
		word := arg.Name.Name
		if slices.ContainsFunc(row.Words, func(w typed.ConfigWord) bool { return w.Word == word }) {
			s.Checker.Errorf(lang.ErrAttribute, arg.Name.Place, "the word %s is given twice", word)
			return false
		}
		value, ok := s.LiteralOf(s.Scope, arg.Value, row.DType, "what "+word+" stands for")
		if !ok {
			return false
		}
		row.Words = append(row.Words, typed.ConfigWord{Word: word, Value: *value})
	}
	return true
}

// configDefault reads what stands behind the last `else`. An integer may be computed from what rows before it tell.
func configDefault(s *rules.Signature, g *typed.Graph, row *typed.ConfigRow, x lang.Expr) bool {
	if row.Symbol == nil || row.DType != lang.I32 {
		value, ok := s.LiteralOf(s.Scope, x, row.DType, "the default of "+row.Name)
		row.Else = &typed.ConfigDefault{Literal: value}
		return ok
	}
	s.Sizing++
	o := s.Evaluate(s.Scope, x)
	s.Sizing--
	switch {
	case o.Mode == rules.Invalid:
		return false
	case o.Mode != rules.UntypedInt:
		s.Checker.Errorf(lang.ErrAttribute, x.Span(), "the default of %s is an integer, of dimensions and constants, not %s", row.Name, s.DescribeOperand(o))
		return false
	}
	row.Else = &typed.ConfigDefault{Size: o.Size}
	return toldBefore(s, g, o.Size, x.Span())
}

// toldBefore reports a size that uses what no row of @config tells so far.
func toldBefore(s *rules.Signature, g *typed.Graph, n size.Size, at lang.Span) bool {
	ok := true
	_, _ = n.Eval(func(sym *size.Symbol) (int64, bool) {
		if g.ConfigRow(sym.Name) == nil && ok {
			ok = false
			s.Checker.Errorf(lang.ErrAttribute, at, "no row of @config before this tells %s", sym.Name).
				Help("name its key, as in `%s = \"n_head\"`, in a row before", sym.Name)
		}
		return 1, true
	})
	return ok
}

// requirements reads `@require("model_type" == "gpt2", C % H == 0, not "alibi")`.
func requirements(s *rules.Signature, g *typed.Graph, a *lang.Attr) {
	if len(a.Args) == 0 {
		s.Checker.Errorf(lang.ErrAttribute, a.Place, "@require says what must be so of config.json, as in `@require(\"model_type\" == \"gpt2\")`")
	}
	for _, arg := range a.Args {
		if arg.Name != nil {
			s.Checker.Errorf(lang.ErrAttribute, arg.Place, "@require takes conditions, as in `\"%s\" == 1`", arg.Name.Name)
			continue
		}
		if c := requirement(s, g, arg.Value); c != nil {
			g.Require = append(g.Require, c)
		}
	}
}

// requirement reads a condition; nil after an error.
func requirement(s *rules.Signature, g *typed.Graph, x lang.Expr) *typed.Condition {
	c := &typed.Condition{At: x.Span()}
	switch x := x.(type) {
	case *lang.StringLit:
		if !isKey(x.Value) {
			break
		}
		c.X.Key = x.Value
		return c
	case *lang.UnaryExpr:
		if x.Op != "not" {
			break
		}
		return joined(c, x.Op, requirement(s, g, x.X))
	case *lang.BinaryExpr:
		if x.Op == "and" || x.Op == "or" {
			return joined(c, x.Op, requirement(s, g, x.X), requirement(s, g, x.Y))
		}
		if op, ok := lang.FindOp(x.Op, lang.FormInfix); !ok || op.Row().Rule != lang.RuleCompare {
			break
		}
		c.Op = x.Op
		if !requiredOperand(s, g, &c.X, x.X, true) || !requiredOperand(s, g, &c.Y, x.Y, false) {
			return nil
		}
		ordered := c.Op != "==" && c.Op != "!="
		if ordered && (c.Y.Text != nil || c.Y.Bool != nil) {
			s.Checker.Errorf(lang.ErrAttribute, x.OpAt, "only numbers are before or behind each other: texts, true and false are compared by `==` and `!=`")
			return nil
		}
		return c
	}
	s.Checker.Errorf(lang.ErrAttribute, x.Span(), "this is no condition on config.json").
		Help("compare a key or a dimension: `\"model_type\" == \"gpt2\"`, `C %% H == 0`; `not \"alibi\"` says that the file has nothing of the kind")
	return nil
}

// requiredOperand reads one side of a comparison: a text is a key on the left and a value on the right.
func requiredOperand(s *rules.Signature, g *typed.Graph, to *typed.ConfigOperand, x lang.Expr, left bool) bool {
	switch x := x.(type) {
	case *lang.StringLit:
		if left {
			to.Key = x.Value
			if !isKey(x.Value) {
				s.Checker.Errorf(lang.ErrAttribute, x.Place, "this is no key of config.json: names, with points between those of objects in objects")
				return false
			}
			return true
		}
		to.Text = &x.Value
		return true
	case *lang.BoolLit:
		to.Bool = &x.Value
		return !left || noKey(s, x)
	case *lang.BinaryExpr:
		if x.Op == "else" {
			s.Checker.Errorf(lang.ErrAttribute, x.OpAt, "a condition has no default").Help("a file without the key is `... or not \"key\"`")
			return false
		}
	}
	s.Sizing++
	o := s.Evaluate(s.Scope, x)
	s.Sizing--
	if o.Mode == rules.Invalid {
		return false
	}
	if o.Mode == rules.UntypedInt {
		if n, isConst := o.Size.Const(); isConst {
			v := float64(n)
			to.Number = &v
			return !left || noKey(s, x)
		}
		to.Size = &o.Size
		return toldBefore(s, g, o.Size, x.Span())
	}
	if v, ok := o.Constant(); ok {
		to.Number = &v
		return !left || noKey(s, x)
	}
	s.Checker.Errorf(lang.ErrAttribute, x.Span(), "a condition on config.json compares keys, dimensions and literals, not %s", s.DescribeOperand(o))
	return false
}

func noKey(s *rules.Signature, x lang.Expr) bool {
	s.Checker.Errorf(lang.ErrAttribute, x.Span(), "the key, or the dimension, stands on the left of a comparison: `\"n_layer\" >= 1`")
	return false
}

// joined is a condition of others; nil where one of them is in error.
func joined(c *typed.Condition, op string, args ...*typed.Condition) *typed.Condition {
	c.Op, c.Args = op, args
	if slices.Contains(args, nil) {
		return nil
	}
	return c
}
