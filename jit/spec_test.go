package jit

import (
	"runtime"
	"testing"
	"weak"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tilec/jit/backend/cpu"
	"tilec/jit/compile"
	"tilec/jit/spec"
	"tilec/lang"
	"tilec/typecheck/size"
	"tilec/typecheck/typed"
)

// Plans are made for the largest of the sizes of a class: a power of two up to 16, and three between each and the next from there on.
func TestClassesOfSizes(t *testing.T) {
	for n, class := range map[int64]int64{1: 1, 3: 4, 12: 16, 14: 16, 17: 20, 28: 28, 56: 56, 57: 64, 65: 80, 100: 112, 112: 112, 1000: 1024, 1025: 1280, 50257: 57344, 1 << 31: 1 << 31, 1<<31 + 1: 5 << 29} {
		assert.Equal(t, class, spec.Class(n), "%d", n)
	}
	for n, before := int64(1), int64(0); n < 5000; n++ {
		class := spec.Class(n)
		assert.GreaterOrEqual(t, class, max(n, before))
		assert.Equal(t, class, spec.Class(class), "the largest of a class is of that class")
		before = class
	}
}

// Two launches that differ in anything that code depends on have different
// keys; those that differ in a size that is a parameter of the launch share one.
func TestKeyTellsSpecialisationsApart(t *testing.T) {
	T := &typed.TypeParam{Name: "T"}
	c, m, n := &size.Symbol{Name: "C"}, &size.Symbol{Name: "M"}, &size.Symbol{Name: "N"}
	k := &typed.Kernel{Name: "k", TypeParams: []*typed.TypeParam{T}, Consts: []*size.Symbol{c}, Dims: []*size.Symbol{m, n},
		Params: []*typed.Param{{Name: "x", IsTensor: true, Shape: []size.Size{size.Of(m), size.Of(n)}}}}
	key := func(change func(*spec.Spec)) spec.Key {
		s := &spec.Spec{Kernel: k, Types: map[*typed.TypeParam]lang.DType{T: lang.F32},
			Consts:  map[*size.Symbol]lang.Literal{c: {DType: lang.F32, Float: 1}},
			Dims:    map[*size.Symbol]int64{m: 100, n: 100},
			Layouts: []spec.Layout{{Inner: 1, Divisors: []int64{16, 1}, Align: 16}}, Pins: map[string]int64{"BM": 16}}
		change(s)
		return s.Key()
	}
	same := key(func(*spec.Spec) {})
	for name, change := range map[string]func(*spec.Spec){
		"kernel":         func(s *spec.Spec) { other := *k; s.Kernel = &other },
		"element type":   func(s *spec.Spec) { s.Types[T] = lang.BF16 },
		"float constant": func(s *spec.Spec) { s.Consts[c] = lang.Literal{DType: lang.F32, Float: 1.5} },
		"int constant":   func(s *spec.Spec) { s.Consts[c] = lang.Literal{DType: lang.I32, Int: 1} },
		"innermost size": func(s *spec.Spec) { s.Dims[n] = 101 },
		"outer size":     func(s *spec.Spec) { s.Dims[m] = 200 },
		"contiguity":     func(s *spec.Spec) { s.Layouts[0].Contiguous = true },
		"inner stride":   func(s *spec.Spec) { s.Layouts[0].Inner = 0 },
		"divisors":       func(s *spec.Spec) { s.Layouts[0].Divisors = []int64{8, 1} },
		"alignment":      func(s *spec.Spec) { s.Layouts[0].Align = 4 },
		"pin":            func(s *spec.Spec) { s.Pins["BM"] = 32 },
		"precision":      func(s *spec.Spec) { s.Precision = "tf32x3" },
		"exactness":      func(s *spec.Spec) { s.Precision = "ieee" },
	} {
		assert.False(t, same == key(change), name)
	}
	assert.NotEqual(t, key(func(s *spec.Spec) { s.Precision = "tf32x3" }), key(func(s *spec.Spec) { s.Precision = "" }))
	assert.Equal(t, same, key(func(s *spec.Spec) { s.Dims[m] = 99 }), "an outer size of the same power of two")
}

// What is compiled keeps its kernel, also where it could not be compiled: another one that came to lie at its
// address would be taken for it.
func TestCompiledKernelsStay(t *testing.T) {
	c := NewCompiler(cpu.Open(), nil)
	compiled := func() weak.Pointer[typed.Kernel] {
		program, ds := Load("k.tile", []byte("kernel k(x: f32[N]) -> y: f32[N] {\n    y[i] = x[i]\n}\n"), nil)
		require.Empty(t, ds)
		k := program.Kernels[0]
		_, _ = compile.All(&c.Compiler, []*spec.Spec{{Kernel: k}}, c.Device) // without a size
		return weak.Make(k)
	}
	kernel := compiled()
	runtime.GC()
	runtime.GC()
	assert.NotNil(t, kernel.Value())
	runtime.KeepAlive(c)
}
