package ir

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tilec/lang"
)

const verifyHead = `kernel @k {
  dim N = ?
  dim K = 8
  tensor %x : in f32[N, K]
  tensor %y : out f32[N]
  axis i : grid N by B = ?
  axis b : grid scalar N
  axis k : loop N by BK = ?
  axis d : whole K[0 .. 8]
body:
  %0 = const 0 : i32
  %1 = size N : i32
  %2 = index i : i32{i}
  %3 = index d : i32{d}
  %4 = load %x[%2, %3] : f32{i, d}
  %5 = const 0 : f32
`

// Of a tensor that is split over blocks, each has the part of a loop's positions that it goes through, and no other index reaches that.
func TestTensorsOfBlocksThatShareALoop(t *testing.T) {
	const head = `kernel @k {
  dim N = 1000
  dim n256 = 256
  tensor %x : in f32[N]
  tensor %kept.x : shared f32[n256] align 256 split 4
  axis k : loop N by 64 split 4
  axis m : loop N by 128 split 4
  axis n : loop N by 64
body:
  %0 = const 0 : i32
  %1 = const 1000 : i32
`
	for body, want := range map[string]string{
		"for k from %0 to %1 pos %2 { %3 = index k : i32{k} %4 = load %x[%3] : f32{k} store %kept.x[%3] = %4 }":                      "",
		"for m from %0 to %1 pos %2 { %3 = index m : i32{m} %4 = load %x[%3] : f32{m} store %kept.x[%3] = %4 }":                      "",
		"for n from %0 to %1 pos %2 { %3 = index n : i32{n} %4 = load %x[%3] : f32{n} store %kept.x[%3] = %4 }":                      "4 blocks have 256 positions each, and not those of the loop over n",
		"%5 = const 700 : i32 for k from %0 to %5 pos %2 { %3 = index k : i32{k} %4 = load %x[%3] : f32{k} store %kept.x[%3] = %4 }": "4 blocks have 256 positions each, and not those of the loop over k",
		"%2 = load %x[%0] : f32 store %kept.x[%0] = %2":                                                                              "blocks have the parts of a loop, and %0 is no position of one",
	} {
		f, err := parse("t", head+body+"\n}")
		require.NoError(t, err, body)
		again, err := parse("t", f.String())
		require.NoError(t, err)
		assert.Equal(t, f.String(), again.String())
		if err = Verify(f); want == "" {
			assert.NoError(t, err, body)
		} else {
			assert.ErrorContains(t, err, want, body)
		}
		Unshare(f)
		assert.False(t, f.Tensors[1].Shared)
		assert.EqualValues(t, 1024, f.Tensors[1].Shape[0].Value)
	}
	for _, tensor := range []string{"in f32[N] split 4", "shared f32[n256] split 1", "shared f32[] split 4"} {
		_, err := parse("t", "kernel @k {\n  dim N = 8\n  dim n256 = 256\n  tensor %x : "+tensor+"\nbody:\n}")
		assert.ErrorContains(t, err, "shared memory with dimensions is split over 2 blocks or more", tensor)
	}
}

