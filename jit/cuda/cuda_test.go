package cuda

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func itoa(n int) string { return strconv.Itoa(n) }

func TestOpenSaysWhyThereIsNoDriver(t *testing.T) {
	_, err := Open()
	if err == nil {
		t.Skip("there is a driver")
	}
	require.ErrorIs(t, err, ErrNoDriver)
	if _, statErr := os.Stat("/dev/nvidiactl"); statErr != nil && !errors.As(err, new(*Error)) && runtime.GOOS == "linux" {
		assert.ErrorContains(t, err, "libcuda.so.1")
	}
}

func TestErrorText(t *testing.T) {
	e := &Error{Code: OutOfMemory, Name: "CUDA_ERROR_OUT_OF_MEMORY", Description: "out of memory", Call: "cuMemAlloc_v2", Detail: "64 bytes"}
	assert.Equal(t, "cuMemAlloc_v2 failed: out of memory (CUDA_ERROR_OUT_OF_MEMORY, 2): 64 bytes", e.Error())
	assert.Equal(t, "cuInit failed: (CUDA error 12345)", (&Error{Code: 12345, Call: "cuInit"}).Error())
	assert.ErrorIs(t, e, OutOfMemory)
	assert.NotErrorIs(t, e, InvalidValue)
	other := errors.New("other")
	assert.Equal(t, other, withDetail(other, "detail"))
	assert.NoError(t, withDetail(nil, "detail"))
}

func TestMissingFunctionIsAnError(t *testing.T) {
	lib := lookUp(func(string) uintptr { return 0 })
	err := lib.do(cuLaunchKernelEx, 0, 0, 0, 0)
	require.ErrorIs(t, err, NotFound)
	require.ErrorContains(t, err, "cuLaunchKernelEx")
	require.ErrorContains(t, err, "too old")
}

func TestEverySymbolHasAName(t *testing.T) {
	seen := map[string]bool{}
	for s, name := range symbolNames {
		assert.NotEmpty(t, name, "symbol %d", s)
		assert.False(t, seen[name], name)
		seen[name] = true
	}
}

func TestUUIDText(t *testing.T) {
	var u UUID
	for i := range u {
		u[i] = byte(i)
	}
	assert.Equal(t, "GPU-00010203-0405-0607-0809-0a0b0c0d0e0f", u.String())
}

func TestParamsArePackedAsTheKernelReadsThem(t *testing.T) {
	var m TensorMap
	for i := range m {
		m[i] = byte(i)
	}
	p := new(Params).Uint8(1).Uint16(2).Uint8(3).Float32(1).Uint8(4).Float64(1).Int32(-1).TensorMap(&m).Int64(-2).Ptr(0x1234)
	layout := []paramInfo{{0, 1}, {2, 2}, {4, 1}, {8, 4}, {12, 1}, {16, 8}, {24, 4}, {64, 128}, {192, 8}, {200, 8}}
	require.Equal(t, layout, p.layout)
	want := make([]byte, 208)
	want[0], want[2], want[4], want[12] = 1, 2, 3, 4
	binary.NativeEndian.PutUint32(want[8:], 0x3f800000)
	binary.NativeEndian.PutUint64(want[16:], 0x3ff0000000000000)
	binary.NativeEndian.PutUint32(want[24:], 0xffffffff)
	copy(want[64:], m[:])
	binary.NativeEndian.PutUint64(want[192:], 0xfffffffffffffffe)
	binary.NativeEndian.PutUint64(want[200:], 0x1234)
	require.Equal(t, want, p.data, "the padding is zero")
	require.NoError(t, p.match(layout))
	require.False(t, p.words(), "a tensor map is larger than a word")

	for i, a := range p.addresses() {
		at := unsafe.Slice((*byte)(a), layout[i].size)
		assert.Equal(t, want[layout[i].offset:][:layout[i].size], at, "parameter %d", i)
	}

	p.Reset().Uint8(9).Uint64(5)
	require.Equal(t, []paramInfo{{0, 1}, {8, 8}}, p.layout)
	require.Equal(t, make([]byte, 7), p.data[1:8], "an earlier use leaves nothing in the padding")
	require.True(t, p.words())
}

func TestParamsUsedAgainAllocateNothing(t *testing.T) {
	p := new(Params)
	n := testing.AllocsPerRun(100, func() {
		p.Reset().Ptr(1).Ptr(2).Uint32(3).Float32(4)
		p.pointers()
	})
	require.Zero(t, n)
	var none *Params
	require.Nil(t, none.pointers())
	require.Zero(t, none.Len())
	require.True(t, none.words())
}

