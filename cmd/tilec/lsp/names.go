package lsp

import (
	"slices"
	"sort"

	"tilec/lang"
)

// nameKind says what a name stands for.
type nameKind uint8

const (
	wordName nameKind = iota // of the language, with no kind of its own: an attribute, a position of an axis
	localName
	paramName
	axisName
	scalarName // the index of a loop or a grid without `by`, which is no axis
	dimName
	constParamName
	typeParamName
	tileName
	declName
	fieldName
	builtinName // of the language
)

// kindText is how hover calls them.
var kindText = [...]string{"", "let", "parameter", "axis", "index", "dimension", "constant parameter", "element type", "tile extent, chosen by the planner", "", "field", ""}

// name is what a name stands for in a place.
type name struct {
	kind nameKind
	text string
	at   lang.Span // where it is declared
	// node is what declares it: a *lang.Param, an *lang.AxisClause, a
	// *lang.Generic, a *lang.Tune, a lang.Decl, or the expression that a let binds.
	node lang.Node
}

// declAt is the declaration around an offset; nil when there is none.
func (a *analysis) declAt(offset int) lang.Decl { return a.module.DeclAt(offset) }

// fileNames are what the file and its imports declare, the later of two that are the same counting.
type fileNames struct {
	all    []name
	byText map[string]name
	// structs are all structs of the file and of its imports, and modules these files.
	structs []lang.Decl
	modules map[*lang.Source]*lang.Module
}

// fileNames lists the declarations that can be used everywhere in the file.
func (a *analysis) fileNames() *fileNames {
	if a.declared != nil {
		return a.declared
	}
	a.declared = &fileNames{byText: map[string]name{}, modules: map[*lang.Source]*lang.Module{}}
	for _, m := range append(a.imports(), a.module) {
		a.declared.modules[m.Source] = m
		for _, d := range m.Decls {
			if _, isStruct := d.(*lang.StructDecl); isStruct {
				a.declared.structs = append(a.declared.structs, d)
			}
			if _, test := d.(*lang.TestDecl); !test && d.DeclName().Name != "" {
				n := name{declName, d.DeclName().Name, d.DeclName().Place, d}
				a.declared.all = append(a.declared.all, n)
				a.declared.byText[n.text] = n
			}
		}
	}
	return a.declared
}

// localNames lists the names of the declaration around an offset that can be used there, outer ones first.
func (a *analysis) localNames(offset int) []name {
	d := a.declAt(offset)
	if d == nil {
		return nil
	}
	c := collector{offset: offset, file: a.fileNames()}
	c.decl(d)
	return c.names
}

// namesAt lists the names that can be used at an offset, outer ones first: of
// two that are the same the later one counts.
func (a *analysis) namesAt(offset int) []name {
	return append(slices.Clone(a.fileNames().all), a.localNames(offset)...)
}

// resolve finds what a name stands for at an offset.
func (a *analysis) resolve(text string, offset int) (name, bool) {
	local := a.localNames(offset)
	for i := len(local) - 1; i >= 0; i-- {
		if local[i].text == text {
			return local[i], true
		}
	}
	n, ok := a.fileNames().byText[text]
	return n, ok
}

// collector gathers the names that are visible at an offset.
type collector struct {
	offset int
	file   *fileNames
	names  []name
}

func (c *collector) add(kind nameKind, id lang.Ident, node lang.Node) {
	if id.Name != "" && id.Name != "_" {
		c.names = append(c.names, name{kind, id.Name, id.Place, node})
	}
}

func (c *collector) decl(d lang.Decl) {
	switch d := d.(type) {
	case *lang.FnDecl:
		c.generics(d.Generics)
		c.params(d.Params)
		c.tiles(d.Body)
		c.inside(d.Body)
	case *lang.KernelDecl:
		c.generics(d.Generics)
		c.params(d.Params)
		c.params(d.Outputs)
		for _, t := range d.Tunes {
			c.add(tileName, t.Name, t)
		}
		for _, g := range d.Grid {
			c.steps(g)
		}
		c.tiles(d.Body)
		if d.Body != nil {
			if len(d.Grid) == 0 {
				c.formula(d.Body)
			}
			c.inside(d.Body)
		}
	case *lang.GraphDecl:
		c.generics(d.Generics)
		c.params(d.Params)
		c.params(d.Outputs)
		if d.Body != nil {
			c.inside(d.Body)
		}
	case *lang.StructDecl:
		c.generics(d.Generics)
		for _, f := range d.Fields {
			c.dims(f.Type)
		}
	case *lang.TestDecl:
		if d.Body != nil {
			c.inside(d.Body)
		}
	}
}

