package emu

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// perLane runs a body in one warp; it leaves each lane's result in %r9.
func perLane(t *testing.T, body string) []uint32 {
	t.Helper()
	return (&run{threads: 32, outSize: 128}).clean(t, kernel(body+storeResult)).words()
}

const storeResult = `
	mad.wide.u32 %rd9, %r0, 4, %rd1;
	st.global.b32 [%rd9], %r9;`

func TestShuffle(t *testing.T) {
	for _, c := range []struct {
		mode string
		b, c string
		want func(lane int) uint32
	}{
		{"bfly", "1", "31", func(l int) uint32 { return uint32(l ^ 1) }},
		{"up", "3", "0", func(l int) uint32 { return uint32(max(l-3, 0) + boolInt(l < 3)*l) }},
		{"down", "3", "31", func(l int) uint32 {
			if l+3 > 31 {
				return uint32(l)
			}
			return uint32(l + 3)
		}},
		{"idx", "5", "31", func(int) uint32 { return 5 }},
		// Segments of 8 lanes: the mask of the segment is 0x18.
		{"idx", "5", "0x1807", func(l int) uint32 { return uint32(l&^7 | 5) }},
		{"down", "3", "0x1807", func(l int) uint32 {
			if l%8+3 > 7 {
				return uint32(l)
			}
			return uint32(l + 3)
		}},
	} {
		got := perLane(t, "shfl.sync."+c.mode+".b32 %r9, %r0, "+c.b+", "+c.c+", -1;")
		for lane, v := range got {
			require.Equal(t, c.want(lane), v, "%s %s %s lane %d", c.mode, c.b, c.c, lane)
		}
	}
	got := perLane(t, `shfl.sync.up.b32 %r2|%p1, %r0, 3, 0, -1; selp.b32 %r9, 1, 0, %p1;`)
	for lane, v := range got {
		require.Equal(t, uint32(boolInt(lane >= 3)), v)
	}
}

func boolInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

func TestWarpVotes(t *testing.T) {
	same := func(v uint32) []uint32 {
		w := make([]uint32, 32)
		for i := range w {
			w[i] = v
		}
		return w
	}
	for body, want := range map[string][]uint32{
		`setp.lt.u32 %p1, %r0, 5; vote.sync.ballot.b32 %r9, %p1, -1;`:                                       same(31),
		`setp.lt.u32 %p1, %r0, 5; vote.sync.ballot.b32 %r9, !%p1, -1;`:                                      same(^uint32(31)),
		`setp.lt.u32 %p1, %r0, 5; vote.sync.any.pred %p2, %p1, -1; selp.b32 %r9, 1, 0, %p2;`:                same(1),
		`setp.lt.u32 %p1, %r0, 5; vote.sync.all.pred %p2, %p1, -1; selp.b32 %r9, 1, 0, %p2;`:                same(0),
		`setp.lt.u32 %p1, %r0, 99; vote.sync.uni.pred %p2, %p1, -1; selp.b32 %r9, 1, 0, %p2;`:               same(1),
		`redux.sync.add.s32 %r9, %r0, -1;`:                                                                  same(496),
		`sub.s32 %r2, %r0, 16; redux.sync.min.s32 %r9, %r2, -1;`:                                            same(0xfffffff0),
		`sub.s32 %r2, %r0, 16; redux.sync.min.u32 %r9, %r2, -1;`:                                            same(0),
		`redux.sync.and.b32 %r9, %r0, -1;`:                                                                  same(0),
		`redux.sync.or.b32 %r9, %r0, -1;`:                                                                   same(31),
		`redux.sync.max.s32 %r9, %r0, -1;`:                                                                  same(31),
		`sub.s32 %r2, %r0, 16; redux.sync.max.u32 %r9, %r2, -1;`:                                            same(0xffffffff),
		`redux.sync.add.u32 %r9, 3, -1;`:                                                                    same(96),
		`redux.sync.xor.b32 %r9, %r0, -1;`:                                                                  same(0),
		`and.b32 %r2, %r0, 1; match.any.sync.b32 %r9, %r2, -1; and.b32 %r9, %r9, 3; shl.b32 %r9, %r9, %r2;`: alternating(1, 4),
		`mov.b32 %r2, 7; match.all.sync.b32 %r9|%p1, %r2, -1;`:                                              same(0xffffffff),
		`match.all.sync.b32 %r9|%p1, %r0, -1;`:                                                              same(0),
		`elect.sync %r9|%p1, -1;`:                                                                           same(0),
		`mov.b32 %r9, 0; setp.lt.u32 %p1, %r0, 8; @%p1 activemask.b32 %r9;`:                                 append(same(255)[:8], same(0)[:24]...),
		`mov.u32 %r9, %lanemask_lt; popc.b32 %r9, %r9;`:                                                     counting(32),
		`mov.u32 %r9, %laneid;`:                                                                             counting(32),
	} {
		require.Equal(t, want, perLane(t, body), body)
	}
}

func alternating(even, odd uint32) []uint32 {
	w := make([]uint32, 32)
	for i := range w {
		w[i] = even
		if i%2 == 1 {
			w[i] = odd
		}
	}
	return w
}

