package emu

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tilec/jit/emu/number"
)

// registers are what the bodies of test kernels may use.
const registers = `
	.reg .b16  %h<16>;
	.reg .b32  %r<64>;
	.reg .b64  %rd<32>;
	.reg .f32  %f<32>;
	.reg .f64  %d<16>;
	.reg .pred %p<16>;
`

// kernel makes a module of a kernel k(in, out) with a body; %rd0 is in, %rd1 is
// out, %r0 the thread in the block and %r1 the block.
func kernel(body string) string { return module("", body) }

// module is kernel with declarations before it.
func module(declarations, body string) string {
	return `.version 8.4
.target sm_90a
.address_size 64
` + declarations + `
.visible .entry k(.param .u64 in, .param .u64 out)
{` + registers + `
	ld.param.u64 %rd0, [in];
	ld.param.u64 %rd1, [out];
	cvta.to.global.u64 %rd0, %rd0;
	cvta.to.global.u64 %rd1, %rd1;
	mov.u32 %r0, %tid.x;
	mov.u32 %r1, %ctaid.x;
` + body + `
	ret;
}
.file 1 "test.tile"
`
}

// A run is a launch of k and what came of it.
type run struct {
	blocks, threads, dynamic int
	in                       []byte
	outSize                  int
	options                  Options
	unpredictable            bool    // the results differ from run to run or by device, or tell nothing
	compare                  Compare // with a device's results; nil for Same

	out     []byte
	inAfter []byte // what in holds afterwards
	report  *Report
}

// do parses and launches a module.
func (r *run) do(t testing.TB, text string) *run {
	t.Helper()
	m, err := Parse(text)
	require.NoError(t, err, text)
	memory := NewMemory()
	in, err := memory.Alloc(int64(len(r.in)))
	require.NoError(t, err)
	require.NoError(t, memory.Write(in, r.in))
	out, err := memory.Alloc(int64(r.outSize))
	require.NoError(t, err)
	params := binary.LittleEndian.AppendUint64(nil, in)
	params = binary.LittleEndian.AppendUint64(params, out)
	r.report, err = Launch(m, "k", [3]int{max(r.blocks, 1), 1, 1}, [3]int{max(r.threads, 1), 1, 1}, r.dynamic, params, memory, r.options)
	require.NoError(t, err)
	r.out = make([]byte, r.outSize)
	require.NoError(t, memory.Read(r.out, out))
	r.inAfter = make([]byte, len(r.in))
	require.NoError(t, memory.Read(r.inAfter, in))
	return r
}

// clean is do for programs without a fault.
func (r *run) clean(t testing.TB, text string) *run {
	t.Helper()
	assemble(t, text)
	r.do(t, text)
	require.Empty(t, r.report.Findings, text)
	r.replay(t, text)
	return r
}

// replay compares the results with a GPU's.
func (r *run) replay(t testing.TB, text string) {
	t.Helper()
	if r.unpredictable {
		return
	}
	job := &DeviceJob{
		Text: text, Grid: [3]int{max(r.blocks, 1), 1, 1}, Block: [3]int{max(r.threads, 1), 1, 1}, Cluster: r.options.Cluster, Shared: r.dynamic,
		Args: []DeviceArg{{Array: r.in}, {Array: bytes.Repeat([]byte{junk}, r.outSize)}},
	}
	// A test runs many programs: a key says of which one a result is.
	sum := sha256.Sum256(append([]byte(text), r.in...))
	n := hex.EncodeToString(sum[:4])
	keys := make([]string, 2)
	if len(r.in) > 0 && !bytes.Equal(r.in, r.inAfter) {
		keys[0] = n + ".in"
	}
	if r.outSize > 0 {
		keys[1] = n + ".out"
	}
	compare := r.compare
	if compare == nil {
		compare = Same
	}
	Replay(t, t.Name(), job, keys, [][]byte{r.inAfter, r.out}, compare)
}

func (r *run) words() []uint32 {
	w := make([]uint32, len(r.out)/4)
	for i := range w {
		w[i] = binary.LittleEndian.Uint32(r.out[4*i:])
	}
	return w
}

