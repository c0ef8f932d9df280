package pass

import (
	"slices"

	"tilec/jit/ir"
	"tilec/lang"
)

// Where the rows that loops load again do not all fit in shared memory, but what all loops compute of several of them does, such as the sum of
// two, that is kept instead: it takes the room of one.

// haveRoom reports rows that all fit.
func (k *keeper) haveRoom(rows []*row) bool {
	bytes := int64(0)
	for _, r := range rows {
		bytes += r.bytes
	}
	return bytes <= k.room
}

// computed puts values that loops compute anew of two rows or more in the place of these rows, where nothing else needs them again.
func (k *keeper) computed(rows []*row) []*row {
	uses := map[*ir.Value][]*ir.Op{}
	k.f.Walk(func(op *ir.Op) bool {
		for _, v := range op.Args {
			uses[v] = append(uses[v], op)
		}
		for _, b := range op.Blocks {
			for _, v := range b.Yield {
				uses[v] = append(uses[v], op)
			}
		}
		return true
	})
	for _, loop := range k.f.Body.Ops {
		if loop.Code != lang.OpFor || loop.Axis == nil {
			continue
		}
		for _, op := range slices.Backward(loop.Blocks[0].Ops) {
			if !op.Code.Row().Elementwise || !op.Result().Type.Has(loop.Axis) || op.Result().Type.DType.Packed() {
				continue
			}
			if r, of := k.value(reading{op, loop}, rows, uses); r != nil {
				rows = append(slices.DeleteFunc(slices.Clone(rows), func(o *row) bool { return slices.Contains(of, o) }), r)
			}
		}
	}
	return rows
}

// value is what a loop computes as a row, with the rows in whose place it may come; nil where it may not: it is computed of one row alone or takes
// as much room, or a later loop needs one of them for anything else.
func (k *keeper) value(first reading, rows []*row, uses map[*ir.Value][]*ir.Op) (r *row, of []*row) {
	loads, _ := parts(first)
	bytes := int64(0)
	for _, o := range rows {
		if o.first.loop == first.loop && slices.Contains(loads, o.first.load) {
			of, bytes = append(of, o), bytes+o.bytes
		}
	}
	if r = begin(first); r == nil || len(of) < 2 || r.bytes >= bytes || r.bytes > k.room {
		return nil, nil
	}
	for _, o := range of {
		for _, again := range o.again {
			if again.loop == first.loop {
				return nil, nil
			}
			if slices.ContainsFunc(r.again, func(x reading) bool { return x.loop == again.loop }) {
				continue
			}
			i := slices.IndexFunc(again.loop.Blocks[0].Ops, func(op *ir.Op) bool {
				return op.Code == first.load.Code && sameRows(first, reading{op, again.loop})
			})
			if i < 0 {
				return nil, nil
			}
			r.again = append(r.again, reading{again.loop.Blocks[0].Ops[i], again.loop})
		}
	}
	for _, again := range r.again {
		loads, inner := parts(again)
		for _, op := range append(loads, inner...) {
			if slices.ContainsFunc(uses[op.Result()], func(u *ir.Op) bool { return u != again.load && !slices.Contains(inner, u) }) {
				return nil, nil
			}
		}
	}
	return r, of
}

// parts are the loads of a loop of which a value is computed, and what is computed on the way.
func parts(r reading) (loads, inner []*ir.Op) {
	var visit func(v *ir.Value)
	visit = func(v *ir.Value) {
		op := v.Def
		switch {
		case op == nil || !slices.Contains(r.loop.Blocks[0].Ops, op) || slices.Contains(loads, op) || slices.Contains(inner, op):
		case op.Code == lang.OpLoad:
			loads = append(loads, op)
		case op.Code.Row().Elementwise:
			inner = append(inner, op)
			for _, x := range op.Args {
				visit(x)
			}
		}
	}
	for _, v := range r.load.Args {
		visit(v)
	}
	return loads, inner
}

// name is what a reading is named for.
func (r reading) name() string {
	switch {
	case r.load.Code == lang.OpLoad:
		return r.load.Tensor.Name
	case r.load.Result().Name != "":
		return r.load.Result().Name
	}
	return r.load.Code.String()
}
