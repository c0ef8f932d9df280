package emu_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"testing"

	"tilec/jit/emu"
)

// A boxCase is one tensor copy: a tensor whose elements are their own numbers, a box of it and where the box starts.
type boxCase struct {
	name    string
	elem    string
	dims    []uint64
	pitch   []uint64 // extra bytes of each stride
	box     []uint32
	steps   []uint32
	swizzle emu.Swizzle
	nan     bool
	at      []int
	reduce  string
}

var boxCases = []boxCase{
	{name: "2d_outside", elem: "f32", dims: []uint64{24, 9}, box: []uint32{8, 4}, at: []int{100, 2}},
	{name: "5d", elem: "u32", dims: []uint64{8, 3, 2, 3, 2}, box: []uint32{4, 2, 2, 2, 2}, at: []int{4, 1, 0, 2, -1}},
	{name: "steps", elem: "u32", dims: []uint64{16, 20}, box: []uint32{8, 7}, steps: []uint32{1, 3}, at: []int{4, 2}},
	{name: "swizzle64", elem: "u32", dims: []uint64{64, 40}, box: []uint32{16, 24}, swizzle: emu.Swizzle64, at: []int{8, 30}},
	{name: "1d", elem: "u32", dims: []uint64{40}, box: []uint32{16}, at: []int{4}},
	{name: "1d_below", elem: "u16", dims: []uint64{40}, box: []uint32{16}, at: []int{-8}},
	{name: "1d_over", elem: "u16", dims: []uint64{40}, box: []uint32{32}, at: []int{24}},
	{name: "2d", elem: "u32", dims: []uint64{20, 9}, box: []uint32{8, 4}, at: []int{4, 2}},
	{name: "2d_corner", elem: "u32", dims: []uint64{20, 9}, box: []uint32{8, 4}, at: []int{-4, -2}},
	{name: "2d_over", elem: "f16", dims: []uint64{24, 9}, box: []uint32{16, 6}, at: []int{16, 6}, nan: true},
	{name: "2d_nan_f32", elem: "f32", dims: []uint64{8, 10}, box: []uint32{4, 4}, at: []int{-4, -1}, nan: true},
	{name: "2d_nan_bf16", elem: "bf16", dims: []uint64{24, 9}, box: []uint32{16, 6}, at: []int{-8, -1}, nan: true},
	{name: "2d_nan_f64", elem: "f64", dims: []uint64{24, 9}, box: []uint32{16, 6}, at: []int{16, 6}, nan: true},
	{name: "2d_ragged", elem: "u8", dims: []uint64{40, 5}, pitch: []uint64{15}, box: []uint32{32, 4}, at: []int{16, 2}},
	{name: "2d_ragged_f16", elem: "f16", dims: []uint64{21, 5}, pitch: []uint64{32}, box: []uint32{32, 4}, at: []int{8, 2}},
	{name: "2d_ragged_nan", elem: "f16", dims: []uint64{21, 5}, pitch: []uint64{32}, box: []uint32{32, 4}, at: []int{8, 2}, nan: true},
	{name: "3d", elem: "u32", dims: []uint64{12, 5, 4}, box: []uint32{4, 3, 2}, at: []int{0, 3, 1}},
	{name: "4d", elem: "u16", dims: []uint64{16, 3, 4, 3}, box: []uint32{8, 2, 2, 2}, at: []int{8, 2, -1, 1}},
	{name: "5d_below", elem: "u32", dims: []uint64{8, 3, 2, 3, 2}, box: []uint32{8, 2, 2, 2, 2}, at: []int{-4, -1, 1, -1, 1}},
	{name: "steps_over", elem: "u32", dims: []uint64{16, 20}, box: []uint32{8, 8}, steps: []uint32{1, 3}, at: []int{12, 14}},
	{name: "swizzle32", elem: "u16", dims: []uint64{64, 40}, box: []uint32{16, 24}, swizzle: emu.Swizzle32, at: []int{8, 3}},
	{name: "swizzle128", elem: "f16", dims: []uint64{128, 40}, box: []uint32{64, 24}, swizzle: emu.Swizzle128, at: []int{64, 1}},
	{name: "swizzle128_u8", elem: "u8", dims: []uint64{256, 40}, box: []uint32{128, 16}, swizzle: emu.Swizzle128, at: []int{192, 30}},
	{name: "swizzle128_3d", elem: "bf16", dims: []uint64{128, 10, 3}, box: []uint32{64, 8, 2}, swizzle: emu.Swizzle128, at: []int{64, 5, 1}},
	{name: "swizzle128_f32", elem: "f32", dims: []uint64{64, 40}, box: []uint32{32, 16}, swizzle: emu.Swizzle128, at: []int{-4, 1}},
}

