package emu_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tilec/jit/emu"
)

const mapText = header + `.visible .entry k(.param .u32 n, .param .align 64 .b8 m[128]) { ret; }`

// What a driver would not encode is refused at the launch, with what is needed.
func TestTensorMapLimits(t *testing.T) {
	good := emu.TensorMap{Type: emu.TensorFloat16, Address: 1 << 20, Dims: []uint64{64, 8}, Strides: []uint64{128}, Box: []uint32{64, 8}, Swizzle: emu.Swizzle128}
	for _, c := range []struct {
		name, want string
		change     func(*emu.TensorMap)
	}{
		{"good", "", func(*emu.TensorMap) {}},
		{"rank", "need 1 to 5 dimensions", func(m *emu.TensorMap) { m.Dims = nil }},
		{"type", "element type 10", func(m *emu.TensorMap) { m.Type = emu.TensorFloat32FTZ }},
		{"type that rounds to tf32", "element type 12", func(m *emu.TensorMap) { m.Type = emu.TensorTFloat32FTZ }},
		{"address", "need a multiple of 16", func(m *emu.TensorMap) { m.Address += 8 }},
		{"stride", "stride 120 in dimension 1", func(m *emu.TensorMap) { m.Strides = []uint64{120} }},
		{"box", "dimension 1 is out of range", func(m *emu.TensorMap) { m.Box = []uint32{64, 257} }},
		{"row", "rows of 72 bytes", func(m *emu.TensorMap) { m.Box = []uint32{36, 8} }},
		{"span", "at most its span of 64", func(m *emu.TensorMap) { m.Swizzle = emu.Swizzle64 }},
		{"narrow", "narrower than the span 128", func(m *emu.TensorMap) { m.Box = []uint32{32, 8} }},
		{"steps", "a step of 1 to 8", func(m *emu.TensorMap) { m.Steps = []uint32{1, 9} }},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := good
			c.change(&m)
			checkLaunch(t, mapText, one, emu.Options{TensorMaps: map[string]*emu.TensorMap{"m": &m}}, c.want)
		})
	}
	checkLaunch(t, mapText, one, emu.Options{TensorMaps: map[string]*emu.TensorMap{"n": &good}}, "parameter n has 4 bytes")
	checkLaunch(t, mapText, one, emu.Options{TensorMaps: map[string]*emu.TensorMap{"q": &good}}, "no parameter q")
}

func TestClusterLimits(t *testing.T) {
	six := [3]int{6, 1, 1}
	checkLaunch(t, mapText, six, emu.Options{Cluster: [3]int{2, 1, 1}}, "")
	checkLaunch(t, mapText, six, emu.Options{Cluster: [3]int{4, 1, 1}}, "no multiple of the cluster [4 1 1]")
	checkLaunch(t, mapText, [3]int{32, 1, 1}, emu.Options{Cluster: [3]int{32, 1, 1}}, "at most 16")
	fixed := header + `.visible .entry k(.param .u32 n, .param .align 64 .b8 m[128]) .reqnctapercluster 2, 1, 1 { ret; }`
	checkLaunch(t, fixed, six, emu.Options{}, "")
	checkLaunch(t, fixed, six, emu.Options{Cluster: [3]int{3, 1, 1}}, ".reqnctapercluster demands [2 1 1]")
}

func checkLaunch(t *testing.T, text string, grid [3]int, o emu.Options, want string) {
	t.Helper()
	m, err := emu.Parse(text)
	require.NoError(t, err)
	_, err = emu.Launch(m, "k", grid, [3]int{32, 1, 1}, 0, make([]byte, 192), emu.NewMemory(), o)
	if want == "" {
		assert.NoError(t, err)
	} else {
		assert.ErrorContains(t, err, want)
	}
}

// Instructions that PTX does not have are refused with what is wrong.
func TestAsyncSyntax(t *testing.T) {
	for text, want := range map[string]string{
		"wgmma.mma_async.sync.aligned.m64n12k16.f32.bf16.bf16 {%r0}, %d, %d, %p, 1, 1, 0, 0;":            "no shape .m64n12k16",
		"wgmma.mma_async.sync.aligned.m64n8k8.f32.bf16.bf16 {%r0,%r0,%r0,%r0}, %d, %d, %p, 1, 1, 0, 0;":  "k is 8, need 16",
		"wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.bf16 {%r0,%r0,%r0,%r0}, %d, %d, %p, 1, 1, 0, 0;":  "cannot be .f32",
		"wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%r0,%r0}, %d, %d, %p, 1, 1, 0, 0;":         "2 elements, need 4",
		"wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%r0,%r0,%r0,%r0}, %d, %d, %p, 2, 1, 0, 0;": "need 1 or -1",
		"wgmma.fence;": "need .sync.aligned",
		"cp.async.bulk.global.global.bulk_group [%d], [%d], 16;":                                                        "cannot copy from .global to .global",
		"cp.reduce.async.bulk.global.shared::cta.bulk_group.add.f16 [%d], [%r0], 16;":                                   ".noftz",
		"cp.reduce.async.bulk.global.shared::cta.bulk_group.inc.s32 [%d], [%r0], 16;":                                   "none of .u32",
		"cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%r0], [%d, {%r0}], [%r0];":   "1 coordinates, need 2",
		"cp.async.bulk.tensor.2d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes [%r0], [%d, {0,0}], [%r0];": "unknown modifier .im2col",
		"mbarrier.arrive.shared::cluster.b64 %d, [%r0];":                                                                "need _",
		"mbarrier.test_wait.parity.acquire.shared::cta.b64 %p, [%r0], 0;":                                               "go together",
		"setmaxnreg.inc.sync.aligned.u32 100;":                                                                          "need a multiple of 8",
		"barrier.cluster.wait.release;":                                                                                 ".release does not go here",
	} {
		_, err := emu.Parse(header + ".visible .entry k() { .reg .b64 %d; .reg .b32 %r0; .reg .pred %p;\n" + text + "\nret; }")
		assert.ErrorContains(t, err, want, text)
	}
}

// A kernel of more registers than are read is no mistake of who made it.
func TestTooManyRegistersAreALimit(t *testing.T) {
	text := func(n int) string {
		return fmt.Sprintf(".version 8.0\n.target sm_90a\n.address_size 64\n.visible .entry k()\n{\n.reg .b32 %%r<%d>;\nret;\n}\n", n)
	}
	_, err := emu.Parse(text(1 << 18))
	require.ErrorContains(t, err, "registers")
	require.True(t, emu.Limit(err))
	_, err = emu.Parse(text(8) + "}")
	require.Error(t, err)
	require.False(t, emu.Limit(err))
}
