package emu

import (
	"encoding/binary"
	"fmt"
	"math"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestLoadsAndStores(t *testing.T) {
	in := words(0x80ff7f01, 2, 3, 4, 5, 6, 7, 8)
	for body, want := range map[string][]uint32{
		`ld.global.s8 %r2, [%rd0+2]; ld.global.u8 %r3, [%rd0+2]; st.global.v2.b32 [%rd1], {%r2, %r3};`:                                          {0xffffffff, 0xff},
		`ld.global.nc.L1::no_allocate.v4.u32 {%r2,%r3,%r4,%r5}, [%rd0]; st.global.v4.b32 [%rd1], {%r5,%r4,%r3,%r2};`:                            {4, 3, 2, 0x80ff7f01},
		`ld.global.s16 %r2, [%rd0+2]; st.global.cs.b32 [%rd1], %r2;`:                                                                            {0xffff80ff},
		`ld.global.v2.u64 {%rd5,%rd6}, [%rd0+16]; st.global.b64 [%rd1], %rd6;`:                                                                  {7, 8},
		`ld.relaxed.gpu.global.u32 %r2, [%rd0+4]; st.release.gpu.global.b32 [%rd1], %r2;`:                                                       {2},
		`ld.b32 %r2, [%rd0+4]; st.b32 [%rd1], %r2;`:                                                                                             {2},
		`mov.b64 %rd5, {1, 2}; mov.b64 {%r2, %r3}, %rd5; mov.b32 {%h1, %h2}, %r3; mov.b32 %r4, {%h2, %h1}; st.global.v2.b32 [%rd1], {%r2,%r4};`: {1, 0x20000},
		`mov.b32 %r2, 5; st.global.b8 [%rd1], %r2; st.global.b8 [%rd1+1], %r2; mov.b16 %h1, 9; st.global.b16 [%rd1+2], %h1;`:                    {0x90505},
	} {
		r := (&run{threads: 1, in: in, outSize: 4 * len(want)}).clean(t, kernel(body))
		require.Equal(t, want, r.words(), body)
	}
}

func TestSpaces(t *testing.T) {
	declarations := shared + `
.const .align 4 .b32 table[4] = {10, 20, 30};
.global .align 4 .b32 counter = 7;
`
	r := (&run{threads: 1, outSize: 32}).clean(t, module(declarations, `
	.local .align 8 .b8 stack[32];
	mov.b32 %r2, 1;
	st.local.b32 [stack+4], %r2;
	mov.u64 %rd5, stack;
	cvta.local.u64 %rd6, %rd5;
	ld.b32 %r3, [%rd6+4];
	mov.u64 %rd5, buffer;
	cvta.shared.u64 %rd6, %rd5;
	st.b32 [%rd6+8], %r3;
	ld.shared.b32 %r4, [buffer+8];
	isspacep.shared %p1, %rd6;
	isspacep.global %p2, %rd6;
	selp.b32 %r5, 1, 0, %p1;
	selp.b32 %r6, 1, 0, %p2;
	cvta.to.shared.u64 %rd7, %rd6;
	ld.shared.b32 %r7, [%rd7+8];
	ld.const.b32 %r8, [table+8];
	ld.const.b32 %r10, [table+12];
	ld.global.b32 %r11, [counter];
	st.global.v4.b32 [%rd1], {%r4, %r5, %r6, %r7};
	st.global.v4.b32 [%rd1+16], {%r8, %r10, %r11, %r3};`))
	require.Equal(t, []uint32{1, 1, 0, 1, 30, 0, 7, 1}, r.words())
	// Dynamic shared memory starts after the static.
	r = (&run{threads: 1, dynamic: 64, outSize: 4}).clean(t, module(".extern .shared .align 16 .b8 arena[];\n", `
	mov.u32 %r2, arena;
	st.shared.b32 [%r2+60], %r0;
	st.shared.b32 [arena+32], 5;
	ld.shared.b32 %r3, [%r2+32];
	st.global.b32 [%rd1], %r3;`))
	require.Equal(t, []uint32{5}, r.words())
}

func TestAtomics(t *testing.T) {
	// 256 threads of four blocks update the word at in; the last one to finish copies it to out.
	for _, c := range []struct {
		op, operand string
		start, want uint32
	}{
		{"add.u32", "1", 5, 5 + 256}, {"add.f32", "0f3F800000", 0, math.Float32bits(256)},
		{"max.s32", "%r0", 5, 63}, {"min.s32", "-3", 5, 0xfffffffd}, {"min.u32", "-3", 5, 5},
		{"or.b32", "%r0", 64, 127}, {"and.b32", "12", 0xff, 12}, {"xor.b32", "1", 1, 1},
		{"inc.u32", "9", 0, 256 % 10}, {"dec.u32", "9", 0, (10 - 256%10) % 10}, {"exch.b32", "3", 0, 3},
	} {
		r := (&run{blocks: 4, threads: 64, in: words(c.start, 0), outSize: 4}).clean(t, kernel(`
	atom.global.`+c.op+` %r5, [%rd0], `+c.operand+`;
	membar.gl;
	atom.acq_rel.gpu.global.add.u32 %r6, [%rd0+4], 1;
	setp.eq.u32 %p1, %r6, 255;
	@%p1 ld.volatile.global.b32 %r7, [%rd0];
	@%p1 st.global.b32 [%rd1], %r7;`))
		require.Equal(t, c.want, r.words()[0], c.op)
	}
	// cas by a loop, in shared memory: each thread counts once.
	r := (&run{threads: 64, outSize: 4}).clean(t, module(shared, `
	setp.eq.u32 %p1, %r0, 0;
	@%p1 st.shared.b32 [buffer], 0;
	bar.sync 0;
	mov.b32 %r2, 0;
again:
	add.u32 %r3, %r2, 1;
	atom.shared.cas.b32 %r4, [buffer], %r2, %r3;
	setp.ne.u32 %p2, %r4, %r2;
	mov.b32 %r2, %r4;
	@%p2 bra again;
	bar.sync 0;
	@%p1 ld.shared.b32 %r5, [buffer];
	@%p1 st.global.b32 [%rd1], %r5;`))
	require.Equal(t, uint32(64), r.words()[0])
	// Packed and half types.
	r = (&run{threads: 32, in: words(0, 0), outSize: 4}).clean(t, kernel(`
	mov.b32 %r2, 0x3c003c00;
	mov.b32 %r3, 0x3f803f80;
	atom.global.add.noftz.f16x2 %r4, [%rd0], %r2;
	red.global.add.noftz.bf16x2 [%rd0+4], %r3;
	membar.gl;
	setp.eq.u32 %p1, %r0, 0;
	bar.warp.sync -1;
	@%p1 ld.volatile.global.b32 %r4, [%rd0];
	@%p1 ld.volatile.global.b32 %r5, [%rd0+4];
	@%p1 add.u32 %r4, %r4, %r5;
	@%p1 st.global.b32 [%rd1], %r4;`))
	require.Equal(t, uint32(0x50005000+0x42004200), r.words()[0])
}

// TestAtomicResults has one thread do every operation of every type and keep what was there before and after.
func TestAtomicResults(t *testing.T) {
	type row struct {
		op, class       string
		start, with     uint64
		compare, before uint64
		after           uint64
	}
	half := uint64(0x3c00)
	for _, c := range []row{
		{"add.u32", "r", 0xffffffff, 2, 0, 0xffffffff, 1},
		{"add.s32", "r", 5, 0xfffffffb, 0, 5, 0},
		{"add.u64", "rd", 1 << 40, 3, 0, 1 << 40, 1<<40 + 3},
		{"add.f32", "f", b32(0.5), b32(0.25), 0, b32(0.5), b32(0.75)},
		{"add.f64", "d", b64(0.5), b64(0.25), 0, b64(0.5), b64(0.75)},
		{"add.noftz.f16", "h", half, half, 0, half, 0x4000},
		{"add.noftz.bf16", "h", 0x3f80, 0x3f80, 0, 0x3f80, 0x4000},
		{"min.u64", "rd", 1 << 63, 7, 0, 1 << 63, 7},
		{"max.s64", "rd", 1 << 63, 7, 0, 1 << 63, 7},
		{"min.s64", "rd", 1 << 63, 7, 0, 1 << 63, 1 << 63},
		{"max.u32", "r", 3, 0x80000000, 0, 3, 0x80000000},
		{"min.s32", "r", 3, 0x80000000, 0, 3, 0x80000000},
		{"and.b64", "rd", 0xff00ff00ff, 0xf0f0f0f0f0, 0, 0xff00ff00ff, 0xf000f000f0},
		{"or.b64", "rd", 0xff00ff00ff, 0xf0f0f0f0f0, 0, 0xff00ff00ff, 0xfff0fff0ff},
		{"xor.b64", "rd", 0xff00ff00ff, 0xf0f0f0f0f0, 0, 0xff00ff00ff, 0x0ff00ff00f},
		{"exch.b64", "rd", 7, 9, 0, 7, 9},
		{"inc.u32", "r", 9, 9, 0, 9, 0},
		{"inc.u32", "r", 8, 9, 0, 8, 9},
		{"dec.u32", "r", 0, 9, 0, 0, 9},
		{"dec.u32", "r", 10, 9, 0, 10, 9},
		{"cas.b32", "r", 5, 8, 5, 5, 8},
		{"cas.b32", "r", 5, 8, 6, 5, 5},
		{"cas.b64", "rd", 1 << 50, 8, 1 << 50, 1 << 50, 8},
		{"cas.b16", "h", 5, 8, 5, 5, 8},
	} {
		bits := map[string]int{"r": 32, "rd": 64, "f": 32, "d": 64, "h": 16}[c.class]
		register := func(i int) string { return fmt.Sprintf("%%%s%d", c.class, i) }
		for _, space := range []string{"global", "shared"} {
			at := map[string]string{"global": "[%rd0]", "shared": "[buffer]"}[space]
			operands := register(10)
			if strings.HasPrefix(c.op, "cas") {
				operands = register(12) + ", " + register(10)
			}
			in := binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(nil, c.start), c.with), c.compare)
			r := (&run{threads: 1, in: in, outSize: 16}).clean(t, module(shared, fmt.Sprintf(`
	ld.global.b%[1]d %[2]s, [%%rd0];
	ld.global.b%[1]d %[3]s, [%%rd0+8];
	ld.global.b%[1]d %[4]s, [%%rd0+16];
	st.%[5]s.b%[1]d %[6]s, %[2]s;
	atom.%[5]s.%[7]s %[8]s, %[6]s, %[9]s;
	ld.%[5]s.b%[1]d %[2]s, %[6]s;
	st.global.b64 [%%rd1], 0;
	st.global.b64 [%%rd1+8], 0;
	st.global.b%[1]d [%%rd1], %[8]s;
	st.global.b%[1]d [%%rd1+8], %[2]s;`, bits, register(11), register(10), register(12), space, at, c.op, register(13), operands)))
			require.Equal(t, c.before, binary.LittleEndian.Uint64(r.out), "%s %s before", space, c.op)
			require.Equal(t, c.after, binary.LittleEndian.Uint64(r.out[8:]), "%s %s after", space, c.op)
		}
	}
}