var reduceCases = []boxCase{
	{name: "add_f16", elem: "f16", dims: []uint64{64, 9}, box: []uint32{64, 8}, swizzle: emu.Swizzle128, at: []int{8, 1}, reduce: "add"},
	{name: "add_bf16", elem: "bf16", dims: []uint64{64, 9}, box: []uint32{32, 8}, at: []int{8, 1}, reduce: "add"},
	{name: "add_u64", elem: "u64", dims: []uint64{20, 9}, box: []uint32{8, 4}, at: []int{4, 2}, reduce: "add"},
	{name: "min_u64", elem: "u64", dims: []uint64{20, 9}, box: []uint32{8, 4}, at: []int{4, 2}, reduce: "min"},
	{name: "max_s64", elem: "s64", dims: []uint64{20, 9}, box: []uint32{8, 4}, at: []int{4, 2}, reduce: "max"},
	{name: "min_f16", elem: "f16", dims: []uint64{64, 9}, box: []uint32{32, 8}, at: []int{8, 1}, reduce: "min"},
	{name: "max_bf16", elem: "bf16", dims: []uint64{64, 9}, box: []uint32{32, 8}, at: []int{8, 1}, reduce: "max"},
	{name: "add_u32", elem: "u32", dims: []uint64{20, 9}, box: []uint32{8, 4}, at: []int{4, 2}, reduce: "add"},
	{name: "add_f32", elem: "f32", dims: []uint64{20, 9}, box: []uint32{8, 4}, at: []int{4, 2}, reduce: "add"},
	{name: "add_f32_ragged", elem: "f32", dims: []uint64{21, 9}, box: []uint32{8, 4}, at: []int{16, 2}, reduce: "add"},
	{name: "min_s32", elem: "s32", dims: []uint64{20, 9}, box: []uint32{8, 4}, at: []int{4, 2}, reduce: "min"},
	{name: "max_u32", elem: "u32", dims: []uint64{20, 9}, box: []uint32{8, 4}, at: []int{4, 2}, reduce: "max"},
	{name: "inc_u32", elem: "u32", dims: []uint64{20, 9}, box: []uint32{8, 4}, at: []int{4, 2}, reduce: "inc"},
	{name: "dec_u32", elem: "u32", dims: []uint64{20, 9}, box: []uint32{8, 4}, at: []int{4, 2}, reduce: "dec"},
	{name: "and_u32", elem: "u32", dims: []uint64{20, 9}, box: []uint32{8, 4}, at: []int{4, 2}, reduce: "and"},
	{name: "or_u32", elem: "u32", dims: []uint64{20, 9}, box: []uint32{8, 4}, at: []int{4, 2}, reduce: "or"},
	{name: "xor_u64", elem: "u64", dims: []uint64{20, 9}, box: []uint32{8, 4}, at: []int{4, 2}, reduce: "xor"},
}

// combined is what a reduction of small integers gives.
func combined(op string, old, b int) int {
	switch op {
	case "add":
		return old + b
	case "min":
		return min(old, b)
	case "max":
		return max(old, b)
	case "inc":
		if old >= b {
			return 0
		}
		return old + 1
	case "dec":
		if old == 0 || old > b {
			return b
		}
		return old - 1
	case "and":
		return old & b
	case "or":
		return old | b
	case "xor":
		return old ^ b
	}
	return b
}

