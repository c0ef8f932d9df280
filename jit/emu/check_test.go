package emu

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// A checkTest is a program that is right and one that is wrong in one place; the
// check must be quiet on the first and name the line of the second.
type checkTest struct {
	name         string
	kind         Kind
	declarations string
	blocks       int
	threads      int
	in           []byte
	right, wrong string
	message      string // part of the finding's
}

// sharedPair gives each thread the address of its own word of buffer in %r3 and of its neighbour's in %r4.
const sharedPair = `
	mov.u32 %r2, buffer;
	shl.b32 %r3, %r0, 2;
	xor.b32 %r4, %r3, 4;
	add.u32 %r3, %r3, %r2;
	add.u32 %r4, %r4, %r2;
`

var checkTests = []checkTest{
	{
		name: "load past the end", kind: OutOfBounds, in: words(1, 2, 3), message: "byte 12 of allocation 0, which has 12",
		right: "ld.global.b32 %r2, [%rd0+8];",
		wrong: "ld.global.b32 %r2, [%rd0+12];",
	},
	{
		name: "prefetch past the end", kind: OutOfBounds, in: words(1, 2, 3), message: "a prefetch",
		right: "prefetch.global.L2 [%rd0+8];",
		wrong: "prefetch.global.L2 [%rd0+12];",
	},
	{
		name: "vector that hangs over the end", kind: OutOfBounds, in: words(1, 2, 3), message: "16 bytes",
		right: "ld.global.v2.b32 {%r2, %r3}, [%rd0];",
		wrong: "ld.global.v4.b32 {%r2, %r3, %r4, %r5}, [%rd0];",
	},
	{
		name: "shared memory past the end", kind: OutOfBounds, declarations: shared, message: "1024 bytes",
		right: "mov.u32 %r2, buffer; st.shared.b32 [%r2+1020], 1;",
		wrong: "mov.u32 %r2, buffer; st.shared.b32 [%r2+1024], 1;",
	},
	{
		name: "generic address taken for a shared one", kind: OutOfBounds, message: "is in global memory",
		right: "cvta.to.global.u64 %rd2, %rd1;",
		wrong: "cvta.to.shared.u64 %rd2, %rd1;",
	},
	{
		name: "misaligned vector", kind: Misaligned, in: words(1, 2, 3, 4, 5, 6), message: "no multiple of 16",
		right: "ld.global.v4.b32 {%r2, %r3, %r4, %r5}, [%rd0];",
		wrong: "ld.global.v4.b32 {%r2, %r3, %r4, %r5}, [%rd0+8];",
	},
	{
		name: "output read before it is written", kind: Uninitialised, message: "byte 0 of allocation",
		right: "st.global.b32 [%rd1], 1; ld.global.b32 %r2, [%rd1];",
		wrong: "ld.global.b32 %r2, [%rd1];",
	},
	{
		name: "bits changed beside bytes that were never written", kind: Uninitialised, message: "byte 2 of",
		right: "st.global.b8 [%rd1+1], 1; red.global.and.b32 [%rd1], 0xffff0fff; red.global.or.b32 [%rd1], 0x5000;",
		wrong: "st.global.b8 [%rd1+1], 1; red.global.and.b32 [%rd1], 0xff0fffff;",
	},
	{
		name: "output made of shared memory that was never written", kind: Uninitialised, declarations: shared, message: "shared memory that was never written, address 0x4",
		right: "ld.shared.b32 %r2, [buffer+4]; add.u32 %r3, %r2, 1;",
		wrong: "ld.shared.b32 %r2, [buffer+4]; add.u32 %r3, %r2, 1; st.global.b32 [%rd1], %r3;",
	},
	{
		name: "undefined value chosen", kind: Uninitialised, declarations: shared, message: "stored value",
		right: "ld.shared.b32 %r2, [buffer]; setp.eq.u32 %p1, %r0, 0; selp.b32 %r3, 7, %r2, %p1; st.global.b32 [%rd1], %r3;",
		wrong: "ld.shared.b32 %r2, [buffer]; setp.eq.u32 %p1, %r0, 0; selp.b32 %r3, %r2, 7, %p1; st.global.b32 [%rd1], %r3;",
	},
	{
		name: "undefined value masked", kind: Uninitialised, declarations: shared, message: "stored value",
		right: "ld.shared.b32 %r2, [buffer]; and.b32 %r2, %r2, %r0; st.global.b32 [%rd1], %r2;",
		wrong: "ld.shared.b32 %r2, [buffer]; or.b32 %r2, %r2, %r0; st.global.b32 [%rd1], %r2;",
	},
	{
		name: "branch on an undefined value", kind: Uninitialised, declarations: shared, message: "predicate %p2",
		right: "ld.shared.b32 %r2, [buffer]; setp.ne.u32 %p1, %r0, 0; setp.eq.and.u32 %p2, %r2, 0, %p1; @%p2 bra end1; mov.b32 %r3, 1; end1:",
		wrong: "ld.shared.b32 %r2, [buffer]; setp.eq.u32 %p1, %r0, 0; setp.eq.and.u32 %p2, %r2, 0, %p1; @%p2 bra end1; mov.b32 %r3, 1; end1:",
	},
	{
		name: "address made of an undefined value", kind: Uninitialised, declarations: shared, message: "register %r2",
		right: "ld.shared.b32 %r2, [buffer]; setp.ne.u32 %p1, %r0, 0; mov.u32 %r3, buffer; st.shared.b32 [%r3], 1; ld.shared.b32 %r4, [%r3];",
		wrong: "mov.u32 %r3, buffer; ld.shared.b32 %r2, [%r3]; and.b32 %r2, %r2, 124; add.u32 %r2, %r2, %r3; ld.shared.b32 %r4, [%r2];",
	},
	{
		name: "undefined value by way of shared memory and another lane", kind: Uninitialised, declarations: shared, threads: 32, message: "lanes 3,",
		right: sharedOdd + "st.shared.b32 [%r3+512], %r2; ld.shared.b32 %r4, [%r3+512]; shfl.sync.idx.b32 %r5, %r4, 6, 31, -1;" + storeLane,
		wrong: sharedOdd + "st.shared.b32 [%r3+512], %r2; ld.shared.b32 %r4, [%r3+512]; shfl.sync.bfly.b32 %r5, %r4, 4, 31, -1;" + storeLane,
	},
	{
		name: "row of a product made of undefined values", kind: Uninitialised, declarations: shared, threads: 32, message: "register %f2 comes from",
		right: undefinedProduct + "setp.ge.u32 %p2, %r0, 4; @%p2 st.global.b32 [%rd1], 0;",
		wrong: undefinedProduct + "@%p1 st.global.f32 [%rd1], %f2;",
	},
	{
		name: "register never written", kind: Uninitialised, message: "%r2",
		right: "mov.b32 %r2, 1; add.u32 %r3, %r2, 1;",
		wrong: "add.u32 %r3, %r2, 1;",
	},
	{
		name: "register written in some lanes", kind: Uninitialised, threads: 32, message: "%r2",
		right: "setp.lt.u32 %p1, %r0, 8; @%p1 mov.b32 %r2, 1; @%p1 add.u32 %r3, %r2, 1;",
		wrong: "setp.lt.u32 %p1, %r0, 8; @%p1 mov.b32 %r2, 1; add.u32 %r3, %r2, 1;",
	},
	{
		name: "predicate never written", kind: Uninitialised, message: "%p1",
		right: "setp.lt.u32 %p1, %r0, 8; @%p1 mov.b32 %r2, 1;",
		wrong: "@%p1 mov.b32 %r2, 1;",
	},
	{
		name: "read before the barrier, across warps", kind: SharedRace, declarations: shared, threads: 64, message: "no barrier",
		right: sharedPair + "xor.b32 %r4, %r4, 128; st.shared.b32 [%r3], %r0; bar.sync 0; ld.shared.b32 %r5, [%r4];",
		wrong: sharedPair + "xor.b32 %r4, %r4, 128; st.shared.b32 [%r3], %r0; st.shared.b32 [%r3+256], %r0; bar.sync 0; st.shared.b32 [%r3], %r0; ld.shared.b32 %r5, [%r4];",
	},
	{
		name: "read of a neighbour's word within the warp", kind: SharedRace, declarations: shared, threads: 32, message: "thread",
		right: sharedPair + "st.shared.b32 [%r3], %r0; bar.warp.sync -1; ld.shared.b32 %r5, [%r4];",
		wrong: sharedPair + "st.shared.b32 [%r3], %r0; ld.shared.b32 %r5, [%r4];",
	},
	{
		name: "write while others may still read", kind: SharedRace, declarations: shared, threads: 64, message: "read",
		right: sharedPair + "st.shared.b32 [%r3], %r0; bar.sync 0; ld.shared.b32 %r5, [%r4]; bar.sync 0; st.shared.b32 [%r3], %r5;",
		wrong: sharedPair + "st.shared.b32 [%r3], %r0; bar.sync 0; ld.shared.b32 %r5, [%r4]; st.shared.b32 [%r3], %r5;",
	},
	{
		name: "two threads write different values", kind: SharedRace, declarations: shared, threads: 64, message: "writes what",
		right: "mov.b32 %r2, 7; st.shared.b32 [buffer], %r2;",
		wrong: "st.shared.b32 [buffer], %r0;",
	},
	{
		name: "barrier of the wrong warps", kind: SharedRace, declarations: shared, threads: 96, message: "no barrier",
		right: sharedPair + `
	st.shared.b32 [%r3], %r0;
	bar.sync 0;
	st.shared.b32 [%r3], 5;
	setp.lt.u32 %p1, %r0, 64;
	@%p1 barrier.sync 1, 64;
	@%p1 ld.shared.b32 %r5, [%r4];`,
		wrong: sharedPair + `
	st.shared.b32 [%r3], %r0;
	bar.sync 0;
	st.shared.b32 [%r3], 5;
	setp.lt.u32 %p1, %r0, 64;
	@%p1 barrier.sync 1, 64;
	@%p1 ld.shared.b32 %r5, [buffer+260];`,
	},
	{
		name: "copy read before its wait", kind: PendingCopy, declarations: shared, in: words(1, 2, 3, 4), message: "not waited for",
		right: "st.shared.b32 [buffer], 0; cp.async.ca.shared.global [buffer], [%rd0], 4; cp.async.commit_group; cp.async.wait_group 0; ld.shared.b32 %r2, [buffer];",
		wrong: "st.shared.b32 [buffer], 0; cp.async.ca.shared.global [buffer], [%rd0], 4; cp.async.commit_group; cp.async.wait_group 1; ld.shared.b32 %r2, [buffer];",
	},
	{
		name: "copy that another thread reads without a barrier", kind: SharedRace, declarations: shared, threads: 64, in: words(counting(64)...), message: "no barrier",
		right: sharedPair + "mad.wide.u32 %rd2, %r0, 4, %rd0; cp.async.ca.shared.global [%r3], [%rd2], 4; cp.async.wait_all; bar.sync 0; ld.shared.b32 %r5, [%r4];",
		wrong: sharedPair + "mad.wide.u32 %rd2, %r0, 4, %rd0; cp.async.ca.shared.global [%r3], [%rd2], 4; cp.async.wait_all; ld.shared.b32 %r5, [%r4];",
	},
	{
		name: "two blocks write one element", kind: BlockRace, blocks: 2, message: "blocks 0 and 1",
		right: "mad.wide.u32 %rd2, %r1, 4, %rd1; st.global.b32 [%rd2], %r1;",
		wrong: "st.global.b32 [%rd1], %r1;",
	},
	{
		name: "thread reads what another of its block writes", kind: GlobalRace, threads: 64, message: "wrote at byte",
		right: globalPair + "st.global.b32 [%rd2], %r0; bar.sync 0; ld.global.b32 %r4, [%rd3];",
		wrong: globalPair + "st.global.b32 [%rd2], %r0; setp.ge.u32 %p1, %r0, 32; @%p1 ld.global.b32 %r4, [%rd3];",
	},
	{
		name: "thread writes what another of its block reads", kind: GlobalRace, threads: 64, in: words(counting(64)...), message: "read at byte",
		right: globalPair + "ld.global.b32 %r4, [%rd5]; bar.sync 0; st.global.b32 [%rd4], %r4;",
		wrong: globalPair + "setp.lt.u32 %p1, %r0, 32; @%p1 ld.global.b32 %r4, [%rd5]; @!%p1 st.global.b32 [%rd4], %r0;",
	},
	{
		name: "two threads of a block write one element", kind: GlobalRace, threads: 64, message: "writes what",
		right: "st.global.b32 [%rd1], 7; setp.eq.u32 %p1, %r0, 9; bar.sync 0; @%p1 st.global.b32 [%rd1], %r0;",
		wrong: "st.global.b32 [%rd1], %r0;",
	},
	{
		name: "halves of a word by two threads", kind: GlobalRace, threads: 2, message: "writes what",
		right: "mad.wide.u32 %rd2, %r0, 2, %rd1; cvt.u16.u32 %h1, %r0; st.global.u16 [%rd2], %h1;",
		wrong: "mad.wide.u32 %rd2, %r0, 2, %rd1; cvt.u16.u32 %h1, %r0; st.global.u16 [%rd2], %h1; st.global.u16 [%rd1], %h1;",
	},
	{
		name: "atomic update of what another thread wrote", kind: SharedRace, declarations: shared, threads: 64, message: "updates what",
		right: "mov.b32 %r2, buffer; setp.eq.u32 %p1, %r0, 0; @%p1 st.shared.b32 [%r2], 0; bar.sync 0; red.shared.add.u32 [%r2], 1; bar.sync 0; ld.shared.b32 %r3, [%r2];",
		wrong: "mov.b32 %r2, buffer; setp.eq.u32 %p1, %r0, 0; @%p1 st.shared.b32 [%r2], 0; red.shared.add.u32 [%r2], 1;",
	},
	{
		name: "read of what another thread updates", kind: SharedRace, declarations: shared, threads: 64, message: "reads what",
		right: "mov.b32 %r2, buffer; setp.eq.u32 %p1, %r0, 0; @%p1 st.shared.b32 [%r2], 0; bar.sync 0; red.shared.add.u32 [%r2], 1; ld.relaxed.cta.shared.b32 %r3, [%r2];",
		wrong: "mov.b32 %r2, buffer; setp.eq.u32 %p1, %r0, 0; @%p1 st.shared.b32 [%r2], 0; bar.sync 0; red.shared.add.u32 [%r2], 1; ld.shared.b32 %r3, [%r2];",
	},
	{
		name: "shuffle without some lanes", kind: Divergence, threads: 32, message: "predicated off",
		right: "shfl.sync.bfly.b32 %r2, %r0, 1, 31, -1;",
		wrong: "setp.lt.u32 %p1, %r0, 16; @%p1 shfl.sync.bfly.b32 %r2, %r0, 1, 31, -1;",
	},
	{
		name: "shuffle in one branch", kind: Divergence, threads: 32, message: "without lanes 16-31",
		right: "setp.ge.u32 %p1, %r0, 16; @%p1 bra end1; shfl.sync.bfly.b32 %r2, %r0, 1, 31, 0xffff; end1: bar.warp.sync -1;",
		wrong: "setp.ge.u32 %p1, %r0, 16; @%p1 bra end1; shfl.sync.bfly.b32 %r2, %r0, 1, 31, -1; end1: bar.warp.sync -1;",
	},
	{
		name: "executed outside its mask", kind: Divergence, threads: 32, message: "not in the mask",
		right: "shfl.sync.bfly.b32 %r2, %r0, 1, 31, -1;",
		wrong: "shfl.sync.bfly.b32 %r2, %r0, 1, 31, 0xffff;",
	},
	{
		name: "uniform branch that is not", kind: Divergence, threads: 32, message: "uniform",
		right: "setp.lt.u32 %p1, %r0, 32; @%p1 bra.uni end1; mov.b32 %r2, 1; end1:",
		wrong: "setp.lt.u32 %p1, %r0, 16; @%p1 bra.uni end1; mov.b32 %r2, 1; end1:",
	},
	{
		name: "matrix product in part of a warp", kind: Divergence, threads: 32, message: "lanes",
		right: "setp.lt.u32 %p1, %r0, 32; mov.b32 %r2, 0; mov.f32 %f1, 0f00000000; @%p1 mma.sync.aligned.m16n8k8.row.col.f32.bf16.bf16.f32 {%f2,%f3,%f4,%f5}, {%r2,%r2}, {%r2}, {%f1,%f1,%f1,%f1};",
		wrong: "setp.lt.u32 %p1, %r0, 31; mov.b32 %r2, 0; mov.f32 %f1, 0f00000000; @%p1 mma.sync.aligned.m16n8k8.row.col.f32.bf16.bf16.f32 {%f2,%f3,%f4,%f5}, {%r2,%r2}, {%r2}, {%f1,%f1,%f1,%f1};",
	},
	{
		name: "barrier with part of a warp", kind: Divergence, threads: 32, message: "lanes",
		right: "bar.sync 0;",
		wrong: "setp.lt.u32 %p1, %r0, 16; @%p1 bar.sync 0;",
	},
	{
		name: "barrier count that is no number of warps", kind: BarrierMisuse, threads: 64, message: "multiple of 32",
		right: "mov.b32 %r2, 64; barrier.sync 0, %r2;",
		wrong: "mov.b32 %r2, 40; barrier.sync 0, %r2;",
	},
	{
		name: "barriers with different counts", kind: BarrierMisuse, threads: 96, message: "arrived with 64",
		right: "setp.lt.u32 %p1, %r0, 64; @%p1 barrier.sync 1, 64;",
		wrong: `setp.lt.u32 %p1, %r0, 32; selp.b32 %r2, 64, 96, %p1; setp.lt.u32 %p2, %r0, 64; @%p2 barrier.sync 1, %r2;`,
	},
	{
		name: "barrier that does not exist", kind: BarrierMisuse, threads: 32, message: "0 to 15",
		right: "mov.b32 %r2, 15; barrier.sync %r2;",
		wrong: "mov.b32 %r2, 16; barrier.sync %r2;",
	},
	{
		name: "barrier that the others never reach", kind: Deadlock, threads: 64, message: "barrier 1, where 1 have arrived of 2",
		right: "barrier.sync 1, 64;",
		wrong: "setp.lt.u32 %p1, %r0, 32; @%p1 barrier.sync 1, 64;",
	},
	{
		name: "division by zero", kind: UndefinedValue, message: "zero",
		right: "mov.b32 %r2, 1; div.u32 %r3, 5, %r2;",
		wrong: "mov.b32 %r2, 0; div.u32 %r3, 5, %r2;",
	},
	{
		name: "trap", kind: Trap, message: "stops itself",
		right: "setp.gt.u32 %p1, %r0, 0; @%p1 trap;",
		wrong: "setp.eq.u32 %p1, %r0, 0; @%p1 trap;",
	},
}