// find runs a program that is made to be wrong and gives the one kind of finding that it must have.
func (r *run) find(t *testing.T, kind Kind, text string) Finding {
	t.Helper()
	r.do(t, text)
	require.NotEmpty(t, r.report.Findings, "a finding %q is missing", kind)
	for _, f := range r.report.Findings {
		require.Equal(t, kind, f.Kind, "%v", f)
	}
	return r.report.Findings[0]
}

func words(values ...uint32) []byte {
	var b []byte
	for _, v := range values {
		b = binary.LittleEndian.AppendUint32(b, v)
	}
	return b
}

func counting(n int) []uint32 {
	w := make([]uint32, n)
	for i := range w {
		w[i] = uint32(i)
	}
	return w
}

// assemble checks that a test's text is PTX to ptxas too, where there is one.
func assemble(t testing.TB, text string) {
	t.Helper()
	ptxas, err := exec.LookPath("ptxas")
	if err != nil {
		return
	}
	dir := t.TempDir()
	file := filepath.Join(dir, "k.ptx")
	require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	out, err := exec.Command(ptxas, "-arch=sm_90a", "-O0", file, "-o", filepath.Join(dir, "k.cubin")).CombinedOutput()
	require.NoError(t, err, "%s\n%s", out, text)
}

// Signatures name the width of each operand, the destination first: p is a
// predicate, b 8, h 16, r 32, l 64 bits, f and d floats.
var operandWidths = map[byte]struct {
	register string
	bytes    int
}{'h': {"%h", 2}, 'r': {"%r", 4}, 'l': {"%rd", 8}, 'f': {"%f", 4}, 'd': {"%d", 8}, 'p': {"%p", 4}}

// A row is the wanted result and the operands of one execution of an instruction.
type caseRow []uint64

// execute runs an instruction once a row, each in a lane of its own, and gives the results.
func execute(t testing.TB, op, signature string, rows []caseRow) []uint64 {
	t.Helper()
	const stride, first = 8, 10 // bytes an operand; the number of the first register
	var body strings.Builder
	n := len(signature) - 1
	fmt.Fprintf(&body, "\tmad.wide.u32 %%rd2, %%r0, %d, %%rd0;\n\tmad.wide.u32 %%rd3, %%r0, 8, %%rd1;\n", n*stride)
	operands := make([]string, n)
	for i := range n {
		w := operandWidths[signature[i+1]]
		operands[i] = fmt.Sprintf("%s%d", w.register, first+i)
		if signature[i+1] == 'p' {
			fmt.Fprintf(&body, "\tld.global.b32 %%r%d, [%%rd2+%d];\n\tsetp.ne.b32 %s, %%r%d, 0;\n", first+i, i*stride, operands[i], first+i)
			continue
		}
		fmt.Fprintf(&body, "\tld.global.b%d %s, [%%rd2+%d];\n", 8*w.bytes, operands[i], i*stride)
	}
	w := operandWidths[signature[0]]
	dst := w.register + "9"
	fmt.Fprintf(&body, "\t%s %s, %s;\n", op, dst, strings.Join(operands, ", "))
	if signature[0] == 'p' {
		body.WriteString("\tselp.b32 %r9, 1, 0, %p9;\n")
		dst = "%r9"
	}
	fmt.Fprintf(&body, "\tst.global.b%d [%%rd3], %s;\n", 8*w.bytes, dst)

	in := make([]byte, 0, len(rows)*n*stride)
	for _, row := range rows {
		require.Len(t, row, n+1, op)
		for _, v := range row[1:] {
			in = binary.LittleEndian.AppendUint64(in, v)
		}
	}
	r := (&run{threads: len(rows), in: in, outSize: 8 * len(rows)}).clean(t, kernel(body.String()))
	results := make([]uint64, len(rows))
	for i := range rows {
		results[i] = binary.LittleEndian.Uint64(r.out[8*i:]) & number.Mask(8*w.bytes)
	}
	return results
}

// An instructionTest is an instruction with rows of wanted results and operands.
type instructionTest struct {
	op, signature string
	rows          []caseRow
}

func (it instructionTest) run(t *testing.T) {
	t.Helper()
	for i, got := range execute(t, it.op, it.signature, it.rows) {
		if got != it.rows[i][0] {
			t.Errorf("%s %#x = %#x, want %#x", it.op, it.rows[i][1:], got, it.rows[i][0])
		}
	}
}
