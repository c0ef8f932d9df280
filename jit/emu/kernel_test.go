package emu

import (
	"encoding/binary"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tilec/jit/emu/syntax"
)

// TestDecodeErrors: each error names the line and what is wrong.
func TestDecodeErrors(t *testing.T) {
	for body, want := range map[string]string{
		"frobnicate.b32 %r1, %r2;":                    "does not know the instruction frobnicate.b32",
		"add.b32 %r1, %r2, %r3;":                      "type .b32",
		"add.s32.fast %r1, %r2, %r3;":                 "unknown modifier .fast",
		"add.s32 %r1, %r2;":                           "operand is missing",
		"add.s32 %r1, %r2, %r3, %r4;":                 "1 operands too many",
		"add.s32 %r1, %r2, %rd3;":                     "%rd3 has type .b64 where .s32 is needed",
		"add.s32 %r1, %r2, %nosuch;":                  "%nosuch is not declared",
		"add.f32 %f1, %f2, 3;":                        "integer constant",
		"add.s32 5, %r2, %r3;":                        "not a register",
		"@%r1 mov.b32 %r2, 1;":                        "not a predicate register",
		"bra nowhere;":                                "no label nowhere",
		"ld.global.b32 %r1, %r2;":                     "need an address",
		"ld.global.b32 %r1, [%r2];":                   "cannot hold an address",
		"ld.shared.b32 %r1, [in];":                    "in .param, not in shared",
		"cp.async.cg.shared.global [%r1], [%rd1], 8;": "cannot copy 8 bytes",
		"cp.async.cg.shared.global.L2::cache_hint [%r1], [%rd1], 16, %rd1;":               "illegal instruction",
		"setp.lo.f32 %p1, %f1, %f2;":                                                      "does not compare floats",
		"cvt.s32.f32 %r1, %f1;":                                                           "need one of .rni",
		"mma.sync.aligned.m16n8k16.row.col.f32.tf32.tf32.f32 {%f1}, {%r1}, {%r1}, {%f1};": "does not go with",
	} {
		_, err := Parse(kernel(body))
		require.ErrorContains(t, err, want, body)
		var at *syntax.Error
		require.ErrorAs(t, err, &at)
		require.Positive(t, at.Line, body)
	}
}

// FuzzLaunch: no text makes the decoder panic, and what it takes can be launched.
func FuzzLaunch(f *testing.F) {
	f.Add(kernel("add.s32 %r1, %r0, 1;"))
	f.Add(module(shared, checkTests[12].right))
	f.Add(module(".func (.reg .b32 %o) f(.reg .b32 %i) { @%p ret; mov.b32 %o, %i; }", "call (%r1), f, (%r2); t: .branchtargets a, b; brx.idx %r1, t; a: b:"))
	f.Add(module(".func (.param .b32 %o) f(.param .b64 %i) { ret; }", "{ .param .b32 a; .param .b64 b; st.param.b64 [b], 1; call (a), f, (b); }"))
	f.Add(".version 8.0\n.entry k(.param .u64 in) { .reg .b32 %r<9>; x: @%p bra x; }")
	f.Add(kernel("mma.sync.aligned.m16n8k8.row.col.f32.bf16.bf16.f32 {%f2,%f3,%f4,%f5}, {%r2,%r2}, {%r2}, {%f1,%f1,%f1,%f1};"))
	for _, c := range checkTests {
		f.Add(module(c.declarations, c.wrong))
	}
	f.Fuzz(func(t *testing.T, text string) {
		m, err := Parse(text)
		if err != nil {
			return
		}
		for name, e := range m.Kernels {
			if e.ParamSize > 1<<10 || e.Local > 1<<10 || e.Shared > 1<<14 || len(m.text.Globals) > 0 {
				continue
			}
			threads := [3]int{32, 1, 1}
			if e.Threads[0] > 0 {
				threads = e.Threads
			}
			params := binary.LittleEndian.AppendUint64(nil, globalBase)
			params = append(params, make([]byte, e.ParamSize)...)[:e.ParamSize]
			_, _ = Launch(m, name, [3]int{1, 1, 1}, threads, 64, params, NewMemory(), Options{MaxSteps: 2000})
		}
	})
}

// TestReport counts instructions and traffic of a kernel small enough to count by hand.
func TestReport(t *testing.T) {
	r := &run{blocks: 2, threads: 64, in: words(counting(64)...), outSize: 512, options: Options{Profile: true}}
	r.clean(t, module(shared, strings.ReplaceAll(`
	mad.wide.u32 %rd2, %r0, 4, %rd0;
	.loc 1 7 2
	ld.global.b32 %r2, [%rd2];
	mov.u32 %r3, buffer;
	mad.lo.u32 %r4, %r0, 8, %r3;
	st.shared.b32 [%r4], %r2;
	mad.lo.u32 %r5, %r1, 64, %r0;
	mad.wide.u32 %rd3, %r5, 4, %rd1;
	setp.lt.u32 %p1, %r0, 16;
	.loc 1 9 2
	@%p1 st.global.b32 [%rd3], %r2;`, "\r", "")))
	p := r.report
	require.Equal(t, []LineCount{
		{"", 0, 4 * 7, 4 * 7 * 32}, {"test.tile", 7, 4 * 7, 4 * 7 * 32}, {"test.tile", 9, 4 * 2, 2*16 + 4*32}, // the last has ret too
	}, p.Lines)
	require.Equal(t, 2, p.Blocks)
	require.Equal(t, 64, p.Threads)
	require.Equal(t, int64(4*16), p.WarpInstructions)
	require.Equal(t, int64(4*32*15+2*16), p.ThreadInstructions)
	require.Equal(t, int64(2*64*4), p.GlobalRead)
	require.Equal(t, int64(2*16*4), p.GlobalWritten)
	require.Equal(t, int64(2*64*4), p.SharedWritten)
	require.Len(t, p.Accesses, 3)
	load, store, last := p.Accesses[0], p.Accesses[1], p.Accesses[2]
	require.Equal(t, int64(4), load.Requests)
	require.Equal(t, int64(4*4), load.Sectors, "128 bytes in a row are 4 sectors")
	require.Equal(t, int64(4*2), store.Wavefronts, "a stride of 8 bytes uses every other bank twice")
	require.Equal(t, int64(4), store.Ideal)
	require.Equal(t, int64(2*2), last.Sectors)
}