func TestAsyncCopy(t *testing.T) {
	in := make([]byte, 512)
	for i := range in {
		in[i] = byte(i + 1)
	}
	// Two groups; a source of 8 bytes leaves zeros behind it.
	r := (&run{threads: 16, in: in, outSize: 256}).clean(t, module(shared, `
	mad.wide.u32 %rd2, %r0, 16, %rd0;
	mad.wide.u32 %rd3, %r0, 16, %rd1;
	mov.u32 %r2, buffer;
	mad.lo.u32 %r2, %r0, 16, %r2;
	mov.b32 %r3, 8;
	cp.async.cg.shared.global [%r2], [%rd2], 16, %r3;
	cp.async.commit_group;
	cp.async.ca.shared.global [%r2+256], [%rd2], 4;
	cp.async.ca.shared.global [%r2+264], [%rd2+8], 8, 0;
	cp.async.commit_group;
	cp.async.wait_group 1;
	ld.shared.v4.b32 {%r4, %r5, %r6, %r7}, [%r2];
	cp.async.wait_all;
	ld.shared.b32 %r8, [%r2+256];
	st.global.v4.b32 [%rd3], {%r4, %r5, %r6, %r8};`))
	for i := range 16 {
		want := make([]byte, 16)
		copy(want, in[16*i:16*i+8])
		copy(want[12:], in[16*i:16*i+4])
		require.Equal(t, want, r.out[16*i:16*i+16])
	}
}

