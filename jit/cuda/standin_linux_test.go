package cuda

import (
	_ "embed"
	"encoding/binary"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

//go:embed testdata/fakedriver.c
var fakeDriver []byte

// standIn opens the stand-in for the driver library, which a C compiler makes.
func standIn(t *testing.T) *Driver {
	compiler, err := exec.LookPath("cc")
	if err != nil {
		t.Skip("needs a C compiler")
	}
	dir := t.TempDir()
	source, path := filepath.Join(dir, "fakedriver.c"), filepath.Join(dir, "libfake.so")
	require.NoError(t, os.WriteFile(source, fakeDriver, 0o600))
	out, err := exec.Command(compiler, "-O1", "-Wall", "-Werror", "-shared", "-fPIC", "-o", path, source).CombinedOutput()
	require.NoError(t, err, string(out))
	lib, err := loadLibrary(path)
	require.NoError(t, err)
	d, err := newDriver(direct{lib}, lib)
	require.NoError(t, err)
	return d
}

// Without a GPU this checks that every call passes its arguments as the driver
// expects them, on whatever thread; what a GPU does is for TestConformance.
func TestCallsAgainstStandIn(t *testing.T) {
	if _, err := Open(); err == nil {
		t.Skip("there is a real driver, whose symbols the stand-in's may be mixed with")
	}
	d := standIn(t)
	runConformance(t, d, 0)

	c, err := d.Context(0)
	require.NoError(t, err)
	t.Run("launch attributes arrive", func(t *testing.T) {
		f := kernel(t, load(t, c, vectorPTX), "count")
		for want, cfg := range map[Code]LaunchConfig{
			1600: {Cluster: Dim3{X: 3, Y: 2}},
			1010: {Programmatic: true},
			1001: {Cooperative: true},
			4010: {Programmatic: true, Passing: Passing{0x1234567000, 1 << 33}},
			4211: {Cluster: Dim3{X: 2}, Programmatic: true, Cooperative: true, Passing: Passing{0x1234567000, 1 << 33}},
			1211: {Cluster: Dim3{X: 2}, Programmatic: true, Cooperative: true},
		} {
			cfg.Grid, cfg.Block = Dim3{X: 6}, Dim3{X: 32}
			err := stream(t, c).Launch(f, cfg, nil)
			require.ErrorIs(t, err, want)
		}
	})
	t.Run("a launch as data", func(t *testing.T) {
		f := kernel(t, load(t, c, vectorPTX), "step")
		b, err := f.Bare(LaunchConfig{Grid: Dim3{X: 6}, Block: Dim3{X: 32}, Shared: 64 << 10}, new(Params).Ptr(0x7000).Uint32(3).Uint8(5), nil, nil)
		require.NoError(t, err)
		require.Equal(t, []int{0, 8, 12}, b.Offsets)
		require.Equal(t, []byte{0, 0x70, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, 5}, b.Parameters)
		require.Equal(t, Dim3{X: 6, Y: 1, Z: 1}, b.Grid)
		require.Equal(t, uintptr(f.handle), b.Function)
		calls, err := c.BareCalls()
		require.NoError(t, err)
		require.Equal(t, []uintptr{d.lib.address[cuLaunchKernel], d.lib.address[cuCtxSetCurrent], uintptr(c.handle)}, []uintptr{calls.LaunchKernel, calls.SetCurrent, calls.Context})
		shared, err := f.Attribute(AttrMaxDynamicShared)
		require.NoError(t, err)
		require.Equal(t, 64<<10, shared, "what the launch needs is opted in to")
		_, err = f.Bare(LaunchConfig{Programmatic: true}, new(Params), nil, nil)
		require.ErrorContains(t, err, "attributes")
		_, err = f.Bare(LaunchConfig{}, new(Params).Ptr(0x7000), nil, nil)
		require.ErrorContains(t, err, "it takes 3 parameters, 1 were given")
		_, err = f.Bare(LaunchConfig{}, new(Params), []TensorMapDesc{{}}, []int{0})
		require.ErrorContains(t, err, "tensor map has rank 0")
	})
	t.Run("tensor map", func(t *testing.T) {
		m, err := c.TensorMap(TensorMapDesc{
			Type: TensorBFloat16, Address: 0x7000, Dims: []uint64{128, 64}, Strides: []uint64{256},
			Box: []uint32{64, 8}, Swizzle: Swizzle128, L2: L2Promotion256, NaNFill: true,
		})
		require.NoError(t, err)
		var got []uint64
		for i := 0; i < len(m); i += 8 {
			got = append(got, binary.NativeEndian.Uint64(m[i:]))
		}
		require.Equal(t, []uint64{9, ^uint64(0) &^ (1 << 21), 2, 0x7000, 128, 64, 256, 64, 8, 1, 1, 0, 3, 3, 1, 77}, got,
			"a small tensor has the bit cleared that the driver sets in error")
	})
	t.Run("no such device", func(t *testing.T) {
		_, err := d.Context(1)
		require.ErrorContains(t, err, "device 1 does not exist: this machine has 1")
	})
	t.Run("occupancy of clusters is missing", func(t *testing.T) {
		_, err := kernel(t, load(t, c, vectorPTX), "add").ActiveClusters(one)
		require.ErrorIs(t, err, NotFound)
	})
}
