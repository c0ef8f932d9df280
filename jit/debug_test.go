package jit_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tilec/jit"
	"tilec/jit/jittest"
	"tilec/jit/target"
	"tilec/lang"
)

// said runs a kernel of one i32 tensor and gives what it printed.
func said(t *testing.T, source string, n int64) []string {
	t.Helper()
	program, problems := jit.Load("say.tile", []byte(source), nil)
	require.Empty(t, problems)
	compiler := jit.NewCompiler(jittest.Device(t), nil)
	var out bytes.Buffer
	compiler.Output = &out
	data := make([]byte, 4*n)
	for i := range n {
		binary.LittleEndian.PutUint32(data[4*i:], uint32(i))
	}
	m, err := compiler.Device.Alloc(4 * n)
	require.NoError(t, err)
	defer compiler.Device.Free(m)
	require.NoError(t, compiler.Device.Write(m, 0, data))
	args := []jit.Value{jit.TensorValue(&jit.Tensor{DType: lang.I32, Shape: []int64{n}, Memory: m})}
	p, err := compiler.BindKernel(program.Kernels[0], args, jit.Options{})
	require.NoError(t, err)
	defer p.Close()
	_, err = p.Run(args)
	require.NoError(t, err)
	return strings.Split(strings.TrimSpace(out.String()), "\n")
}

// The first 1024 blocks have room; how many prints the others made is said.
func TestPrintOfManyBlocks(t *testing.T) {
	lines := said(t, `kernel many(x: i32[N]) -> y: i32[N]
    grid i in N
{
    print("{}", x[i])
    if x[i] % 2 == 0 {
        print("even")
    }
    y[i] = x[i]
}
`, 1030)
	require.Len(t, lines, 1024+512+1)
	assert.Equal(t, "say.tile:4: block (0): 0", lines[0])
	assert.Equal(t, "say.tile:6: block (0): even", lines[1])
	assert.Equal(t, "say.tile:4: block (1023): 1023", lines[1535])
	assert.Equal(t, "many: 9 more prints had no room and are not shown", lines[1536])
}

// A block that says more than it has room for is cut off at a whole print, and stays silent after it.
func TestPrintOfMuch(t *testing.T) {
	lines := said(t, `kernel much(x: i32[N]) -> y: i32[N]
    grid i in N
{
    for n in 130 {
        print("{} {} {}", n, n, n)
    }
    print("end")
    y[i] = x[i]
}
`, 1024)
	// An area is 4096 bytes: 128 records of a site and three values.
	require.Len(t, lines, 1024*128+1)
	for b := range 2 {
		for n := range 128 {
			require.Equal(t, fmt.Sprintf("say.tile:5: block (%d): %d %d %d", b, n, n, n), lines[128*b+n])
		}
	}
	assert.Equal(t, fmt.Sprintf("much: %d more prints had no room and are not shown", 1024*(2+1)), lines[len(lines)-1])
}

// What comes after a record without room is not printed, though it be short enough.
func TestPrintAfterMuch(t *testing.T) {
	lines := said(t, `kernel more(x: i32[N]) -> y: i32[N]
    grid i in N
{
    for n in 127 {
        print("{} {} {}", n, n, n)
    }
    print("{} {} {} {}", 1, 2, 3, 4)
    print("end")
    y[i] = x[i]
}
`, 1024)
	require.Len(t, lines, 1024*127+1)
	assert.Equal(t, "say.tile:5: block (0): 126 126 126", lines[126])
	assert.Equal(t, fmt.Sprintf("more: %d more prints had no room and are not shown", 1024*2), lines[len(lines)-1])
}

// What is assumed of a dimension that a launch gives saves the code for blocks that are not full.
func TestAssumeOfDivisor(t *testing.T) {
	source := `kernel half(x: f32[M, N]) -> y: f32[M, N]
    grid i in M by 16
{
    %s
    axis j in N
    y[i, j] = x[i, j] / 2
}
`
	ptx := func(line string) string {
		program, problems := jit.Load("half.tile", []byte(fmt.Sprintf(source, line)), nil)
		require.Empty(t, problems)
		spec, err := jit.Specialise(program.Kernels[0], jit.Options{Dims: map[string]int64{"M": 64, "N": 8}})
		require.NoError(t, err)
		target, err := target.Find("sm_90a")
		require.NoError(t, err)
		l, err := jit.Lower(spec, target, nil)
		require.NoError(t, err)
		text, err := l.PTX()
		require.NoError(t, err)
		return text
	}
	assert.Contains(t, ptx(""), "some do not")
	assert.NotContains(t, ptx("assume(M % 32 == 0)"), "some do not")
	assert.Contains(t, ptx("assume(M % 8 == 0)"), "some do not")
}

// A kernel that neither prints nor asserts has no parameter for it.
func TestSilentKernelsPayNothing(t *testing.T) {
	for line, want := range map[string]bool{"": false, "assume(x[i] > 0)": false, "static_assert(N > 1)": false, "assert(x[i] > 0)": true, `print("")`: true} {
		program, problems := jit.Load("k.tile", []byte("kernel k(x: f32[N]) -> y: f32[N]\n    grid i in N by 16\n{\n    "+line+"\n    y[i] = x[i]\n}\n"), nil)
		require.Empty(t, problems)
		spec, err := jit.Specialise(program.Kernels[0], jit.Options{Dims: map[string]int64{"N": 64}})
		require.NoError(t, err)
		target, err := target.Find("sm_80")
		require.NoError(t, err)
		l, err := jit.Lower(spec, target, nil)
		require.NoError(t, err)
		text, err := l.PTX()
		require.NoError(t, err)
		assert.Equal(t, want, strings.Contains(text, "debug"), line)
	}
}