// What a copy fills with zeros it does not read: 8 lanes read 16 bytes, 4 read 8, and 4 nothing.
func TestProfileCountsWhatCopiesRead(t *testing.T) {
	r := (&run{threads: 16, in: make([]byte, 512), outSize: 16, options: Options{Profile: true}}).clean(t, module(shared, `
	mad.wide.u32 %rd2, %r0, 16, %rd0;
	mov.u32 %r2, buffer;
	mad.lo.u32 %r2, %r0, 16, %r2;
	mov.b32 %r3, 16;
	setp.ge.u32 %p0, %r0, 8;
	@%p0 mov.b32 %r3, 8;
	setp.ge.u32 %p0, %r0, 12;
	@%p0 mov.b32 %r3, 0;
	cp.async.cg.shared.global [%r2], [%rd2], 16, %r3;
	cp.async.wait_all;`))
	require.EqualValues(t, 8*16+4*8, r.report.GlobalRead)
	require.EqualValues(t, 16*16, r.report.SharedWritten)
	for _, a := range r.report.Accesses {
		if a.Space == "global" {
			require.EqualValues(t, 4+2, a.Sectors)
		}
	}
}

func TestMemory(t *testing.T) {
	m := NewMemory()
	a, err := m.Alloc(100)
	require.NoError(t, err)
	require.Zero(t, a%256)
	require.NoError(t, m.Write(a+10, []byte{1, 2, 3}))
	got := make([]byte, 3)
	require.NoError(t, m.Read(got, a+10))
	require.Equal(t, []byte{1, 2, 3}, got)
	n, err := m.Written(a, 100)
	require.NoError(t, err)
	require.Equal(t, 3, n)
	require.ErrorContains(t, m.Write(a+98, []byte{1, 2, 3}), "1 bytes past")
	m.Free(a)
	require.ErrorContains(t, m.Read(got, a), "no allocation")
	_, err = m.Alloc(-1)
	require.Error(t, err)
}