func TestVerifyNamesTheOperation(t *testing.T) {
	for body, want := range map[string]string{
		"%6 = sum %4 over d : f32{d}":                                  "sum: %6 is f32{d}, should be f32{i} in `%6 = sum %4 over d : f32{d}`",
		"%6 = add %4, %0 : f32{i, d}":                                  "add: mixes f32 and i32 in",
		"%6 = index k : i32{k}":                                        "index: uses loop axis k outside its for in",
		"%6 = index b : i32{b}":                                        "index: has scalar axis b in a tile",
		"%6 = start k : i32":                                           "start: needs a declared axis that is in scope here",
		"store %x[%2, %3] = %4":                                        "store: writes x, which is read-only",
		"store %y[%2] = %4":                                            "store: value has axis d, which no index has",
		"%6 = load %x[?%2, %3] : f32{i, d}":                            "load: a load has an else value exactly when an index is checked",
		"%6 = const 8 : i32\n%7 = load %x[%0, %6] : f32":               "load: unchecked index 1 spans 8 to 8, dimension K has 8",
		"for i from %0 to %1 pos %6 { }":                               "for: walks i, which is a grid axis",
		"for k from %0 to %1 pos %6 {}\nfor k from %0 to %1 pos %7 {}": "for: walks k, which another for walks",
		"%9 = for k from %0 to %1 with (%6 = %5) pos %7 : (f32) { %8 = index k : i32{k} yield %8 }":                                                                   "for: carried value 0 is f32, starts as f32 and becomes i32{k}",
		"%9 = for k from %0 to %1 with (%6 = %5) pos %7 : (f32) { yield %6 }\n%8 = neg %6 : f32":                                                                      "neg: argument 0, %6, is not defined here",
		"for k from %0 to %1 pos %7 { %8 = neg %5 : f32 }\n%9 = neg %8 : f32":                                                                                         "neg: argument 0, %8, is not defined here",
		"%6 = const true : bool\n%7 = if %6 : (f32) { yield %5 } else { yield %0 }":                                                                                   "if: value 0 is f32 or i32",
		"%6 = full %5 : f32{i}\n%7 = rename %6 from i to d : f32{d}":                                                                                                  "rename: axes i and d are not whole axes of one length",
		"for k from %0 to %1 pos %6 { %7 = index k : i32{k} %8 = full %5 : f32{k} %9 = load %x[%7, %3] : f32{k, d} %10 = dot %8, %9 over k precision fast : f32{d} }": "dot: precision \"fast\" is not tf32, ieee or tf32x3",
		"%6 = take %4[i = %0] : f32{d}":                     "take: takes from i, which is a grid axis: a block has only a part of it",
		"%6 = const 8 : i32\n%7 = take %4[d = %6] : f32{i}": "take: position 8 along d, which has 0 to 7",
		"%6 = take %4[d = %5] : f32{i}":                     "take: position of type f32 along d, needs i32",
		"%6 = take %4[d = %0, d = %0] : f32{i}":             "take: has axis d twice",
		"%6 = take %5[d = %0] : f32":                        "take: takes from axis d, which f32 has not",
		"for k from %0 to %1 pos %6 { %7 = size K : f32 }":  "size: %7 is f32, should be i32",

		"%9 = reduce %4 from %5 over d by (%6, %7) : (f32{d}) { %8 = add %6, %7 : f32 yield %8 }":  "reduce: %9 is f32{d}, should be f32{i}",
		"%9 = reduce %4 from %0 over d by (%6, %7) : (f32{i}) { yield %6 }":                        "reduce: operand 0 is f32{i, d}, its identity i32",
		"%9 = reduce %4 from %5 over k by (%6, %7) : (f32{i}) { yield %6 }":                        "reduce: uses loop axis k outside its for",
		"%9 = reduce %2 from %0 over d by (%6, %7) : (i32{i}) { yield %6 }":                        "reduce: goes along d, which no operand has",
		"%9 = reduce %4 from %5 over i, d by (%6, %7) : (f32) { yield %6 }":                        "reduce: needs exactly one axis",
		"%9 = reduce %4 from %5 over d reverse by (%6, %7) : (f32{i}) { yield %6 }":                "reduce: only a scan, a loop and an exclusive join are reversed",
		"%9 = scan %4 from %5 over d by (%6, %7) : (f32{i, d}) { %8 = add %6, %5 : f32 yield %8 }": "add: argument 1, %5, is not defined here",
		"%9 = scan %4 from %5 over d by (%6, %7) : (f32{i, d}) { %8 = gt %6, %7 : bool yield %8 }": "scan: operand 0 is f32{i, d}, its function gives bool",
		"%9 = scan %4 from %5 over d by (%6, %7) : (f32{i, d}) { %8 = size N : i32 yield %6 }":     "scan: its function is not of elementwise operations alone: `%8 = size N : i32`",
		"%9 = scan %4 from %5 using %2 over d by (%6, %7, %8) : (f32{i, d}) { yield %6 }":          "scan: parameter 2 is i32, its argument i32{i}",
		"for from %0 to %1 reverse pos %6 { }":                                                     "for: only a loop over an axis is reversed",
	} {
		f, err := parse("t", verifyHead+body+"\n}")
		require.NoError(t, err, body)
		err = Verify(f)
		if assert.Error(t, err, body) {
			assert.Contains(t, err.Error(), want)
		}
	}
}

