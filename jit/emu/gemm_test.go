package emu_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"tilec/jit/emu"
)

const (
	gemmSize   = 64  // rows and columns of the result
	gemmDepth  = 320 // 5 tiles of 64
	gemmStages = 2
	stageBytes = 2 * 64 * 128 // a tile of each factor, 128 bytes a row
)

// gemmText is a product as Hopper wants it: a producer warpgroup gives registers
// away and fills a ring of stages by tensor copies, a consumer warpgroup multiplies
// with one wgmma group in flight, and the result leaves by a tensor copy.
func gemmText() string {
	var b strings.Builder
	w := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	result := gemmStages * stageBytes
	bars := result + gemmSize*gemmSize*4
	var d []string
	for i := range 32 {
		d = append(d, fmt.Sprintf("%%d%d", i))
	}
	w(`.extern .shared .align 1024 .b8 smem[];
.visible .entry k(.param .u64 x, .param .u64 z, .param .u64 y, .param .align 64 .b8 ma[128], .param .align 64 .b8 mb[128], .param .align 64 .b8 mc[128])
.maxntid 256
.minnctapersm 1
{
.reg .b64 %%ma, %%mb, %%mc, %%da, %%db, %%step;
.reg .b32 %%t, %%s, %%bars, %%i, %%stage, %%phase, %%full, %%empty, %%at, %%bt, %%k, %%v, %%last;
.reg .b32 %%d<32>;
.reg .pred %%p, %%q, %%more;
mov.b64 %%ma, ma;
cvta.param.u64 %%ma, %%ma;
mov.b64 %%mb, mb;
cvta.param.u64 %%mb, %%mb;
mov.b64 %%mc, mc;
cvta.param.u64 %%mc, %%mc;
mov.u32 %%t, %%tid.x;
mov.u32 %%s, smem;
add.u32 %%bars, %%s, %d;
setp.ne.u32 %%p, %%t, 0;
@%%p bra ready;`, bars)
	for i := range gemmStages {
		w("mbarrier.init.shared::cta.b64 [%%bars+%d], 1;\nmbarrier.init.shared::cta.b64 [%%bars+%d], 4;", 8*i, 8*(gemmStages+i))
	}
	w(`fence.mbarrier_init.release.cluster;
ready:
bar.sync 0;
mov.u32 %%i, 0;
setp.ge.u32 %%q, %%t, 128;
@%%q bra producer;
setmaxnreg.dec.sync.aligned.u32 240;
setp.ne.u32 %%more, %%t, %%t;
and.b32 %%v, %%t, 31;
setp.eq.u32 %%p, %%v, 0;`)
	ring := func() {
		w(`and.b32 %%stage, %%i, %d;
shr.u32 %%phase, %%i, 1;
and.b32 %%phase, %%phase, 1;
shl.b32 %%full, %%stage, 3;
add.u32 %%full, %%full, %%bars;
add.u32 %%empty, %%full, %d;
mad.lo.u32 %%at, %%stage, %d, %%s;
add.u32 %%bt, %%at, %d;`, gemmStages-1, 8*gemmStages, stageBytes, stageBytes/2)
	}
	w("consume:")
	ring()
	w(`take:
mbarrier.try_wait.parity.shared::cta.b64 %%q, [%%full], %%phase; //- full
@!%%q bra take; //- full
shr.u32 %%at, %%at, 4;
cvt.u64.u32 %%da, %%at;
shr.u32 %%bt, %%bt, 4;
cvt.u64.u32 %%db, %%bt;
mov.b64 %%step, 0x4000004000000000;
or.b64 %%da, %%da, %%step;
or.b64 %%db, %%db, %%step;
wgmma.fence.sync.aligned; //- fence`)
	for k := range 4 {
		if k > 0 {
			w("add.u64 %%da, %%da, 2;\nadd.u64 %%db, %%db, 2;\nsetp.eq.u32 %%more, %%t, %%t;")
		}
		w("wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 {%s}, %%da, %%db, %%more, 1, 1, 0, 0;", strings.Join(d, ", "))
	}
	w(`setp.eq.u32 %%more, %%t, %%t;
wgmma.commit_group.sync.aligned;
wgmma.wait_group.sync.aligned 1; //- soon
setp.eq.u32 %%q, %%i, 0;
@%%q bra first;
@%%p mbarrier.arrive.shared::cta.b64 _, [%%last]; //- soon
first:
@%%p mbarrier.arrive.shared::cta.b64 _, [%%empty]; //+ soon
mov.u32 %%last, %%empty;
add.u32 %%i, %%i, 1;
setp.lt.u32 %%q, %%i, %d;
@%%q bra consume;
wgmma.wait_group.sync.aligned 0; //- wait`, gemmDepth/64)
	// Thread t of warp w has rows 16w+t/4 and 8 more, columns 8j+2(t%4).
	w(`shr.u32 %%at, %%t, 5;
shl.b32 %%at, %%at, 4;
and.b32 %%v, %%t, 31;
shr.u32 %%bt, %%v, 2;
add.u32 %%at, %%at, %%bt;
shl.b32 %%at, %%at, 8;
and.b32 %%bt, %%t, 3;
shl.b32 %%bt, %%bt, 3;
add.u32 %%at, %%at, %%bt;
add.u32 %%at, %%at, %%s;`)
	for i := 0; i < 32; i += 2 {
		w("st.shared.v2.b32 [%%at+%d], {%%d%d, %%d%d};", result+i/4*32+i/2%2*8*256, i, i+1)
	}
	w(`fence.proxy.async.shared::cta; //- proxy
bar.sync 1, 128; //- sync
setp.ne.u32 %%p, %%t, 0;
@%%p bra done;
add.u32 %%s, %%s, %d;
cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%%mc, {0, 0}], [%%s];
cp.async.bulk.commit_group;
cp.async.bulk.wait_group 0; //- group
bra done;
producer:
setmaxnreg.dec.sync.aligned.u32 40;
setp.ne.u32 %%p, %%t, 128;
@%%p bra done;
produce:`, result)
	ring()
	w(`xor.b32 %%phase, %%phase, 1;
shl.b32 %%k, %%i, 6;
give:
mbarrier.try_wait.parity.shared::cta.b64 %%q, [%%empty], %%phase; //- empty
@!%%q bra give; //- empty
mbarrier.arrive.expect_tx.shared::cta.b64 _, [%%full], %d;
cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%%at], [%%ma, {%%k, 0}], [%%full];
cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%%bt], [%%mb, {%%k, 0}], [%%full];
add.u32 %%i, %%i, 1;
setp.lt.u32 %%q, %%i, %d;
@%%q bra produce;
done:
ret;
}`, stageBytes, gemmDepth/64)
	return b.String()
}

