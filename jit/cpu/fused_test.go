package cpu

import (
	"bufio"
	"math"
	"math/big"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tilec/jit/jittest/sweep"
	"tilec/lang"
)

// TestFma32 compares with exact arithmetic: random numbers, and sums just beside the middle of two numbers.
func TestFma32(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	check := func(a, b, c float32) {
		exact := new(big.Rat).Mul(new(big.Rat).SetFloat64(float64(a)), new(big.Rat).SetFloat64(float64(b)))
		want, _ := exact.Add(exact, new(big.Rat).SetFloat64(float64(c))).Float32()
		require.Equal(t, want, fma32(a, b, c), "%b %b %b", a, b, c)
	}
	for range 20000 {
		a, b := float32(r.NormFloat64()), float32(math.Ldexp(r.NormFloat64(), r.IntN(40)-20))
		check(a, b, float32(math.Ldexp(r.NormFloat64(), r.IntN(40)-20)))
		check(a, b, -float32(float64(a)*float64(b)))
		check(float32(1+r.IntN(1<<12)), float32(r.IntN(1<<13)), float32(r.IntN(1<<24)))
		// c and half a unit of it, give or take a product too small for f64 to hold beside them.
		c := float32(1 + float64(r.IntN(1<<23))/(1<<23))
		check(1+0x1p-23*float32(r.IntN(3)), 0x1p-24, c)
		check(1+0x1p-12, 0x1p-24*(1-0x1p-12), c)
		check(0x1p-100*(1+0x1p-20), 0x1p-50*(1+0x1p-23), 0x1p-127*c) // a result below the normal numbers
	}
}

// TestRowsHaveTheBitsOfVectors compares the loops for one machine with those for another, on numbers of every exponent.
func TestRowsHaveTheBitsOfVectors(t *testing.T) {
	if !vectors {
		t.Skip("this machine has the Go loops only")
	}
	const n = 1 << 16
	r := rand.New(rand.NewPCG(3, 4))
	var operands [3][]float32
	for i := range operands {
		operands[i] = make([]float32, n)
		for j := range operands[i] {
			operands[i][j] = math.Float32frombits(r.Uint32())
			if j%2 == 0 { // where functions are neither 0 nor 1
				operands[i][j] = float32(r.NormFloat64() * 30)
			}
		}
	}
	portable := float32Rows()
	for op, vector := range vectorRows() {
		got, want := make([]float32, n), make([]float32, n)
		vector(ptrOf(want), ptrOf(operands[0]), ptrOf(operands[1]), ptrOf(operands[2]), n)
		portable[op](ptrOf(got), ptrOf(operands[0]), ptrOf(operands[1]), ptrOf(operands[2]), n)
		for i := range got {
			if got[i] != got[i] && want[i] != want[i] {
				continue
			}
			require.Equal(t, math.Float32bits(want[i]), math.Float32bits(got[i]), "%s of %b %b %b", op, operands[0][i], operands[1][i], operands[2][i])
		}
	}
	for _, d := range []lang.DType{lang.F16, lang.BF16} {
		got, want := append([]float32(nil), operands[0]...), append([]float32(nil), operands[0]...)
		rounder(d)(want)
		func() {
			defer UseVectors(UseVectors(false))
			rounder(d)(got)
		}()
		for i := range got {
			require.True(t, got[i] != got[i] && want[i] != want[i] || math.Float32bits(got[i]) == math.Float32bits(want[i]), "%s of %b", d, operands[0][i])
		}
	}
}

// TestSumsHaveTheBitsOfVectors compares the loops that add, of every length.
func TestSumsHaveTheBitsOfVectors(t *testing.T) {
	if !vectors {
		t.Skip("this machine has the Go loops only")
	}
	r := rand.New(rand.NewPCG(5, 6))
	rows := make([]float32, 1000)
	for i := range rows {
		rows[i] = float32(r.NormFloat64())
	}
	both := func(f func() any) (with, without any) {
		defer UseVectors(UseVectors(true))
		with = f()
		UseVectors(false)
		return with, f()
	}
	for n := range 130 {
		with, without := both(func() any { return sum16(rows[:n*4&^15]) })
		require.Equal(t, with, without, "the sum of %d", n*4&^15)
	}
}

