package bundle_test

import (
	"encoding/binary"
	"encoding/json"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tilec/jit"
	"tilec/jit/bundle"
	"tilec/jit/compile"
	"tilec/jit/cuda"
	"tilec/jit/emu"
	"tilec/jit/target"
	"tilec/lang"
)

const source = `
/// Every row scaled, and shifted by a scalar.
kernel scaled<T: float>(x: T[M, N], w: T[N], shift: f32) -> y: T[M, N]
    grid i in M by BM
{
    axis j in N
    y[i, j] = (x[i, j] as f32 * w[j] as f32 + shift) as T
}

/// A product, which copies its operands by tensor maps on Hopper.
kernel product(a: bf16[M, K], b: bf16[N, K]) -> c: f32[M, N]
    grid i in M by BM, j in N by BN
{
    let acc = for k in K by BK with acc = zeros(f32, i, j) {
        mma(a[i, k], b[j, k], acc)
    }
    c[i, j] = acc
}

/// Counts of values: what no value names stays 0, and the host zeroes it.
kernel counts<const B: i32>(x: i32[N]) -> n: i32[B]
    grid i in N by BN
{
    atomic_add(n[x[i]], 1)
}

kernel says(x: f32[N]) -> y: f32[N]
    grid i in N by BN
{
    print("x {}", x[i])
    y[i] = x[i]
}
`

// build compiles a kernel of the source and writes a bundle.
func build(t *testing.T, machine, kernel string, assembler *cuda.Assembler, options jit.Options) (string, error) {
	t.Helper()
	program, ds := jit.Load("source.tile", []byte(source), nil)
	require.NoError(t, ds.Err())
	f, err := jit.FindFunction(program, kernel)
	require.NoError(t, err)
	on, err := target.Find(machine)
	require.NoError(t, err)
	s, err := jit.Specialise(f.Kernel, options)
	require.NoError(t, err)
	var lowered []*compile.Lowered
	for _, launch := range s.Launches() {
		l, err := compile.Lower(launch, on, nil)
		require.NoError(t, err)
		lowered = append(lowered, l)
	}
	b := bundle.New(jit.Version, "source.tile", on, assembler)
	if err := b.Add(s, s.Launches(), lowered); err != nil {
		return "", err
	}
	dir := filepath.Join(t.TempDir(), "kernels")
	require.NoError(t, b.Write(dir))
	return dir, nil
}

// launch runs a bundle's one kernel in the emulator by what its manifest says. Tensors and scalars are bytes by name; it gives the
// outputs.
func launch(t *testing.T, dir string, given map[string][]byte) map[string][]byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, bundle.ManifestName))
	require.NoError(t, err)
	var m bundle.Manifest
	require.NoError(t, json.Unmarshal(data, &m))
	require.Len(t, m.Kernels, 1)
	memory := emu.NewMemory()
	address, outputs, bytes := map[string]uint64{}, map[string]uint64{}, map[string]int64{}
	for _, l := range m.Kernels[0].Launches {
		text, err := os.ReadFile(filepath.Join(dir, l.File))
		require.NoError(t, err)
		module, err := emu.Parse(string(text))
		require.NoError(t, err)
		entry := module.Kernels[l.Entry]
		require.Len(t, entry.Params, len(l.Parameters))
		space := make([]byte, entry.ParamSize)
		maps := map[string]*emu.TensorMap{}
		for i, p := range l.Parameters {
			require.EqualValues(t, entry.Params[i].Size, p.Size, p.Name)
			word := make([]byte, 8)
			switch p.Kind {
			case bundle.KindTensor, bundle.KindScratch:
				if _, there := address[p.Name]; !there {
					at, err := memory.Alloc(p.Bytes)
					require.NoError(t, err)
					address[p.Name] = at
					if p.Mode == "in" {
						require.Len(t, given[p.Name], int(p.Bytes), p.Name)
						require.NoError(t, memory.Write(at, given[p.Name]))
					}
				}
				if p.Zero {
					require.NoError(t, memory.Fill(address[p.Name], int(p.Bytes), 0))
				}
				if p.Mode == "out" {
					outputs[p.Name], bytes[p.Name] = address[p.Name], p.Bytes
				}
				binary.LittleEndian.PutUint64(word, address[p.Name])
			case bundle.KindScalar:
				copy(word, given[p.Name])
			case bundle.KindConstant:
				binary.LittleEndian.PutUint64(word, uint64(p.Value))
			case bundle.KindTensorMap:
				of := map[int64]emu.TensorType{1: emu.TensorUint8, 2: emu.TensorUint16, 4: emu.TensorUint32, 8: emu.TensorUint64}[p.Map.ElementBytes]
				if p.Map.TF32 {
					of = emu.TensorTFloat32
				}
				maps[p.Name] = &emu.TensorMap{
					Type:    of,
					Address: address[p.Map.Tensor], Dims: p.Map.Dims, Strides: p.Map.Strides, Box: p.Map.Box,
					Swizzle: map[int64]emu.Swizzle{32: emu.Swizzle32, 64: emu.Swizzle64, 128: emu.Swizzle128}[p.Map.Swizzle],
				}
				continue
			default:
				t.Fatalf("a parameter of kind %q", p.Kind)
			}
			place := entry.Params[i]
			copy(space[place.Offset:place.Offset+place.Size], word)
		}
		three := func(n [3]int64) [3]int { return [3]int{int(n[0]), int(n[1]), int(n[2])} }
		report, err := emu.Launch(module, l.Entry, three(l.Grid), three(l.Block), int(l.Shared), space, memory, emu.Options{TensorMaps: maps})
		require.NoError(t, err)
		require.Empty(t, report.Findings)
	}
	out := map[string][]byte{}
	for name, at := range outputs {
		out[name] = make([]byte, bytes[name])
		require.NoError(t, memory.Read(out[name], at))
	}
	return out
}