// TestLaunchErrors: what is wrong with a launch is said, with the limit.
func TestLaunchErrors(t *testing.T) {
	m, err := Parse(kernel(""))
	require.NoError(t, err)
	one := [3]int{1, 1, 1}
	params := binary.LittleEndian.AppendUint64(make([]byte, 8), 0)
	for want, launch := range map[string]func() (*Report, error){
		"no kernel": func() (*Report, error) { return Launch(m, "x", one, one, 0, params, NewMemory(), Options{}) },
		"need 16":   func() (*Report, error) { return Launch(m, "k", one, one, 0, nil, NewMemory(), Options{}) },
		"at most 1024": func() (*Report, error) {
			return Launch(m, "k", one, [3]int{2000, 1, 1}, 0, params, NewMemory(), Options{})
		},
		"at most 232448":      func() (*Report, error) { return Launch(m, "k", one, one, 1<<20, params, NewMemory(), Options{}) },
		"each needs at least": func() (*Report, error) { return Launch(m, "k", [3]int{}, one, 0, params, NewMemory(), Options{}) },
	} {
		_, err := launch()
		require.ErrorContains(t, err, want)
	}
}

// Launches on one memory at the same time do not lose each other's notes of who wrote what.
func TestConcurrentLaunches(t *testing.T) {
	m, err := Parse(kernel(`
	mul.wide.u32 %rd2, %r1, 4096;
	add.u64 %rd1, %rd1, %rd2;
	st.global.b32 [%rd1], %r1;`))
	require.NoError(t, err)
	const blocks = 2000
	memory := NewMemory()
	write := func(blocks int) {
		out, err := memory.Alloc(int64(4096 * blocks))
		require.NoError(t, err)
		defer memory.Free(out)
		r, err := Launch(m, "k", [3]int{blocks, 1, 1}, [3]int{1, 1, 1}, 0, binary.LittleEndian.AppendUint64(make([]byte, 8), out), memory, Options{Workers: 1})
		require.NoError(t, err)
		require.Empty(t, r.Findings)
		n, err := memory.Written(out, 4096*blocks)
		require.NoError(t, err)
		require.Equal(t, 4*blocks, n)
	}
	var done atomic.Bool
	var group sync.WaitGroup
	group.Go(func() {
		for !done.Load() {
			write(1)
		}
	})
	for range 5 {
		write(blocks)
	}
	done.Store(true)
	group.Wait()
}

// TestUndefine: memory that is filled counts as written, and what was taken back does not.
func TestUndefine(t *testing.T) {
	m := NewMemory()
	at, err := m.Alloc(8)
	require.NoError(t, err)
	require.NoError(t, m.Fill(at+1, 4, 0))
	require.NoError(t, m.Undefine(at+2, 2, 0xff))
	data := make([]byte, 8)
	require.NoError(t, m.Read(data, at))
	require.Equal(t, []byte{junk, 0, 0xff, 0xff, 0, junk, junk, junk}, data)
	n, err := m.Written(at, 8)
	require.NoError(t, err)
	require.Equal(t, 2, n)
	require.Error(t, m.Fill(at+4, 5, 0))
	require.Error(t, m.Undefine(at+4, 5, 0))
}