func TestLaunchAttributesHaveTheDriversLayout(t *testing.T) {
	require.EqualValues(t, 72, unsafe.Sizeof(launchAttribute{}))
	var x launchExtended
	require.EqualValues(t, 24, unsafe.Offsetof(x.shared))
	require.EqualValues(t, 32, unsafe.Offsetof(x.stream))
	require.EqualValues(t, 40, unsafe.Offsetof(x.attrs))
	require.EqualValues(t, 48, unsafe.Offsetof(x.n))
	require.EqualValues(t, 56, unsafe.Offsetof(x.storage))
}

func TestTensorMapsAreCheckedBeforeTheDriverSeesThem(t *testing.T) {
	good := func() TensorMapDesc {
		return TensorMapDesc{
			Type: TensorBFloat16, Address: 0x1000, Dims: []uint64{128, 64}, Strides: []uint64{256},
			Box: []uint32{64, 8}, Swizzle: Swizzle128,
		}
	}
	d := good()
	require.NoError(t, d.check())
	require.EqualValues(t, 64*256, d.size())
	for _, c := range []struct {
		spoil func(*TensorMapDesc)
		says  string
	}{
		{func(d *TensorMapDesc) { d.Dims = nil }, "rank 0"},
		{func(d *TensorMapDesc) { d.Strides = nil }, "0 strides"},
		{func(d *TensorMapDesc) { d.Steps = []uint32{1} }, "1 steps"},
		{func(d *TensorMapDesc) { d.Type = 13 }, "element type 13"},
		{func(d *TensorMapDesc) { d.Address = 0x1008 }, "address 0x1008"},
		{func(d *TensorMapDesc) { d.Dims[1] = 0 }, "extent 0 in dimension 1"},
		{func(d *TensorMapDesc) { d.Strides[0] = 264 }, "stride 264 in dimension 1"},
		{func(d *TensorMapDesc) { d.Box[1] = 257 }, "box extent 257 in dimension 1"},
		{func(d *TensorMapDesc) { d.Steps = []uint32{1, 9} }, "step 9 in dimension 1"},
		{func(d *TensorMapDesc) { d.Box[0] = 4 }, "inner box extent of 8 bytes: it must be a multiple of 16"},
		{func(d *TensorMapDesc) { d.Box[0] = 72 }, "inner box extent of 144 bytes: it must be at most 128"},
		{func(d *TensorMapDesc) { d.Swizzle = Swizzle32 }, "it must be at most 32"},
	} {
		d := good()
		c.spoil(&d)
		assert.ErrorContains(t, d.check(), c.says)
	}
}

func TestAssembler(t *testing.T) {
	a, err := FindAssembler()
	if errors.Is(err, ErrNoAssembler) {
		t.Skip(err)
	}
	require.NoError(t, err)
	require.Regexp(t, `^V\d+\.\d+`, a.Version())
	ctx := context.Background()
	for _, m := range []struct {
		ptx    []byte
		target string
	}{{vectorPTX, "sm_80"}, {vectorPTX, "sm_90a"}, {hopperPTX, "sm_90"}} {
		cubin, log, err := a.Compile(ctx, m.ptx, m.target, CompileOptions{Verbose: true, LineInfo: true, OptLevel: 3})
		require.NoError(t, err)
		require.True(t, bytes.HasPrefix(cubin, []byte("\x7fELF")))
		require.Contains(t, log, "registers")
		require.NotContains(t, log, " 4 bytes spill")
	}
	_, log, err := a.Compile(ctx, bytes.Replace(vectorPTX, []byte("add.f32"), []byte("nonsense.f32"), 1), "sm_80", CompileOptions{})
	require.ErrorContains(t, err, sourceName+", line")
	require.Contains(t, log, "nonsense")
}

func TestAssemblerVersion(t *testing.T) {
	text := "ptxas: NVIDIA (R) Ptx optimizing assembler\nCuda compilation tools, release 12.4, V12.4.131\nBuild cuda_12.4.r12.4/compiler.34097967_0\n"
	assert.Equal(t, "V12.4.131", assemblerVersion(text))
	assert.Equal(t, "something else", assemblerVersion("something else\n"))
}

func TestNoAssembler(t *testing.T) {
	t.Setenv(AssemblerVariable, filepath.Join(t.TempDir(), "absent"))
	_, err := FindAssembler()
	require.ErrorIs(t, err, ErrNoAssembler)
	require.ErrorContains(t, err, AssemblerVariable)
}