// onCPU is what the CPU makes of the same call.
func onCPU(t *testing.T, kernel string, args jit.Args) map[string]*jit.Array {
	t.Helper()
	module, err := jit.NewCompiler(jit.OpenCPU(), nil).Load("source.tile", []byte(source))
	require.NoError(t, err)
	out, err := module.Call(kernel, args)
	require.NoError(t, err)
	return out
}

var nine = map[string]lang.Literal{"B": {DType: lang.I32, Int: 9}}

// numbers are small integers, of which products and sums are exact.
func numbers(n int) []float64 {
	out := make([]float64, n)
	for i := range out {
		out[i] = float64(i*7%11 - 5)
	}
	return out
}

// A launch by the manifest alone gives what the CPU computes: scalars, tensor maps, outputs that the host zeroes.
func TestLaunchByTheManifest(t *testing.T) {
	for _, machine := range []string{"sm_80", "sm_90a"} {
		t.Run(machine, func(t *testing.T) {
			x, w := jit.Converted(lang.BF16, numbers(5*40), 5, 40), jit.Converted(lang.BF16, numbers(40), 40)
			dir, err := build(t, machine, "scaled", nil, jit.Options{Dims: map[string]int64{"M": 5, "N": 40}, Types: map[string]lang.DType{"T": lang.BF16}})
			require.NoError(t, err)
			shift := binary.LittleEndian.AppendUint32(nil, math.Float32bits(2.5))
			assert.Equal(t, onCPU(t, "scaled", jit.Args{"x": x, "w": w, "shift": 2.5})["y"].Data, launch(t, dir, map[string][]byte{"x": x.Data, "w": w.Data, "shift": shift})["y"])

			a, b := jit.Converted(lang.BF16, numbers(200*128), 200, 128), jit.Converted(lang.BF16, numbers(256*128), 256, 128)
			dir, err = build(t, machine, "product", nil, jit.Options{Dims: map[string]int64{"M": 200, "N": 256, "K": 128}, Pins: map[string]int64{"BM": 128, "BN": 128, "BK": 64, "warps": 8}})
			require.NoError(t, err)
			assert.Equal(t, onCPU(t, "product", jit.Args{"a": a, "b": b})["c"].Data, launch(t, dir, map[string][]byte{"a": a.Data, "b": b.Data})["c"])
			manifest, err := os.ReadFile(filepath.Join(dir, bundle.ManifestName))
			require.NoError(t, err)
			assert.Equal(t, machine == "sm_90a", jsonHas(manifest, bundle.KindTensorMap))

			values := jit.ArrayOf([]int32{1, 3, 3, 7, 1, 3})
			dir, err = build(t, machine, "counts", nil, jit.Options{Dims: map[string]int64{"N": 6}, Consts: nine})
			require.NoError(t, err)
			assert.Equal(t, onCPU(t, "counts", jit.Args{"x": values, "B": 9})["n"].Data, launch(t, dir, map[string][]byte{"x": values.Data})["n"])
		})
	}
}

func jsonHas(manifest []byte, kind string) bool {
	var m bundle.Manifest
	if json.Unmarshal(manifest, &m) != nil {
		return false
	}
	for _, p := range m.Kernels[0].Launches[0].Parameters {
		if p.Kind == kind {
			return true
		}
	}
	return false
}

// What no manifest can say is refused with its reason.
func TestRefused(t *testing.T) {
	_, err := build(t, "sm_90a", "says", nil, jit.Options{Dims: map[string]int64{"N": 8}})
	var refused *bundle.Refusal
	require.ErrorAs(t, err, &refused)
	assert.Contains(t, refused.Reason, "prints or asserts")
	_, err = build(t, "sm_90a", "counts", nil, jit.Options{Dims: map[string]int64{"N": 0}, Consts: nine})
	require.ErrorAs(t, err, &refused)
	assert.Contains(t, refused.Reason, "no block")
}

// The header is C and C++, and has machine code named where there is an assembler.
func TestHeader(t *testing.T) {
	compiler, err := exec.LookPath("cc")
	if err != nil {
		t.Skip("there is no C compiler: ", err)
	}
	assembler, _ := cuda.FindAssembler()
	dir, err := build(t, "sm_90a", "product", assembler, jit.Options{Dims: map[string]int64{"M": 200, "N": 256, "K": 128}, Pins: map[string]int64{"BM": 128, "BN": 128, "BK": 64, "warps": 8}})
	require.NoError(t, err)
	main := filepath.Join(dir, "main.c")
	require.NoError(t, os.WriteFile(main, []byte(`
#include <stdio.h>
#include "kernels.h"
int main(void)
{
    const struct tilec_kernel *k = &tilec_product;
    printf("%s %d %s %s %d", k->entry, (int)k->parameters[0].shape[1], k->parameters[0].dtype, k->parameters[2].mode, (int)k->parameters[2].bytes);
    for (int i = 0; i < k->parameter_count; i++)
        if (k->parameters[i].kind == TILEC_TENSOR_MAP)
            printf(" %s", k->parameters[k->parameters[i].map->tensor].name);
    return 0;
}
`), 0o600))
	out, err := exec.Command(compiler, "-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic", "-o", filepath.Join(dir, "main"), main).CombinedOutput()
	require.NoError(t, err, "%s", out)
	out, err = exec.Command(filepath.Join(dir, "main")).CombinedOutput()
	require.NoError(t, err)
	assert.Equal(t, "product 128 bf16 out 204800 a b c", string(out))
}