const (
	// globalPair makes %rd2 and %rd4 the addresses of the thread's word of out and in, %rd3 and %rd5 those of the other warp's thread.
	globalPair = "mad.wide.u32 %rd2, %r0, 4, %rd1; mad.wide.u32 %rd4, %r0, 4, %rd0; xor.b32 %r5, %r0, 32; mad.wide.u32 %rd3, %r5, 4, %rd1; mad.wide.u32 %rd5, %r5, 4, %rd0;\n"
	// sharedOdd loads a word of shared memory that was never written in lane 7, and zeros in the others.
	sharedOdd = "setp.eq.u32 %p1, %r0, 7; mov.b32 %r2, 0; mov.u32 %r3, buffer; mad.lo.u32 %r3, %r0, 4, %r3; @%p1 ld.shared.b32 %r2, [buffer];"
	storeLane = "mad.wide.u32 %rd2, %r0, 0, %rd1; setp.eq.u32 %p3, %r0, 3; @%p3 st.global.b32 [%rd2], %r5;"
	// undefinedProduct has undefined values in row 0 of A and nowhere else.
	undefinedProduct = `
	setp.lt.u32 %p1, %r0, 4; mov.b32 %r2, 0; mov.f32 %f1, 0f00000000; @%p1 ld.shared.b32 %r2, [buffer];
	mov.b32 %r3, 0;
	mma.sync.aligned.m16n8k8.row.col.f32.bf16.bf16.f32 {%f2,%f3,%f4,%f5}, {%r2,%r3}, {%r3}, {%f1,%f1,%f1,%f1};
	st.global.f32 [%rd1], %f4;
`
)