// lines are the tables of the ISA's section on swizzling: which 16-byte element of
// a line of 128 bytes lies in each place, by line.
var lines = map[emu.Swizzle][][]int{
	emu.Swizzle32: {{0, 1, 2, 3, 4, 5, 6, 7}, {1, 0, 3, 2, 5, 4, 7, 6}},
	emu.Swizzle64: {{0, 1, 2, 3, 4, 5, 6, 7}, {1, 0, 3, 2, 5, 4, 7, 6}, {2, 3, 0, 1, 6, 7, 4, 5}, {3, 2, 1, 0, 7, 6, 5, 4}},
	emu.Swizzle128: {
		{0, 1, 2, 3, 4, 5, 6, 7}, {1, 0, 3, 2, 5, 4, 7, 6}, {2, 3, 0, 1, 6, 7, 4, 5}, {3, 2, 1, 0, 7, 6, 5, 4},
		{4, 5, 6, 7, 0, 1, 2, 3}, {5, 4, 7, 6, 1, 0, 3, 2}, {6, 7, 4, 5, 2, 3, 0, 1}, {7, 6, 5, 4, 3, 2, 1, 0},
	},
}

func (c boxCase) extent(d int) int {
	if c.steps == nil || d == 0 {
		return int(c.box[d])
	}
	return (int(c.box[d]) + int(c.steps[d]) - 1) / int(c.steps[d])
}

// strides are the byte strides of the dimensions but the first.
func (c boxCase) strides() []uint64 {
	at := c.dims[0] * uint64(elemSizes[c.elem])
	var s []uint64
	for d := 1; d < len(c.dims); d++ {
		if d-1 < len(c.pitch) {
			at += c.pitch[d-1]
		}
		at = (at + 15) / 16 * 16
		s = append(s, at)
		at *= c.dims[d]
	}
	return s
}

// each visits the elements of the box: their offset in shared memory, and in the tensor, -1 out of bounds.
// What is stored ends with a whole chunk of 16 bytes.
func (c boxCase) each(stores bool, visit func(shared, global int)) {
	size := elemSizes[c.elem]
	inner := int(c.dims[0])
	if stores {
		inner = (inner*size + 15) / 16 * 16 / size
	}
	total := 1
	for d := range c.box {
		total *= c.extent(d)
	}
	strides := c.strides()
	for n := range total {
		rest, global := n, 0
		for d := range c.box {
			i := rest % c.extent(d)
			rest /= c.extent(d)
			if c.steps != nil && d > 0 {
				i *= int(c.steps[d])
			}
			i += c.at[d]
			switch {
			case d == 0 && 0 <= i && i < inner && global >= 0:
				global += i * size
			case i < 0 || i >= int(c.dims[d]):
				global = -1 << 40
			default:
				global += i * int(strides[d-1])
			}
		}
		shared := n * size
		if table := lines[c.swizzle]; table != nil {
			row := table[shared/128%len(table)]
			shared = shared/128*128 + slices.Index(row, shared%128/16)*16 + shared%16
		}
		visit(shared, max(global, -1))
	}
}

func (c boxCase) boxBytes() int {
	n := elemSizes[c.elem]
	for d := range c.box {
		n *= c.extent(d)
	}
	return n
}

// count is the element i of the tensor: numbers that its type has room for.
func (c boxCase) count(i int) int {
	if c.elem == "bf16" {
		return i%100 + 1
	}
	return i%1000 + 1
}

// tensor is a tensor whose elements count up.
func (c boxCase) tensor() []byte {
	size := elemSizes[c.elem]
	n := int(c.dims[0]) * size
	if s := c.strides(); len(s) > 0 {
		n = int(s[len(s)-1] * c.dims[len(c.dims)-1])
	}
	b := make([]byte, (n+15)/16*16)
	for i := 0; i < n; i += size {
		copy(b[i:], encode(c.elem, float64(c.count(i/size))))
	}
	return b
}

func (c boxCase) tensorMap() *argument {
	shape := emu.TensorMap{Type: tensorElems[c.elem], Dims: c.dims, Strides: c.strides(), Box: c.box, Steps: c.steps, Swizzle: c.swizzle, NaNFill: c.nan}
	return &argument{name: "m", kind: "map", of: "x", elem: c.elem, shape: shape}
}

