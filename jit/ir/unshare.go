package ir

import "tilec/lang"

// Unshare makes one block go through every axis that blocks of a cluster share. What they would
// join is then what the one block has, and before it there is nothing. What threads share lies in scratch memory, all parts of it.
func Unshare(f *Func) {
	for _, a := range f.Axes {
		a.Split = 0
	}
	for _, t := range f.Tensors {
		if t.Split > 1 {
			last := len(t.Shape) - 1
			t.Shape[last], t.Split = f.ConstDim(t.Shape[last].Value*t.Split), 0
		}
		t.Shared = false
	}
	m := map[*Value]*Value{}
	var block func(*Block)
	block = func(old *Block) {
		b := &Builder{Func: f, Block: &Block{}}
		for _, op := range old.Ops {
			if op.Code != lang.OpJoin {
				for _, inner := range op.Blocks {
					block(inner)
				}
				b.Block.Ops = append(b.Block.Ops, op)
				continue
			}
			for i, v := range op.Joined() {
				if w, ok := m[v]; ok {
					v = w
				}
				m[op.Results[i]] = v
			}
			if op.Exclusive { // whether there are blocks before
				b.At = op.At
				m[op.Results[len(op.Results)-1]] = b.Const(lang.Bool, Const{})
			}
		}
		old.Ops = b.Block.Ops
	}
	block(f.Body)
	f.Body.Replace(m)
}