func TestChecks(t *testing.T) {
	for _, c := range checkTests {
		t.Run(c.name, func(t *testing.T) {
			launch := func() *run {
				return &run{blocks: c.blocks, threads: c.threads, in: c.in, outSize: 256, unpredictable: true}
			}
			launch().clean(t, module(c.declarations, ".loc 1 77 3\n"+c.right))
			wrong := module(c.declarations, ".loc 1 77 3\n"+c.wrong)
			assemble(t, wrong)
			f := launch().find(t, c.kind, wrong)
			require.Contains(t, f.String(), c.message)
			require.Equal(t, "test.tile", f.File)
			require.Equal(t, 77, f.Line)
			require.Positive(t, f.PTXLine)
			require.NotZero(t, f.Lanes)
		})
	}
}

// TestRunaway: a loop that does not end is stopped.
func TestRunaway(t *testing.T) {
	r := &run{threads: 32, options: Options{MaxSteps: 10000}}
	r.find(t, Runaway, kernel("spin: bra spin;"))
}

// TestFindingsGather: one finding an instruction, with how often, and the run goes on.
func TestFindingsGather(t *testing.T) {
	r := (&run{blocks: 3, threads: 64, outSize: 4}).do(t, kernel(`
	mov.b32 %r3, %r2;
	mov.b32 %r5, %r4;`))
	require.Len(t, r.report.Findings, 2)
	require.Equal(t, 6, r.report.Findings[0].Count)
	require.Equal(t, uint32(allLanes), r.report.Findings[0].Lanes)
}