// body puts the coordinates and sizes into the text of a kernel.
func (c boxCase) body(text string) string {
	list := func(at []int) string { return strings.Trim(strings.ReplaceAll(fmt.Sprint(at), " ", ", "), "[]") }
	column, below := slices.Clone(c.at), slices.Clone(c.at)
	column[0]++
	below[len(below)-1] = -1
	return strings.NewReplacer("COORDS", list(c.at), "COLUMN", list(column), "BELOW", list(below), "DIMS", fmt.Sprint(len(c.dims)), "BYTES", fmt.Sprint(c.boxBytes()),
		"WORDS", fmt.Sprint(c.boxBytes()/4)).Replace(text)
}

const loadText = `.visible .entry k(.param .u64 x, .param .align 64 .b8 m[128], .param .u64 y) {
	.shared .align 1024 .b8 buf[BYTES];
	.shared .align 8 .b64 bar;
	.reg .b64 %m, %y, %a;
	.reg .b32 %t, %b, %s, %v, %o;
	.reg .pred %p, %q;
	ld.param.u64 %y, [y];
	mov.b64 %m, m;
	cvta.param.u64 %m, %m;
	mov.u32 %t, %tid.x;
	mov.u32 %b, bar;
	mov.u32 %s, buf;
	setp.ne.u32 %p, %t, 0;
	@%p bra ready;
	mbarrier.init.shared::cta.b64 [%b], 1;
	mbarrier.arrive.expect_tx.shared::cta.b64 _, [%b], BYTES;
	cp.async.bulk.tensor.DIMSd.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%s], [%m, {COORDS}], [%b];
ready:
	bar.sync 0;
wait:
	mbarrier.try_wait.parity.shared::cta.b64 %q, [%b], 0;
	@!%q bra wait;
next:
	setp.ge.u32 %q, %t, WORDS;
	@%q bra done;
	shl.b32 %o, %t, 2;
	add.u32 %o, %o, %s;
	ld.shared.u32 %v, [%o];
	mul.wide.u32 %a, %t, 4;
	add.u64 %a, %a, %y;
	st.global.u32 [%a], %v;
	add.u32 %t, %t, 32;
	bra next;
done:
	ret;
}
`

// Boxes of every rank and swizzle arrive as the ISA's tables say, with what is out of bounds filled.
func TestTensorLoads(t *testing.T) {
	for _, c := range boxCases {
		t.Run(c.name, func(t *testing.T) {
			x, want := c.tensor(), make([]byte, c.boxBytes())
			size := elemSizes[c.elem]
			fill := make([]byte, size)
			if c.nan {
				fill = bytes.Repeat([]byte{0xf7, 0x7f}, size/2)
			}
			c.each(false, func(shared, global int) {
				from := fill
				if global >= 0 {
					from = x[global : global+size]
				}
				copy(want[shared:shared+size], from)
			})
			p := &program{
				name: "tensor_load_" + c.name, text: c.body(loadText), grid: one, block: [3]int{32, 1, 1},
				args: []*argument{
					{name: "x", kind: "in", elem: c.elem, data: x}, c.tensorMap(),
					{name: "y", kind: "out", elem: c.elem, data: make([]byte, len(want))},
				},
				want: map[string][]byte{"y": want},
			}
			p.check(t)
		})
	}
}

// A load by a map of tf32 rounds: to nearest even at 10 bits of fraction, from where the largest numbers become infinite, with
// zeros for subnormal numbers; a NaN keeps its upper bits. These are what an H200 made of such patterns.
func TestTensorLoadsRoundToTF32(t *testing.T) {
	patterns := [][2]uint32{
		{0x3f800000, 0x3f800000}, {0x3f801000, 0x3f800000}, {0x3f801001, 0x3f802000}, {0x3f803000, 0x3f804000}, {0x3f802fff, 0x3f802000},
		{0xbf801001, 0xbf802000}, {0x3fffffff, 0x40000000}, {0x7f7fffff, 0x7f800000}, {0x7f7fefff, 0x7f7fe000}, {0x00800000, 0x00800000},
		{0x007fffff, 0}, {0x80000001, 0x80000000}, {0x7f800000, 0x7f800000}, {0xff800000, 0xff800000}, {0x7fc01fff, 0x7fc00000}, {0x80000000, 0x80000000},
	}
	var x, want []byte
	for _, p := range patterns {
		x, want = binary.LittleEndian.AppendUint32(x, p[0]), binary.LittleEndian.AppendUint32(want, p[1])
	}
	c := boxCase{elem: "f32", dims: []uint64{8, 2}, box: []uint32{8, 2}, at: []int{0, 0}}
	m := c.tensorMap()
	m.shape.Type = emu.TensorTFloat32
	p := &program{
		name: "tensor_load_tf32", text: c.body(loadText), grid: one, block: [3]int{32, 1, 1},
		args: []*argument{{name: "x", kind: "in", elem: "f32", data: x}, m, {name: "y", kind: "out", elem: "u32", data: make([]byte, len(want))}},
		want: map[string][]byte{"y": want},
	}
	p.check(t)
}