// TestDivergence runs loops of different length in each lane, and comes together again.
func TestDivergence(t *testing.T) {
	got := perLane(t, `
	mov.b32 %r9, 0;
	mov.b32 %r2, 0;
again:
	setp.ge.u32 %p1, %r2, %r0;
	@%p1 bra done;
	add.u32 %r2, %r2, 1;
	and.b32 %r3, %r2, 1;
	setp.eq.u32 %p2, %r3, 0;
	@%p2 bra even;
	add.u32 %r9, %r9, 100;
	bra again;
even:
	add.u32 %r9, %r9, 1;
	bra again;
done:
	bar.warp.sync -1;
	shfl.sync.bfly.b32 %r9, %r9, 0, 31, -1;`)
	for lane, v := range got {
		require.Equal(t, uint32((lane+1)/2*100+lane/2), v)
	}
	// Code out of line, placed after what follows it: lanes still meet at the shuffle.
	got = perLane(t, `
	setp.lt.u32 %p1, %r0, 4;
	mov.b32 %r9, 1;
	@%p1 bra aside;
back:
	redux.sync.add.s32 %r9, %r9, -1;
	bra end;
aside:
	mov.b32 %r9, 10;
	bra back;
end:`)
	require.Equal(t, uint32(4*10+28), got[0])
}

// TestSpin has one lane wait for another of its warp, which the lower program counter must not starve.
func TestSpin(t *testing.T) {
	(&run{threads: 32, outSize: 128, in: words(0)}).clean(t, kernel(`
	setp.eq.u32 %p1, %r0, 7;
	@%p1 bra signal;
spin:
	ld.volatile.global.b32 %r2, [%rd0];
	setp.eq.u32 %p2, %r2, 0;
	@%p2 bra spin;
	bra end;
signal:
	st.volatile.global.b32 [%rd0], 1;
end:
	mov.b32 %r9, 1;`+storeResult))
}

// TestRounds has lanes go round an inner loop as often as each likes: they meet
// after it in every round of the outer loop, however many there are.
func TestRounds(t *testing.T) {
	got := perLane(t, `
	mov.b32 %r9, 0;
	mov.b32 %r2, 0;
outer:
	and.b32 %r3, %r0, 15;
inner:
	add.u32 %r9, %r9, 1;
	sub.u32 %r3, %r3, 1;
	setp.gt.s32 %p1, %r3, 0;
	@%p1 bra inner;
	add.u32 %r2, %r2, 1;
	setp.lt.u32 %p2, %r2, 500;
	@%p2 bra.uni outer;`)
	for lane, v := range got {
		require.Equal(t, uint32(500*max(lane%16, 1)), v)
	}
}

const shared = ".shared .align 16 .b8 buffer[1024];\n"

func TestBarriers(t *testing.T) {
	// Threads of four warps exchange values through shared memory.
	r := (&run{threads: 128, outSize: 512}).clean(t, module(shared, `
	mov.u32 %r2, buffer;
	shl.b32 %r3, %r0, 2;
	add.u32 %r4, %r2, %r3;
	st.shared.b32 [%r4], %r0;
	bar.sync 0;
	sub.u32 %r5, 127, %r0;
	shl.b32 %r5, %r5, 2;
	add.u32 %r5, %r5, %r2;
	ld.shared.b32 %r9, [%r5];`+storeResult))
	for i, v := range r.words() {
		require.Equal(t, uint32(127-i), v)
	}
	// Producer and consumer by named barriers: warp 0 gives, warp 1 takes, eight times.
	r = (&run{threads: 64, outSize: 256}).clean(t, module(shared, `
	mov.b32 %r9, 0;
	mov.b32 %r10, 0;
	shr.u32 %r2, %r0, 5;
	and.b32 %r3, %r0, 31;
	shl.b32 %r3, %r3, 2;
	mov.u32 %r4, buffer;
	add.u32 %r4, %r4, %r3;
	setp.eq.u32 %p1, %r2, 1;
	@%p1 bra take;
give:
	setp.eq.u32 %p2, %r10, 0;
	@%p2 bra first;
	barrier.sync 2, 64;
first:
	st.shared.b32 [%r4], %r10;
	barrier.arrive 1, 64;
	add.u32 %r10, %r10, 1;
	setp.lt.u32 %p2, %r10, 8;
	@%p2 bra give;
	bra end;
take:
	barrier.sync 1, 64;
	ld.shared.b32 %r5, [%r4];
	mad.lo.u32 %r9, %r9, 10, %r5;
	add.u32 %r10, %r10, 1;
	setp.lt.u32 %p2, %r10, 8;
	@%p2 barrier.arrive 2, 64;
	@%p2 bra take;
end:`+storeResult))
	require.Equal(t, uint32(1234567), r.words()[63])
	// Reductions over the block.
	r = (&run{threads: 64, outSize: 256}).clean(t, kernel(`
	setp.lt.u32 %p1, %r0, 40;
	bar.red.popc.u32 %r9, 0, %p1;
	bar.red.or.pred %p2, 0, %p1;
	bar.red.and.pred %p3, 0, %p1;
	@%p2 add.u32 %r9, %r9, 100;
	@%p3 add.u32 %r9, %r9, 1000;`+storeResult))
	require.Equal(t, uint32(140), r.words()[50])
	// Warps that have exited do not hold up the others.
	(&run{threads: 64, outSize: 256}).clean(t, kernel(`
	setp.lt.u32 %p1, %r0, 32;
	@%p1 exit;
	bar.sync 0;
	mov.b32 %r9, 0;`+storeResult))
}