// TestConflicts counts passes over the banks of shared memory.
func TestConflicts(t *testing.T) {
	at := func(stride uint64) *[warpSize]uint64 {
		var a [warpSize]uint64
		for i := range a {
			a[i] = uint64(i) * stride
		}
		return &a
	}
	each := func(size int) *[warpSize]int {
		var a [warpSize]int
		for i := range a {
			a[i] = size
		}
		return &a
	}
	for _, c := range []struct {
		stride uint64
		size   int
		want   int
	}{
		{0, 4, 1}, {4, 4, 1}, {8, 4, 2}, {128, 4, 32}, {132, 4, 1}, {2, 2, 1}, {1, 1, 1},
		{8, 8, 2}, {16, 16, 4}, {32, 16, 8}, {256, 8, 32}, {144, 16, 4},
	} {
		require.Equal(t, c.want, wavefronts(at(c.stride), allLanes, c.size), "stride %d size %d", c.stride, c.size)
	}
	require.Equal(t, 1, wavefronts(at(128), 1, 4))
	require.Equal(t, 32, sectors(at(128), allLanes, each(4)))
	require.Equal(t, 4, sectors(at(4), allLanes, each(4)))
	require.Equal(t, 16, sectors(at(16), allLanes, each(16)))
}

// Functions are called with registers and with .param variables, in one another and predicated.
func TestCalls(t *testing.T) {
	functions := `
.func (.reg .b32 %out) twice(.reg .b32 %in)
{
	.reg .pred %p;
	setp.gt.u32 %p, %in, 10;
	@%p bra big;
	add.u32 %in, %in, %in;
	mov.b32 %out, %in;
	ret;
big:
	mov.b32 %out, 99;
}
.visible .func (.param .b32 result) sum(.param .b32 a, .param .b64 b)
{
	.reg .b32 %x, %y;
	.reg .b64 %z;
	ld.param.b32 %x, [a];
	ld.param.b64 %z, [b];
	cvt.u32.u64 %y, %z;
	call.uni (%x), twice, (%x);
	add.u32 %x, %x, %y;
	st.param.b32 [result], %x;
	ret;
}
`
	r := (&run{threads: 32, outSize: 128}).clean(t, module(functions, `
	mov.b32 %r2, %r0;
	call (%r3), twice, (%r2);
	call (%r4), twice, (4);
	{
		.param .b32 param0;
		.param .b64 param1;
		.param .b32 retval0;
		st.param.b32 [param0], %r2;
		st.param.b64 [param1], 1000;
		call.uni (retval0), sum, (param0, param1);
		ld.param.b32 %r5, [retval0];
	}
	mov.b32 %r6, 0;
	setp.lt.u32 %p1, %r0, 3;
	@%p1 call (%r6), twice, (%r0);
	add.u32 %r9, %r3, %r4;
	add.u32 %r9, %r9, %r5;
	add.u32 %r9, %r9, %r6;
	add.u32 %r9, %r9, %r2;`+storeResult))
	twice := func(v int) int {
		if v > 10 {
			return 99
		}
		return 2 * v
	}
	for lane, v := range r.words() {
		want := twice(lane) + 8 + twice(lane) + 1000 + lane
		if lane < 3 {
			want += twice(lane)
		}
		require.Equal(t, uint32(want), v, "lane %d", lane)
	}
	for body, want := range map[string]string{
		"call nothing;":                  "function nothing has no body in the module",
		"call (%r1), twice;":             "the call gives 0 values, the function needs more",
		"call (%r1), twice, (%r1, %r2);": "the call gives 2 values, the function needs 1",
		"call (%r1), sum, (%r1, %r2);":   "%r1 is not a .param variable of 4 bytes, which the function needs",
	} {
		_, err := Parse(module(functions, body))
		require.ErrorContains(t, err, want)
	}
	_, err := Parse(module(".func f() { call f; ret; }\n", "call f;"))
	require.ErrorContains(t, err, "function f calls itself")
}

// brx.idx goes to the label of each lane's number.
func TestIndexedBranch(t *testing.T) {
	r := (&run{threads: 32, outSize: 128}).clean(t, kernel(`
	and.b32 %r2, %r0, 3;
	mov.b32 %r9, 77;
	setp.lt.u32 %p1, %r2, 3;
ways:
	.branchtargets zero, one, two;
	@%p1 brx.idx %r2, ways;
	bra done;
two:
	mov.b32 %r9, 2;
	bra done;
zero:
	mov.b32 %r9, 10;
	bra done;
one:
	mov.b32 %r9, 11;
done:`+storeResult))
	for lane, v := range r.words() {
		require.Equal(t, []uint32{10, 11, 2, 77}[lane%4], v)
	}
}