// The whole machinery at once, quiet when right; each fence, wait and barrier left out is found.
func TestGemm(t *testing.T) {
	a, b := small(2), small(5)
	factor := func(f func(i, j int) int) (data []byte) {
		for i := range gemmSize {
			for k := range gemmDepth {
				data = append(data, encode("bf16", float64(f(i, k)))...)
			}
		}
		return data
	}
	var want []byte
	for i := range gemmSize {
		for j := range gemmSize {
			sum := 0
			for k := range gemmDepth {
				sum += a(i, k) * b(j, k)
			}
			want = append(want, encode("f32", float64(sum))...)
		}
	}
	tile := emu.TensorMap{
		Type: emu.TensorBFloat16, Dims: []uint64{gemmDepth, gemmSize}, Strides: []uint64{gemmDepth * 2},
		Box: []uint32{64, 64}, Swizzle: emu.Swizzle128,
	}
	result := emu.TensorMap{Type: emu.TensorFloat32, Dims: []uint64{gemmSize, gemmSize}, Strides: []uint64{gemmSize * 4}, Box: []uint32{64, 64}}
	p := &program{
		name: "gemm", text: gemmText(), grid: one, block: [3]int{256, 1, 1},
		shared: gemmStages*stageBytes + gemmSize*gemmSize*4 + 16*gemmStages,
		args: []*argument{
			{name: "x", kind: "in", elem: "bf16", data: factor(a)},
			{name: "z", kind: "in", elem: "bf16", data: factor(b)},
			{name: "y", kind: "out", elem: "f32", data: slices.Repeat([]byte{0}, len(want))},
			{name: "ma", kind: "map", of: "x", shape: tile},
			{name: "mb", kind: "map", of: "z", shape: tile},
			{name: "mc", kind: "map", of: "y", shape: result},
		},
		want: map[string][]byte{"y": want},
		broken: []brokenProgram{
			{"full", emu.Uninitialised}, {"fence", emu.MissingFence}, {"soon", emu.PendingCopy}, {"wait", emu.PendingMatrix},
			{"proxy", emu.MissingFence}, {"sync", emu.SharedRace}, {"empty", emu.PendingCopy}, {"group", emu.PendingCopy},
		},
	}
	p.check(t)
}