func (c *collector) generics(gs []*lang.Generic) {
	for _, g := range gs {
		if g.IsConst {
			c.add(constParamName, g.Name, g)
		} else {
			c.add(typeParamName, g.Name, g)
		}
	}
}

func (c *collector) params(ps []*lang.Param) {
	for _, p := range ps {
		c.dims(p.Type)
	}
	for _, p := range ps {
		if p.IsAxis {
			c.add(axisName, p.Name, p)
		} else {
			c.add(paramName, p.Name, p)
		}
	}
}

// formula adds the axes that a kernel without a grid declares by using them: the names in the indices of its accesses and
// those that its reductions are over, where nothing in its body declares them.
func (c *collector) formula(body *lang.Block) {
	own := map[string]bool{}
	lang.Walk(body, func(n lang.Node) bool {
		for _, id := range declaredNames(n) {
			own[id.Name] = true
		}
		return true
	})
	var used []lang.Ident
	add := func(at lang.At, text string) { used = append(used, lang.Ident{At: at, Name: text}) }
	lang.Walk(body, func(n lang.Node) bool {
		switch n := n.(type) {
		case *lang.CallExpr:
			for _, id := range n.Over {
				add(id.At, id.Name)
			}
		case *lang.IndexExpr:
			for _, index := range n.Indices {
				lang.Walk(index, func(k lang.Node) bool {
					switch k := k.(type) {
					case *lang.NameExpr:
						add(k.At, k.Name)
					case *lang.CallExpr, *lang.IndexExpr:
						return false
					}
					return true
				})
			}
		}
		return true
	})
	sort.SliceStable(used, func(i, j int) bool { return used[i].Place.Start < used[j].Place.Start })
	for _, id := range used {
		if f, isFile := c.file.byText[id.Name]; !own[id.Name] && !c.has(id.Name) && !(isFile && isConst(f.node)) {
			c.add(axisName, id, &lang.NameExpr{At: id.At, Name: id.Name})
		}
	}
}

// declaredNames are the names that a node declares itself.
func declaredNames(n lang.Node) []lang.Ident {
	switch n := n.(type) {
	case *lang.LetStmt:
		return n.Names
	case *lang.ForExpr:
		return n.Carried
	case *lang.AxisClause:
		return []lang.Ident{n.Name}
	case *lang.LambdaExpr:
		var all []lang.Ident
		for _, p := range n.Params {
			all = append(all, p.Names...)
		}
		return all
	case *lang.Generic:
		return []lang.Ident{n.Name}
	case *lang.Param:
		return []lang.Ident{n.Name}
	case *lang.Field:
		return []lang.Ident{n.Name}
	case lang.Decl:
		return []lang.Ident{n.DeclName()}
	}
	return nil
}

// dims adds the dimensions that a shape declares by using them first.
func (c *collector) dims(t *lang.TypeExpr) {
	if t == nil {
		return
	}
	known := func(text string) bool {
		n, ok := c.file.byText[text]
		return c.has(text) || ok && isConst(n.node)
	}
	for _, dim := range append([]lang.Expr{t.Count}, t.Shape...) {
		if dim == nil {
			continue
		}
		lang.Walk(dim, func(n lang.Node) bool {
			if id, ok := n.(*lang.NameExpr); ok && !known(id.Name) {
				c.add(dimName, lang.Ident{At: id.At, Name: id.Name}, t)
			}
			return true
		})
	}
}

func isConst(n lang.Node) bool {
	_, ok := n.(*lang.ConstDecl)
	return ok
}

// steps adds the name of a `grid` or a `for`: an axis, with the extent that its
// `by` names, or without `by` a scalar.
func (c *collector) steps(x *lang.AxisClause) {
	switch {
	case x == nil:
	case x.By == nil:
		c.add(scalarName, x.Name, x)
	default:
		c.tile(x)
		c.add(axisName, x.Name, x)
	}
}

// tile adds the extent that a `by` names, unless it has been named.
func (c *collector) tile(x *lang.AxisClause) {
	by, ok := x.By.(*lang.NameExpr)
	if !ok || c.has(by.Name) {
		return
	}
	if f, isFile := c.file.byText[by.Name]; isFile && isConst(f.node) {
		return
	}
	c.add(tileName, lang.Ident{At: by.At, Name: by.Name}, x)
}

