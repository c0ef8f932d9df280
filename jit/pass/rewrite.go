package pass

import (
	"tilec/jit/ir"
)

// rule looks at one operation, whose arguments are rewritten already. It may
// emit operations through b, which puts them in the operation's place. With ok
// the operation is dropped and values stand for its results; without, nothing
// may have been emitted.
type rule func(b *ir.Builder, op *ir.Op) (values []*ir.Value, ok bool)

// rewrite applies the rule to every operation, inner ones first, in order.
func rewrite(f *ir.Func, r rule) bool {
	m := map[*ir.Value]*ir.Value{}
	changed := false
	var block func(*ir.Block)
	block = func(old *ir.Block) {
		b := &ir.Builder{Func: f, Block: &ir.Block{}}
		for _, op := range old.Ops {
			replace(op.Args, m)
			for _, inner := range op.Blocks {
				block(inner)
			}
			b.At = op.At
			values, ok := r(b, op)
			if !ok {
				b.Block.Ops = append(b.Block.Ops, op)
				continue
			}
			changed = true
			for i, v := range op.Results {
				w := values[i]
				if w.Name == "" && w.Def != nil { // a parameter keeps its own
					w.Name = v.Name
				}
				m[v] = w
			}
		}
		old.Ops = b.Block.Ops
		replace(old.Yield, m)
	}
	block(f.Body)
	return changed
}

// usersOf gives the operations that take a value as an argument.
func usersOf(f *ir.Func) map[*ir.Value][]*ir.Op {
	users := map[*ir.Value][]*ir.Op{}
	f.Walk(func(op *ir.Op) bool {
		for _, v := range op.Args {
			users[v] = append(users[v], op)
		}
		return true
	})
	return users
}

func replace(vs []*ir.Value, m map[*ir.Value]*ir.Value) {
	for i, v := range vs {
		if w, ok := m[v]; ok {
			vs[i] = w
		}
	}
}
