package pass

import (
	"slices"

	"tilec/jit/ir"
	"tilec/lang"
)

// Loops over one axis, which the pass `stream` makes of a kernel of rows, load the same rows again and again. Where the rows of a
// block fit its shared memory, the first loop keeps there what it loads, and the others read it there: memory is read once. Each thread reads
// what it has stored where the loops have one layout, so that no barrier is needed. Of loops that blocks of a cluster share, each block keeps its own part of the rows.
var keep = Pass{
	Name:    "keep",
	Doc:     "keeps in shared memory the rows that loops load again, where they fit",
	Planned: true,
	Run: func(f *ir.Func, o *Options) (bool, error) {
		k := &keeper{f: f, room: o.Shared}
		return k.run(), nil
	},
	Shared: 8192,
	Before: `kernel @centre {
  dim M = ?
  dim N = 1000
  tensor %x : in f32[M, N]
  tensor %y : out f32[M, N]
  axis i : grid M by BM = 2
  axis j : loop N by 512
  axis j.1 : loop N by 512
body:
  %0 = index i : i32{i}
  %1 = const 0 : i32
  %2 = const 1000 : i32
  %3 = const 0 : f32
  %4 = full %3 : f32{i}
  %5 = for j from %1 to %2 with (%6 = %4) pos %7 : (f32{i}) {
    %8 = index j : i32{j}
    %9 = load %x[%0, %8] : f32{i, j}
    %10 = sum %9 over j : f32{i}
    %11 = add %6, %10 : f32{i}
    yield %11
  }
  for j.1 from %1 to %2 pos %12 {
    %13 = index j.1 : i32{j.1}
    %14 = load %x[%0, %13] : f32{i, j.1}
    %15 = sub %14, %5 : f32{i, j.1}
    store %y[%0, %13] = %15
  }
}
`,
	After: `kernel @centre {
  dim M = ?
  dim N = 1000
  dim n2 = 2
  dim n1000 = 1000
  tensor %x : in f32[M, N]
  tensor %y : out f32[M, N]
  tensor %kept.x : shared f32[n2, n1000] align 256
  axis i : grid M by BM = 2
  axis j : loop N by 512
  axis j.1 : loop N by 512
body:
  %0 = index i : i32{i}
  %1 = const 0 : i32
  %2 = const 1000 : i32
  %3 = const 0 : f32
  %4 = full %3 : f32{i}
  %5 = for j from %1 to %2 with (%6 = %4) pos %7 : (f32{i}) {
    %8 = index j : i32{j}
    %16 = index i : i32{i}
    %17 = start i : i32
    %18 = sub %16, %17 : i32{i}
    %19 = index j : i32{j}
    %9 = load %x[%0, %8] : f32{i, j}
    store %kept.x[%18, %19] = %9
    %10 = sum %9 over j : f32{i}
    %11 = add %6, %10 : f32{i}
    yield %11
  }
  for j.1 from %1 to %2 pos %12 {
    %13 = index j.1 : i32{j.1}
    %20 = index i : i32{i}
    %21 = start i : i32
    %22 = sub %20, %21 : i32{i}
    %23 = index j.1 : i32{j.1}
    %24 = load %kept.x[%22, %23] : f32{i, j.1}
    %15 = sub %24, %5 : f32{i, j.1}
    store %y[%0, %13] = %15
  }
}
`,
}

// keeper keeps the rows of one kernel.
type keeper struct {
	f *ir.Func
	// room is how many bytes there are.
	room int64
}

// reading is a load in a loop, or what is computed of several, and the loop.
type reading struct{ load, loop *ir.Op }

// row is what a load and those of the same elements in later loops read.
type row struct {
	first reading
	again []reading
	axes  []*ir.Axis
	shape []int64
	bytes int64
}

// run keeps first what is read most often.
func (k *keeper) run() bool {
	products := false
	k.f.Walk(func(op *ir.Op) bool {
		products = products || op.Code == lang.OpDot || op.Code == lang.OpMma // whose loads are in shared memory by other ways
		return true
	})
	if k.room == 0 || products {
		return false
	}
	rows := k.rows()
	if !k.haveRoom(rows) {
		rows = k.computed(rows)
	}
	slices.SortStableFunc(rows, func(a, b *row) int { return len(b.again) - len(a.again) })
	changed := false
	for _, r := range rows {
		if r.bytes <= k.room {
			k.room -= r.bytes
			k.keep(r)
			changed = true
		}
	}
	if changed { // loads of what is computed of them
		liveness(k.f).sweep(k.f.Body)
	}
	return changed
}

// rows finds what several loops of the kernel's body load.
func (k *keeper) rows() []*row {
	var rows []*row
	for _, loop := range k.f.Body.Ops {
		if loop.Code != lang.OpFor || loop.Axis == nil || !loop.Args[0].Def.Pure() {
			continue
		}
		for _, op := range loop.Blocks[0].Ops {
			if op.Code != lang.OpLoad || !op.Tensor.ReadOnly() || op.Tensor.DType.Packed() || slices.Contains(op.Checked, true) || op.Else() != nil || !op.Result().Type.Has(loop.Axis) {
				continue
			}
			r := reading{op, loop}
			if i := slices.IndexFunc(rows, func(o *row) bool { return sameRows(o.first, r) }); i >= 0 {
				rows[i].again = append(rows[i].again, r)
			} else if o := begin(r); o != nil {
				rows = append(rows, o)
			}
		}
	}
	return slices.DeleteFunc(rows, func(r *row) bool {
		return !slices.ContainsFunc(r.again, func(o reading) bool { return o.loop != r.first.loop })
	})
}