// tiles adds the extents of the loops of a body: they are the declaration's, wherever it names them.
func (c *collector) tiles(body lang.Node) {
	lang.Walk(body, func(n lang.Node) bool {
		if x, ok := n.(*lang.AxisClause); ok {
			c.tile(x)
		}
		return true
	})
}

func (c *collector) has(text string) bool {
	for _, n := range c.names {
		if n.text == text {
			return true
		}
	}
	return false
}

func (c *collector) holds(n lang.Node) bool {
	at := n.Span()
	return at.Start <= c.offset && c.offset <= at.End
}

// inside adds what is declared between the start of a node and the offset.
func (c *collector) inside(n lang.Node) {
	if n == nil || !c.holds(n) {
		return
	}
	switch n := n.(type) {
	case *lang.Block:
		for _, s := range n.Stmts {
			c.stmt(s)
		}
		return
	case *lang.ForExpr:
		if n.Body != nil && c.holds(n.Body) {
			c.steps(n.Axis)
			for _, id := range n.Carried {
				c.add(localName, id, n.Init)
			}
		}
	case *lang.LambdaExpr:
		for _, p := range n.Params {
			for _, id := range p.Names {
				c.add(localName, id, n)
			}
		}
	}
	lang.Walk(n, func(k lang.Node) bool {
		if k == n {
			return true
		}
		if _, ok := k.(*lang.Ident); !ok {
			c.inside(k)
		}
		return false
	})
}

func (c *collector) stmt(s lang.Stmt) {
	switch s := s.(type) {
	case *lang.LetStmt:
		if s.Span().End < c.offset {
			for _, id := range s.Names {
				c.add(localName, id, s.Value)
			}
			return
		}
	case *lang.AxisStmt:
		if s.Span().End < c.offset {
			if s.Axis != nil {
				c.add(axisName, s.Axis.Name, s.Axis)
			}
			return
		}
	}
	c.inside(s)
}

// path lists the nodes around an offset, the outermost first.
func (a *analysis) path(offset int) []lang.Node {
	var all []lang.Node
	visit := func(n lang.Node) bool {
		at := n.Span()
		if at.Start > offset || offset >= at.End {
			return false
		}
		all = append(all, n)
		return true
	}
	for _, imp := range a.module.Imports {
		visit(imp)
	}
	// The declaration that ends at the offset is not around it; the one behind may be.
	decls := a.module.Decls
	for i := sort.Search(len(decls), func(i int) bool { return decls[i].Span().End > offset }); i < len(decls) && decls[i].Span().Start <= offset; i++ {
		lang.Walk(decls[i], visit)
	}
	return all
}

// structOf is the struct that an expression is of, as its declarations say;
// nil when it is none.
func (a *analysis) structOf(e lang.Node, offset int) *lang.StructDecl {
	return a.structIn(e, offset, 0)
}

func (a *analysis) structIn(e lang.Node, offset, depth int) *lang.StructDecl {
	if depth++; depth > 50 {
		return nil // names that stand for each other
	}
	switch e := e.(type) {
	case *lang.NameExpr:
		n, ok := a.resolve(e.Name, offset)
		if !ok {
			return nil
		}
		switch node := n.node.(type) {
		case *lang.Param:
			return a.structNamed(node.Type)
		case *lang.AxisClause:
			return a.structIn(node.Over, node.Place.Start, depth)
		case lang.Expr:
			if n.kind == localName && node.Span().Source == a.module.Source {
				return a.structIn(node, node.Span().Start, depth)
			}
		}
	case *lang.FieldExpr:
		if f := field(a.structIn(e.X, offset, depth), e.Name.Name); f != nil {
			return a.structNamed(f.Type)
		}
	case *lang.IndexExpr:
		return a.structIn(e.X, offset, depth)
	}
	return nil
}

// structNamed is the struct that a type names, in this file or in one that it imports.
func (a *analysis) structNamed(t *lang.TypeExpr) *lang.StructDecl {
	if t == nil {
		return nil
	}
	for _, m := range append(a.imports(), a.module) {
		for _, d := range m.Decls {
			if s, ok := d.(*lang.StructDecl); ok && s.Name.Name == t.Name.Name {
				return s
			}
		}
	}
	return nil
}

func field(s *lang.StructDecl, name string) *lang.Field {
	if s == nil {
		return nil
	}
	for _, f := range s.Fields {
		if f.Name.Name == name {
			return f
		}
	}
	return nil
}
