package pass

import (
	"slices"

	"tilec/jit/ir"
	"tilec/lang"
)

var dce = Pass{
	Name:  "dce",
	Doc:   "drops what nothing uses: operations, values that a loop carries, axes",
	Cheap: true,
	Run: func(f *ir.Func, _ *Options) (bool, error) {
		l := liveness(f)
		changed := l.sweep(f.Body)
		return dropAxes(f) || changed, nil
	},
	Before: `kernel @k {
  dim N = ?
  tensor %x : in f32[N]
  tensor %y : out f32[]
  axis k : loop N by B = ?
  axis r : whole [0 .. 4]
body:
  %0 = const 0 : i32
  %1 = size N : i32
  %2 = const 0 : f32
  %3, %4 = for k from %0 to %1 with (%5 = %2, %6 = %2) pos %7 : (f32, f32) {
    %8 = index k : i32{k}
    %9 = load %x[%8] : f32{k}
    %10 = sum %9 over k : f32
    %11 = add %5, %10 : f32
    %12 = mul %6, %10 : f32
    yield %11, %12
  }
  store %y[] = %3
}
`,
	After: `kernel @k {
  dim N = ?
  tensor %x : in f32[N]
  tensor %y : out f32[]
  axis k : loop N by B = ?
body:
  %0 = const 0 : i32
  %1 = size N : i32
  %2 = const 0 : f32
  %3 = for k from %0 to %1 with (%5 = %2) pos %7 : (f32) {
    %8 = index k : i32{k}
    %9 = load %x[%8] : f32{k}
    %10 = sum %9 over k : f32
    %11 = add %5, %10 : f32
    yield %11
  }
  store %y[] = %3
}
`,
}

func isLoop(op *ir.Op) bool { return op.Code == lang.OpFor }

// live is what a kernel's stores depend on.
type live struct {
	values map[*ir.Value]bool
	ops    map[*ir.Op]bool
	// block is the operation around each parameter, with its place among the parameters.
	param map[*ir.Value]paramOf
	// around is the operation whose region holds an operation.
	around map[*ir.Op]*ir.Op
}

type paramOf struct {
	loop  *ir.Op
	place int
}

func liveness(f *ir.Func) *live {
	l := &live{map[*ir.Value]bool{}, map[*ir.Op]bool{}, map[*ir.Value]paramOf{}, map[*ir.Op]*ir.Op{}}
	var roots []*ir.Op
	f.Walk(func(op *ir.Op) bool {
		if op.Code.Row().Effect == lang.Writes {
			roots = append(roots, op)
		}
		for _, b := range op.Blocks {
			for _, inner := range b.Ops {
				l.around[inner] = op
			}
			for i, p := range b.Params {
				l.param[p] = paramOf{op, i}
			}
		}
		return true
	})
	for _, op := range roots {
		l.mark(op)
	}
	return l
}

// mark makes an operation live with what makes it run: the regions around it and, but for carried values, its arguments.
func (l *live) mark(op *ir.Op) {
	if op == nil || l.ops[op] {
		return
	}
	l.ops[op] = true
	l.mark(l.around[op])
	args := op.Args
	if isLoop(op) {
		args = args[:2]
	}
	for _, a := range args {
		l.use(a)
	}
}

func (l *live) use(v *ir.Value) {
	if l.values[v] {
		return
	}
	l.values[v] = true
	if p, ok := l.param[v]; ok {
		l.mark(p.loop)
		if p.place > 0 {
			l.carried(p.loop, p.place-1)
		}
		return
	}
	if v.Def == nil {
		return
	}
	l.mark(v.Def)
	for i, r := range v.Def.Results {
		if r != v {
			continue
		}
		if isLoop(v.Def) {
			l.carried(v.Def, i)
		} else {
			for _, b := range v.Def.Blocks {
				l.use(b.Yield[i])
			}
		}
	}
}

func (l *live) carried(loop *ir.Op, i int) {
	body := loop.Blocks[0]
	l.use(loop.Args[2+i])
	l.use(body.Yield[i])
	l.values[body.Params[1+i]] = true
	l.values[loop.Results[i]] = true
}

func (l *live) sweep(b *ir.Block) bool {
	n := len(b.Ops)
	b.Ops = slices.DeleteFunc(b.Ops, func(op *ir.Op) bool { return !l.ops[op] })
	changed := len(b.Ops) < n
	for _, op := range b.Ops {
		if op.Old && !l.values[op.Result()] {
			op.Old, op.Results, changed = false, nil, true // the atomic is for its effect alone
		}
		for _, inner := range op.Blocks {
			changed = l.sweep(inner) || changed
		}
		if len(op.Blocks) > 0 {
			changed = l.dropResults(op) || changed
		}
	}
	return changed
}

// dropResults removes the results of a region that nothing uses, with what it carries and yields for them.
func (l *live) dropResults(op *ir.Op) bool {
	var dead []int
	for i, r := range op.Results {
		if !l.values[r] {
			dead = append(dead, i)
		}
	}
	slices.Reverse(dead)
	for _, i := range dead {
		op.Results = slices.Delete(op.Results, i, i+1)
		for _, b := range op.Blocks {
			b.Yield = slices.Delete(b.Yield, i, i+1)
		}
		if isLoop(op) {
			op.Args = slices.Delete(op.Args, 2+i, 3+i)
			body := op.Blocks[0]
			body.Params = slices.Delete(body.Params, 1+i, 2+i)
		}
	}
	return len(dead) > 0
}

// dropAxes removes loop and whole axes that nothing mentions. Grid axes are the launch's.
func dropAxes(f *ir.Func) bool {
	n := len(f.Axes)
	f.Axes = slices.DeleteFunc(f.Axes, func(a *ir.Axis) bool {
		used := a.Kind == ir.Grid
		f.Walk(func(op *ir.Op) bool {
			used = used || op.Mentions(a)
			return !used
		})
		return !used
	})
	return len(f.Axes) < n
}
