package jit_test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tilec/jit"
	"tilec/jit/backend"
	"tilec/jit/backend/emulator"
	"tilec/jit/jittest"
	"tilec/lang"
)

// farSize is more elements than an i32 counts. Of memory as large, only the
// pages that a test touches are there.
const farSize = 1<<31 + 5

const farSource = `
/// The last block writes, and only its elements that exist.
kernel last(inout x: i8[N])
    grid i in N by B
{
    if i.end == N {
        x[i] = x[i] + 1
    }
}

/// The same where the size is a parameter of the launch.
kernel last_rows(inout x: i8[N, 1])
    grid i in N by B
{
    if i.end == N {
        x[i, 0] = x[i, 0] + 1
    }
}

/// A grid that begins beyond 2^31.
kernel behind(inout x: i8[N])
    grid i in N[N - 3 ..] by B
{
    x[i] = x[i] + 2
}

kernel shifted(x: i8[N]) -> y: i8[70]
    grid i in 70 by B
{
    y[i] = x[i + N - 64] else -1
}

kernel gathered(x: i8[N], ids: i64[M]) -> y: i8[M]
    grid i in M by B
{
    y[i] = x[ids[i]] else -1
}

/// Rows, whose number is a parameter of the launch, by positions of i32: negative ones are outside.
kernel gathered_rows(x: i8[N, 1], ids: i32[M]) -> y: i8[M]
    grid i in M by B
{
    y[i] = x[ids[i], 0] else -1
}

kernel scattered(inout x: i8[N], ids: i64[M])
    grid i in 1
{
    axis m in M
    x[ids[m]] = index(m) as i8
}

kernel ranged(x: i8[N]) -> (y: i64[1], at: i64[1], ends: i64[2])
    grid i in 1
{
    let (s, p) = for k in N[N - 100 ..] by 32 with (s, p) = (0 as i64, 0 as i64) {
        (s + sum(x[k] as i64, over k), p + sum(index(k) as i64, over k))
    }
    y[i] = s
    at[i] = p
    ends[0] = N
    ends[1] = N as f64 as i64
}

/// An index is computed exactly: 8 i is no element that it is only modulo 2^32.
kernel spread(x: i8[N]) -> y: i32[1]
    grid i in 1
{
    y[i] = for k in N[N - 16 ..] by 16 with s = 0 {
        s + sum((x[8 * k] else 1) as i32, over k)
    }
}
`

func nearTensor(t *testing.T, d backend.Device, dtype lang.DType, data any, n int64) *jit.Tensor {
	raw, err := binary.Append(nil, binary.LittleEndian, data)
	require.NoError(t, err)
	m, err := d.Alloc(int64(len(raw)))
	require.NoError(t, err)
	t.Cleanup(func() { d.Free(m) })
	require.NoError(t, d.Write(m, 0, raw))
	return &jit.Tensor{DType: dtype, Shape: []int64{n}, Memory: m}
}

