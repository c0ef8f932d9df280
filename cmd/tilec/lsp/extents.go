package lsp

import (
	"context"
	"maps"
	"slices"
	"strings"

	"tilec/cmd/tilec/lsp/protocol"
	"tilec/lang"
)

// This file shows the extents that the planner chose for a kernel, once somebody has asked for its plan and until the kernel changes.

// keepExtents takes the extents from what `tilec explain` said of a kernel of a file, and has the editor show them.
func (s *server) keepExtents(ctx context.Context, path, name, explained string) error {
	s.mu.Lock()
	d, refresh := s.documentOf(path), s.refreshesHints
	if d == nil {
		s.mu.Unlock()
		return nil
	}
	a := s.treeOf(d.uri)
	maps.DeleteFunc(d.extents, func(k lang.Decl, _ map[string]string) bool { return !slices.Contains(a.module.Decls, k) })
	for _, k := range a.module.Decls {
		if _, isKernel := k.(*lang.KernelDecl); isKernel && k.DeclName().Name == name {
			if d.extents == nil {
				d.extents = map[lang.Decl]map[string]string{}
			}
			d.extents[k] = chosen(explained)
		}
	}
	s.mu.Unlock()
	if !refresh {
		return nil
	}
	return s.ask(ctx, protocol.MethodWorkspaceInlayHintRefresh, nil)
}

// chosen is the plan in the table of `tilec explain`, by the names of what it sets.
func chosen(explained string) map[string]string {
	plan := map[string]string{}
	for _, line := range strings.Split(explained, "\n") {
		columns := betweenColumns.Split(line, 3)
		if columns[0] != "choice" || len(columns) < 2 {
			continue
		}
		for _, x := range strings.Fields(columns[1]) {
			if name, value, ok := strings.Cut(x, "="); ok && plan[name] == "" {
				plan[name] = value
			}
		}
	}
	return plan
}

// extentHints are the extents of a kernel that are known, behind the names that its `by` clauses give them.
func (a *analysis) extentHints(k lang.Decl) []hint {
	known := a.doc.extents[k]
	if known == nil {
		return nil
	}
	var all []hint
	lang.Walk(k, func(n lang.Node) bool {
		if x, ok := n.(*lang.AxisClause); ok {
			if by, isName := x.By.(*lang.NameExpr); isName && known[by.Name] != "" {
				all = append(all, hint{Position: a.doc.lines.position(by.Place.End), Label: " = " + known[by.Name]})
			}
		}
		return true
	})
	return all
}