func TestVerifyDeclarations(t *testing.T) {
	for decl, want := range map[string]string{
		"axis d : whole [0 .. 3] axis i : grid N by 4": "axis i: grid axes must come before the others",
		"axis d : whole N[0 .. 3]":                     "axis d: a whole axis needs a known dimension, N is not",
		"dim K = 2 axis d : whole K[0 .. 3]":           "axis d: range [0 .. 3] leaves dimension K of 2",
		"tensor %x : in f32[N] strides []":             "tensor x: 0 strides for 1 dimensions",
		"tensor %x : in f32[N] align 12":               "tensor x: alignment 12 is not a power of two",
		"axis d : whole scalar N[0 .. 1]":              "axis d: a whole axis cannot be scalar",
		"scalar %0 : f32{i}":                           "axis i is not declared",
		"tensor %w : scratch f32[N]":                   "dimension N of scratch memory is only known at launch",
		"axis e : whole [0 .. 6] edges of 64":          "only more than 64 are abbreviated",
		"axis e : whole [0 .. 7] edges of 70":          "a whole axis of 6",
		"axis i : grid N by 4 scalar %0 : f32{i}":      "scalar %0 is f32{i}",
		"tensor %t : in i64[N] axis e : grid scalar N axis i : grid N by 4 over ranges of e from %t[0] to ?":                                                       "axis i: ranges are read from tensors of one dimension, of i32",
		"tensor %t : in i32[N] axis e : grid scalar N axis i : grid N by 4 over ranges of e from ? to %t[0] axis j : grid N by 4 over ranges of e from ? to %t[0]": "axis j: axis i goes through ranges in memory already",
		"tensor %t : in i32[N] axis e : grid N by 2 axis i : grid N by 4 over ranges of e from ? to %t[0]":                                                         "ranges are those of the positions of a scalar grid axis",
	} {
		f, err := parse("t", "kernel @k { dim N = ? "+decl+" body: }")
		if err == nil {
			err = Verify(f)
		}
		if assert.Error(t, err, decl) {
			assert.Contains(t, err.Error(), want)
		}
	}
}

// Faults that the text form cannot say.
func TestVerifyStructure(t *testing.T) {
	fresh := func() *Func {
		f, err := Parse("add", readFile(t, "testdata/add.tir"))
		require.NoError(t, err)
		return f
	}
	for want, breakIt := range map[string]func(*Func){
		"add: argument 0, %1, is not defined here in `%3 = add %1, %2 : f32{i}`": func(f *Func) { f.Body.Ops[1], f.Body.Ops[3] = f.Body.Ops[3], f.Body.Ops[1] },
		"%1 is defined twice":                          func(f *Func) { f.Body.Ops[2].Results[0].ID = 1 },
		"dimension \"N\": name is empty or used twice": func(f *Func) { f.Dims = append(f.Dims, &Dim{Name: "N"}) },
		"load: dimension M is not declared":            func(f *Func) { f.Body.Ops[1].Dim = &Dim{Name: "M"} },
		"tensor x is not declared":                     func(f *Func) { f.Tensors = f.Tensors[1:] },
		"uses an axis that is not declared":            func(f *Func) { f.Axes = nil },
		"%3 was not made by NewValue":                  func(f *Func) { f.nextID = 3 },
		"%3 is defined by another operation":           func(f *Func) { f.Body.Ops[3].Results[0].Def = nil },
		"add: has 1 blocks, needs 0":                   func(f *Func) { f.Body.Ops[3].Blocks = []*Block{{}} },
		"index: argument 0, %?, is not defined here":   func(f *Func) { f.Body.Ops[0].Args = []*Value{nil} },
		"for: has 0 blocks, needs 1":                   func(f *Func) { f.Body.Ops[0] = &Op{Code: lang.OpFor} },
	} {
		f := fresh()
		breakIt(f)
		err := Verify(f)
		if assert.Error(t, err, want) {
			assert.Contains(t, err.Error(), want)
		}
	}
}