func TestFarElements(t *testing.T) {
	if have := jit.HostMemory(); testing.Short() || have > 0 && have < 8<<30 {
		t.Skip("a tensor of 2 GiB, of which little is touched, and as much to note in the emulator what was written")
	}
	p, problems := jit.Load("far.tile", []byte(farSource), nil)
	require.Empty(t, problems)
	end := make([]byte, 16384)
	for i := range end {
		end[i] = byte(i%100 + 1)
	}
	last := len(end) - 1
	run := func(t *testing.T, c *jit.Compiler, name string, pins map[string]int64, args ...*jit.Tensor) []*jit.Tensor {
		var values []jit.Value
		for _, a := range args {
			values = append(values, jit.TensorValue(a))
		}
		for _, k := range p.Kernels {
			if k.Name != name {
				continue
			}
			program, err := c.BindKernel(k, values, jit.Options{Pins: pins})
			require.NoError(t, err)
			t.Cleanup(program.Close)
			out, err := program.Run(values)
			require.NoError(t, err)
			var tensors []*jit.Tensor
			for _, v := range out {
				tensors = append(tensors, v.Tensor)
			}
			return tensors
		}
		t.Fatalf("there is no kernel %s", name)
		return nil
	}
	read := func(t *testing.T, d backend.Device, x *jit.Tensor, from int64, n int) []byte {
		data := make([]byte, n)
		require.NoError(t, d.Read(data, x.Memory, (x.Offset+from)*int64(x.DType.Size())))
		return data
	}
	d := jittest.Device(t)
	c := jit.NewCompiler(d, nil)
	m, err := d.Alloc(farSize)
	require.NoError(t, err)
	defer d.Free(m)
	// far gives a tensor of farSize elements of which the end is written.
	far := func(t *testing.T, shape ...int64) *jit.Tensor {
		require.NoError(t, d.Write(m, int64(farSize-len(end)), end))
		return &jit.Tensor{DType: lang.I8, Shape: shape, Memory: m}
	}
	for _, shape := range [][]int64{{farSize}, {farSize, 1}} {
		name := map[int]string{1: "last", 2: "last_rows"}[len(shape)]
		t.Run(name, func(t *testing.T) {
			if e, ok := d.(*emulator.Device); ok {
				e.First = farSize/8192 - 2
				defer func() { e.First = 0 }()
			}
			x := far(t, shape...)
			run(t, c, name, map[string]int64{"B": 8192}, x)
			for i, b := range read(t, d, x, farSize-10, 10) {
				want := end[len(end)-10+i]
				if i >= 5 { // the last block begins at 2^31
					want++
				}
				require.Equal(t, want, b, i)
			}
		})
	}
	t.Run("behind", func(t *testing.T) {
		x := far(t, farSize)
		run(t, c, "behind", nil, x)
		require.Equal(t, []byte{end[last-3], end[last-2] + 2, end[last-1] + 2, end[last] + 2}, read(t, d, x, farSize-4, 4))
	})
	t.Run("shifted", func(t *testing.T) {
		y := run(t, c, "shifted", nil, far(t, farSize))[0]
		want := append(append([]byte{}, end[len(end)-64:]...), 255, 255, 255, 255, 255, 255)
		require.Equal(t, want, read(t, d, y, 0, 70))
	})
	ids := []int64{farSize - 1, farSize, -1, 1 << 31, math.MinInt64, 1<<32 + farSize - 1, farSize - 2}
	t.Run("gathered", func(t *testing.T) {
		y := run(t, c, "gathered", nil, far(t, farSize), nearTensor(t, d, lang.I64, ids, int64(len(ids))))[0]
		require.Equal(t, []byte{end[last], 255, 255, end[last-4], 255, 255, end[last-1]}, read(t, d, y, 0, len(ids)))
	})
	t.Run("gathered by i32", func(t *testing.T) {
		narrow := []int32{math.MaxInt32, -1, math.MinInt32, -1 << 30}
		y := run(t, c, "gathered_rows", nil, far(t, farSize, 1), nearTensor(t, d, lang.I32, narrow, int64(len(narrow))))[0]
		require.Equal(t, []byte{end[last-5], 255, 255, 255}, read(t, d, y, 0, len(narrow)))
	})
	t.Run("scattered", func(t *testing.T) {
		x := far(t, farSize)
		run(t, c, "scattered", nil, x, nearTensor(t, d, lang.I64, ids, int64(len(ids))))
		got := read(t, d, x, farSize-5, 5)
		require.Equal(t, []byte{3, end[last-3], end[last-2], 6, 0}, got)
	})
	t.Run("ranged", func(t *testing.T) {
		out := run(t, c, "ranged", nil, far(t, farSize))
		sum, positions := int64(0), int64(0)
		for i := range 100 {
			sum += int64(end[len(end)-100+i])
			positions += farSize - 100 + int64(i)
		}
		integer := func(x *jit.Tensor, i int64) int64 {
			return int64(binary.LittleEndian.Uint64(read(t, d, x, i, 8)))
		}
		require.Equal(t, []int64{sum, positions, farSize, farSize}, []int64{integer(out[0], 0), integer(out[1], 0), integer(out[2], 0), integer(out[2], 1)})
	})
	t.Run("spread", func(t *testing.T) {
		y := run(t, c, "spread", nil, far(t, 1<<29+16))[0]
		require.Equal(t, []byte{16, 0, 0, 0}, read(t, d, y, 0, 4))
	})
}

// TestPositionErrors has launches of more positions than an i32 counts: no value wraps around in silence.
func TestPositionErrors(t *testing.T) {
	c := jit.NewCompiler(jittest.Device(t), nil)
	for _, test := range []struct {
		body, what, fix string
	}{
		{"grid i in 1 { for k in N by B { y[i] = max(index(k), over k) } }", "index(k) is an i32", "`index(k) as i64`"},
		{"grid i in 1 { y[i] = N }", "N is an i32", "`N as i64`"},
		{"grid i in 1 { y[i] = N - 5 }", "N - 5 is an i32", "`(N - 5) as i64`"},
		{"grid i in 1 { for k in N by B { y[i] = k.start } }", "k.start is an i32", "`k.start as i64`"},
		{"grid i in 1 { for k in N by B { y[i] = k.end + 1 } }", "k.end is an i32", "`k.end as i64`"},
		{"grid i in 1 { for n in N { y[i] = n } }", "a loop without an axis", "`for k in N by B`"},
		{"grid i in 1 { axis j in N\n y[i] = argmax(x[j], over j) }", "argmax(x[j], over j) is an i32", "`argmax(x[j], over j) as i64`"},
		{"grid i in 1 { axis j in N\n axis r in 1\n let (_, at) = topk(x[j], r, over j)\n y[i] = sum(at, over r) }", "the position that this gives is an i32", ""},
	} {
		source := fmt.Sprintf("kernel f(x: i8[N]) -> y: i32[1]\n    %s\n", test.body)
		p, problems := jit.Load("far.tile", []byte(source), nil)
		require.Empty(t, problems, source)
		x := &jit.Tensor{DType: lang.I8, Shape: []int64{farSize}, Strides: []int64{0}, Memory: nearTensor(t, c.Device, lang.I8, []int8{1}, 1).Memory}
		_, err := c.BindKernel(p.Kernels[0], []jit.Value{jit.TensorValue(x)}, jit.Options{})
		var d *lang.Diagnostic
		require.True(t, errors.As(err, &d), "%s: %v", source, err)
		require.Equal(t, lang.ErrPosition, d.Code, source)
		want := int64(farSize)
		if strings.Contains(test.what, "N - 5") {
			want -= 5
		}
		require.Contains(t, d.Message, test.what)
		require.Contains(t, d.Message, fmt.Sprint("is ", want))
		if test.fix != "" {
			require.Contains(t, d.Fix.Message, test.fix)
		}
	}
}