// mayFuse are the packages whose floats bound what others compute, and are no results.
var mayFuse = map[string]string{
	"tilec/jit/fuzz":         "its intervals are widened by more than a rounding",
	"tilec/bench":            "its floats are times, counts an element, and how far results are apart",
	"tilec/cmd/tilec/report": "its floats are places in pictures",
	"tilec/jit/block":        "its bounds of indices are whole numbers that float64 holds",
}

// TestNothingElseIsFused compiles what computes results and plans, and to be thorough all of tilec, for a processor on which the compiler
// fuses a product with the sum behind it, and looks for instructions that do so where
// the source has no fused multiply-add: results there would have other bits. That
// holds for the costs of plans too, for another plan adds up in another order.
func TestNothingElseIsFused(t *testing.T) {
	if testing.Short() {
		t.Skip("compiles for another processor")
	}
	tool := filepath.Join(strings.TrimSpace(run(t, "go", "env", "GOROOT")), "bin", "go")
	roots := []string{"tilec/cmd/tilec"}
	if sweep.OneIn(2) > 1 { // results, plans, and what the emulator computes: eleven packages, which need few others
		roots = []string{"tilec/jit/cpu", "tilec/jit/plan", "tilec/jit/emu/number"}
	}
	var packages []string
	for _, pkg := range strings.Fields(run(t, tool, append([]string{"list", "-deps"}, roots...)...)) {
		if strings.HasPrefix(pkg, "tilec/") && pkg != "tilec/cmd/tilec" && mayFuse[pkg] == "" {
			packages = append(packages, pkg)
		}
	}
	require.Greater(t, len(packages), 8)
	// The compiler's listing, which is as long as the code of hundreds of packages, is kept with what it compiled.
	listing := exec.Command(tool, append([]string{"build", "-trimpath=false", "-gcflags=-S"}, packages...)...)
	listing.Env = forARM64()
	out, err := listing.StderrPipe()
	require.NoError(t, err)
	require.NoError(t, listing.Start())
	fused := 0
	for lines := bufio.NewScanner(out); lines.Scan(); {
		m := fusedInstruction.FindStringSubmatch(lines.Text())
		if m == nil {
			continue
		}
		fused++
		require.True(t, means(t, m[1], m[2]), "%s has %s at line %s", m[1], m[3], m[2])
	}
	require.NoError(t, listing.Wait())
	require.Greater(t, fused, 20, "the listing shows too few to be one")
}

// fusedInstruction is a line of the compiler's listing that has one: the file, the line in it, and the instruction.
var fusedInstruction = regexp.MustCompile(`\(([^()]+):(\d+)\)\t(FN?M(?:ADD|SUB)[DS])\t`)

// means reports a line of a file that asks for a fused multiply-add.
func means(t *testing.T, file, number string) bool {
	t.Helper()
	if filepath.Base(file) == "fma_arm64.go" {
		return true
	}
	source, err := os.ReadFile(file)
	require.NoError(t, err)
	at, err := strconv.Atoi(number)
	require.NoError(t, err)
	line := strings.Split(string(source), "\n")[at-1]
	return strings.Contains(line, "math.FMA(") || strings.Contains(line, "fma32(")
}

// forARM64 is the environment of a command that compiles for arm64.
func forARM64() []string { return append(os.Environ(), "GOARCH=arm64", "CGO_ENABLED=0") }

// run runs a command for arm64 and gives what it says.
func run(t *testing.T, name string, args ...string) string {
	t.Helper()
	c := exec.Command(name, args...)
	c.Env = forARM64()
	out, err := c.CombinedOutput()
	require.NoError(t, err, string(out))
	return string(out)
}
