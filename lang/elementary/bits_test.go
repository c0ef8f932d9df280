package elementary_test

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"math"
	"math/rand/v2"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tilec/lang"
)

// bits is, of each function, the start of a hash of its results at manyArguments. They were
// computed on amd64; every processor has to have the same:
//
//	GOARCH=arm64 go test -exec qemu-aarch64 ./lang/elementary
var bits = map[lang.Op]string{
	lang.OpExp: "1d07e08e15826dc0", lang.OpExp2: "000b83a7b9bd9538", lang.OpExpm1: "42c5eb00494a7b4c", lang.OpLog: "545c58092558503b",
	lang.OpLog2: "4284a5ca49dbf397", lang.OpLog1p: "2866109450bce67d", lang.OpSin: "474d0edebea24537", lang.OpCos: "8fd871d76fe5854a",
	lang.OpTan: "47b2bb197daf81d8", lang.OpSinh: "dc4fdfd781dd0919", lang.OpCosh: "5e63985c79c15bcc", lang.OpTanh: "4632bee007846957",
	lang.OpErf: "77fa49caa965b0ed", lang.OpSigmoid: "150b8ef1509ef127", lang.OpPow: "583393ec6220d88f", lang.OpAtan2: "7d668433928d6126",
}

const manyArguments = 1 << 16

// TestBits compares the bits of every function with those of another processor. It fails where one product is fused
// with a sum behind it.
func TestBits(t *testing.T) {
	for _, f := range functions {
		r := rand.New(rand.NewPCG(7, uint64(len(f.op.String()))))
		h := sha256.New()
		for range manyArguments {
			v := f.of(f.portable(r), f.portable(r))
			if v != v {
				v = 0 // which NaN it is no program can tell
			}
			h.Write(binary.LittleEndian.AppendUint64(nil, math.Float64bits(v)))
		}
		got := hex.EncodeToString(h.Sum(nil)[:8])
		assert.Equal(t, bits[f.op], got, "%s: a function that is meant to be another needs its new bits here", f.op)
	}
}

// portable is an argument that is made without anything that a processor could round in its own way.
func (f function) portable(r *rand.Rand) float64 {
	u := float64(int64(r.Uint64())>>11) * 0x1p-52 // from -1 to 1
	switch r.IntN(4) {
	case 0:
		return math.Float64frombits(r.Uint64())
	case 1: // where exponential functions are neither 0 nor infinite
		return float64(u * 700)
	case 2:
		return float64(u * 4)
	}
	return 1 + math.Ldexp(u, -r.IntN(50))
}

// rounding is what package math computes in a way of its own on some processors, and package rand with it.
var rounding = map[string]string{
	"math": " Acos Acosh Asin Asinh Atan Atan2 Atanh Cbrt Cos Cosh Erf Erfc Erfcinv Erfinv Exp Exp2 Expm1 Gamma Hypot J0 J1 Jn Lgamma" +
		" Log Log10 Log1p Log2 Pow Pow10 Sin Sincos Sinh Tan Tanh Y0 Y1 Yn ",
	"math/cmplx":   "*",
	"math/rand":    " NormFloat64 ExpFloat64 ",
	"math/rand/v2": " NormFloat64 ExpFloat64 ",
}

// apart are the folders that compute no results of programs: judges, whose bounds leave room for a last bit, and measurements.
var apart = map[string]bool{"jit/fuzz": true, "jit/jittest": true, "bench": true}

// TestNobodyCallsPackageMath finds what would give results of a program that depend on the processor.
func TestNobodyCallsPackageMath(t *testing.T) {
	const root = "../.."
	files := 0
	require.NoError(t, filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		require.NoError(t, err)
		name, err := filepath.Rel(root, path)
		require.NoError(t, err)
		switch {
		case entry.IsDir() && (apart[filepath.ToSlash(name)] || name != "." && strings.HasPrefix(entry.Name(), ".") || entry.Name() == "testdata" || entry.Name() == "node_modules"):
			return filepath.SkipDir
		case entry.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go"):
			return nil
		}
		files++
		for _, call := range roundingCalls(t, path) {
			t.Errorf("%s differs between processors: use package lang/elementary", call)
		}
		return nil
	}))
	require.Greater(t, files, 300)
}

// roundingCalls lists the uses of what is in rounding, with their places.
func roundingCalls(t *testing.T, path string) (calls []string) {
	places := token.NewFileSet()
	file, err := parser.ParseFile(places, path, nil, 0)
	require.NoError(t, err)
	packages := map[string]string{}
	for _, i := range file.Imports {
		of, err := strconv.Unquote(i.Path.Value)
		require.NoError(t, err)
		name := strings.TrimSuffix(of, "/v2")
		name = name[strings.LastIndex(name, "/")+1:]
		if i.Name != nil {
			name = i.Name.Name
		}
		packages[name] = of
	}
	ast.Inspect(file, func(n ast.Node) bool {
		s, ok := n.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		of, ok := s.X.(*ast.Ident)
		if !ok {
			return true
		}
		names := rounding[packages[of.Name]]
		method := strings.Contains(rounding["math/rand"], " "+s.Sel.Name+" ")
		if names == "*" || strings.Contains(names, " "+s.Sel.Name+" ") || method {
			calls = append(calls, places.Position(s.Pos()).String()+": "+of.Name+"."+s.Sel.Name)
		}
		return true
	})
	return calls
}