const storeText = `.visible .entry k(.param .u64 x, .param .align 64 .b8 m[128], .param .u64 y) {
	.shared .align 1024 .b8 buf[BYTES];
	.reg .b64 %m, %y, %a;
	.reg .b32 %t, %i, %s, %v, %o;
	.reg .pred %p, %q;
	ld.param.u64 %y, [y];
	mov.b64 %m, m;
	cvta.param.u64 %m, %m;
	mov.u32 %t, %tid.x;
	mov.u32 %i, %t;
	mov.u32 %s, buf;
next:
	setp.ge.u32 %q, %i, WORDS;
	@%q bra ready;
	mul.wide.u32 %a, %i, 4;
	add.u64 %a, %a, %y;
	ld.global.u32 %v, [%a];
	shl.b32 %o, %i, 2;
	add.u32 %o, %o, %s;
	st.shared.u32 [%o], %v;
	add.u32 %i, %i, 32;
	bra next;
ready:
	fence.proxy.async.shared::cta; //- fence
	bar.sync 0; //- sync
	setp.ne.u32 %p, %t, 0;
	@%p bra done;
	COPY [%m, {COORDS}], [%s]; //- column //- below
	COPY [%m, {COLUMN}], [%s]; //+ column
	COPY [%m, {BELOW}], [%s]; //+ below
	cp.async.bulk.commit_group;
	st.shared.u32 [%s], %t; //+ early
	cp.async.bulk.wait_group 0; //- wait
done:
	ret;
}
`

// Boxes go to global memory, and are combined with what is there; what is out of bounds is dropped.
func TestTensorStores(t *testing.T) {
	for _, c := range append(slices.Clone(boxCases), reduceCases...) {
		if c.nan || slices.Min(c.at) < 0 {
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			size := elemSizes[c.elem]
			x := c.tensor()
			y, want := make([]byte, c.boxBytes()), slices.Clone(x)
			n := 0
			c.each(true, func(shared, global int) {
				n++
				v := n*7%23 + 2
				copy(y[shared:], encode(c.elem, float64(v)))
				if global >= 0 {
					copy(want[global:global+size], encode(c.elem, float64(combined(c.reduce, c.count(global/size), v))))
				}
			})
			copyText := fmt.Sprintf("cp.async.bulk.tensor.%dd.global.shared::cta.tile.bulk_group", len(c.dims))
			if c.reduce != "" {
				copyText = fmt.Sprintf("cp.reduce.async.bulk.tensor.%dd.global.shared::cta.%s.tile.bulk_group", len(c.dims), c.reduce)
			}
			p := &program{
				name: "tensor_store_" + c.name, text: strings.ReplaceAll(c.body(storeText), "COPY", copyText), grid: one, block: [3]int{32, 1, 1},
				args: []*argument{
					{name: "x", kind: "inout", elem: c.elem, data: x}, c.tensorMap(),
					{name: "y", kind: "in", elem: c.elem, data: y},
				},
				want: map[string][]byte{"x": want},
			}
			if c.name == "2d" || c.name == "add_u32" {
				p.broken = []brokenProgram{{"fence", emu.MissingFence}, {"sync", emu.SharedRace}, {"early", emu.PendingCopy}, {"wait", emu.PendingCopy}, {"column", emu.Misaligned}, {"below", emu.OutOfBounds}}
			}
			p.check(t)
		})
	}
}

var one = [3]int{1, 1, 1}