// begin says what a load reads in all steps of its loop, nil where that is no range that is known.
func begin(r reading) *row {
	v := r.load.Result()
	o := &row{first: r, bytes: int64(v.Type.DType.Size())}
	over := [][]*ir.Axis{ir.Without(v.Type.Axes, []*ir.Axis{r.loop.Axis}), {r.loop.Axis}}
	if r.load.Code == lang.OpLoad { // as they lie in memory
		over = nil
		for _, v := range r.load.Indices() {
			over = append(over, v.Type.Axes)
		}
	}
	for _, axes := range over {
		for _, a := range axes {
			if slices.Contains(o.axes, a) {
				continue
			}
			n := a.Extent
			if a == r.loop.Axis {
				lo, known := r.loop.Args[0].IsConst()
				hi, too := r.loop.Args[1].IsConst()
				if !known || !too || lo.Int != 0 {
					return nil
				}
				n = hi.Int
				if a.Split > 1 { // each block keeps its part
					n = a.PartOf(n)
				}
			} else if a.Kind == ir.Loop {
				return nil
			}
			o.axes, o.shape = append(o.axes, a), append(o.shape, n)
			if o.bytes *= n; o.bytes > 1<<30 {
				return nil
			}
		}
	}
	if r.loop.Axis.Split > 1 && o.axes[len(o.axes)-1] != r.loop.Axis {
		return nil
	}
	return o
}

// sameRows reports readings of the same elements by the same steps.
func sameRows(a, b reading) bool {
	x, y := a.loop.Axis, b.loop.Axis
	if x.Dim != y.Dim || x.Extent != y.Extent || x.Split != y.Split {
		return false
	}
	var equal func(v, w *ir.Value) bool
	equal = func(v, w *ir.Value) bool {
		if v == w {
			return true
		}
		p, q := v.Def, w.Def
		if p == nil || q == nil || p.Code != q.Code || p.Tensor != q.Tensor || len(p.Args) != len(q.Args) || !p.Pure() || len(p.Results) != 1 || len(p.Blocks) > 0 || p.Fn != nil {
			return false
		}
		axis := p.Axis
		if axis == x {
			axis = y
		}
		row := p.Code.Row()
		if axis != q.Axis || p.Dim != q.Dim || p.Span != q.Span || v.Type.DType != w.Type.DType || !row.Elementwise && p.Code != lang.OpLoad && p.Code != lang.OpIndex && p.Code != lang.OpStart && p.Code != lang.OpConst {
			return false
		}
		for i := range p.Args {
			if !equal(p.Args[i], q.Args[i]) {
				return false
			}
		}
		return p.Const == q.Const
	}
	return equal(a.load.Result(), b.load.Result()) && equal(a.loop.Args[0], b.loop.Args[0]) && equal(a.loop.Args[1], b.loop.Args[1])
}

// keep puts what the first load reads in shared memory, and lets the others read there.
func (k *keeper) keep(r *row) {
	t := k.f.AddScratch("kept."+r.first.name(), r.first.load.Result().Type.DType, r.shape)
	t.Shared, t.Split = true, r.first.loop.Axis.Split
	at := func(b *ir.Builder, loop *ir.Op) *ir.Op {
		op := &ir.Op{Code: lang.OpLoad, Tensor: t, Checked: make([]bool, len(r.axes)), At: b.At}
		for _, a := range r.axes {
			if a == r.first.loop.Axis {
				a = loop.Axis
				op.Args = append(op.Args, b.Emit(&ir.Op{Code: lang.OpIndex, Axis: a})[0])
				continue
			}
			op.Args = append(op.Args, within(b, a, b.Emit(&ir.Op{Code: lang.OpIndex, Axis: a})[0]))
		}
		return op
	}
	k.replace(r.first, func(b *ir.Builder) {
		op := at(b, r.first.loop) // before the load, in whose place it may come
		b.Block.Ops = append(b.Block.Ops, r.first.load)
		op.Code, op.Args = lang.OpStore, append(op.Args, r.first.load.Result())
		b.Emit(op)
	})
	for _, again := range r.again {
		if again.loop == r.first.loop {
			k.replace(again, func(*ir.Builder) {})
			again.loop.Blocks[0].Replace(map[*ir.Value]*ir.Value{again.load.Result(): r.first.load.Result()})
			continue
		}
		k.replace(again, func(b *ir.Builder) {
			v := b.Emit(at(b, again.loop))[0]
			v.Name = again.load.Result().Name
			again.loop.Blocks[0].Replace(map[*ir.Value]*ir.Value{again.load.Result(): v})
		})
	}
}

// replace puts other operations in the place of a load.
func (k *keeper) replace(r reading, emit func(*ir.Builder)) {
	body := r.loop.Blocks[0]
	i := slices.Index(body.Ops, r.load)
	b := &ir.Builder{Func: k.f, Block: &ir.Block{}, At: r.load.At}
	emit(b)
	body.Ops = slices.Concat(body.Ops[:i:i], b.Block.Ops, body.Ops[i+1:])
}
