package jit_test

import (
	"fmt"
	"os"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tilec/jit"
	"tilec/jit/compile"
	"tilec/jit/graph"
	"tilec/jit/jittest"
	"tilec/jit/jittest/sweep"
	"tilec/jit/target"
	"tilec/lang"
	"tilec/typecheck/typed"
)

// windows are convolutions of which a block has each element of the image once for several taps.
const windows = `
kernel last<T: float>(x: T[N, H, W, C], w: T[O, R, S, C]) -> y: T[N, H, W, O] {
    y[n, h, v, o] = sum((x[n, h + r - R / 2, v + s - S / 2, c] else 0) * w[o, r, s, c], over (c, r, s)) as T
}

kernel first<T: float>(x: T[N, H, W, C], w: T[O, R, S, C]) -> y: T[N, O, H, W] {
    y[n, o, h, v] = sum(w[o, r, s, c] * (x[n, h + r - R / 2, v + s - S / 2, c] else 0), over (c, r, s)) as T
}

kernel across<T: float>(x: T[N, H, W, C], w: T[O, R, S, C]) -> y: T[N, W, H, O] {
    y[n, v, h, o] = sum((x[n, h + r - R / 2, v + s - S / 2, c] else 0) * w[o, r, s, c], over (c, r, s)) as T
}

kernel valid<T: float>(x: T[N, H, W, C], w: T[O, R, S, C]) -> y: T[N, H - R + 1, W - S + 1, O] {
    y[n, h, v, o] = sum(x[n, h + r, v + s, c] * w[o, r, s, c], over (c, r, s)) as T
}`

// Convolutions whose steps have several taps come out exactly: with places as rows and as columns of the product, windows along one axis and along both, beyond the borders of images, and where
// blocks are larger than images and have more channels than there are.
func TestWindows(t *testing.T) {
	machine, err := target.Find("sm_90a")
	require.NoError(t, err)
	program, problems := jit.Load("windows.tile", []byte(windows), nil)
	require.Empty(t, problems)
	k := jittest.Load(t, "windows.tile", windows)
	const n, h, w, c, o = 3, 11, 13, 64, 72
	for _, test := range []struct {
		of   string
		r, s int
		d    lang.DType
		pins map[string]int64
		lies string // the window
	}{
		{"last", 3, 3, lang.BF16, map[string]int64{"BN": 1, "BH": 8, "BV": 8, "BO": 128, "c": 64, "r": 1, "s": 3, "warps": 4, "stages": 3}, "{c 64, v 10 with s, h 8 with r, n 1} of bf16 swizzle 8"},
		{"valid", 3, 3, lang.F16, map[string]int64{"BN": 2, "BH": 8, "BV": 8, "BO": 128, "c": 32, "r": 3, "s": 3, "warps": 8, "stages": 2}, "{c 32, v 10 with s, h 10 with r, n 2} of f16 swizzle 4"},
		{"first", 3, 3, lang.F32, map[string]int64{"BN": 1, "BH": 8, "BV": 16, "BO": 128, "c": 16, "r": 3, "s": 1, "warps": 8, "stages": 3}, "{c 16, v 16, h 10 with r, n 1} of f32 swizzle 4"},
		{"first", 3, 3, lang.F32, map[string]int64{"BN": 1, "BH": 16, "BV": 8, "BO": 64, "c": 32, "r": 1, "s": 3, "warps": 4, "stages": 3}, "{c 32, v 10 with s, h 16, n 1} of f32 swizzle 8"},
		{"last", 3, 3, lang.F32, map[string]int64{"BN": 1, "BH": 16, "BV": 8, "BO": 64, "c": 16, "r": 3, "s": 3, "warps": 4, "stages": 2}, "{c 16, v 10 with s, h 18 with r, n 1} of f32 swizzle 4"},
		{"last", 3, 3, lang.BF16, map[string]int64{"BN": 2, "BH": 16, "BV": 8, "BO": 64, "c": 32, "r": 1, "s": 3, "warps": 4, "stages": 4, "persist": 2}, "{c 32, v 10 with s, h 16, n 2} of bf16 swizzle 4"},
		{"across", 3, 3, lang.BF16, map[string]int64{"BN": 1, "BH": 16, "BV": 8, "BO": 64, "c": 32, "r": 1, "s": 3, "warps": 4, "stages": 3}, "v 10 with s"},
		{"valid", 5, 3, lang.F32, map[string]int64{"BN": 2, "BH": 8, "BV": 8, "BO": 64, "c": 32, "r": 1, "s": 3, "warps": 4, "stages": 2}, "32, v 10 with s, h 8, n 2} of f32 swizzle 8"},
		{"last", 3, 5, lang.F16, map[string]int64{"BN": 1, "BH": 2, "BV": 64, "BO": 64, "c": 32, "r": 1, "s": 5, "warps": 8, "stages": 3}, "{c 32, v 68 with s, h 2, n 1} of f16 swizzle 4"},
	} {
		about := fmt.Sprintf("%s of %s %dx%d %v", test.of, test.d, test.r, test.s, test.pins)
		f, err := jit.FindFunction(program, test.of)
		require.NoError(t, err)
		s, err := jit.Specialise(f.Kernel, jit.Options{Pins: test.pins, Types: map[string]lang.DType{"T": test.d},
			Dims: map[string]int64{"N": n, "H": h, "W": w, "C": c, "O": o, "R": int64(test.r), "S": int64(test.s)}})
		require.NoError(t, err, about)
		l, err := compile.Lower(s, machine, nil)
		require.NoError(t, err, about)
		text, err := l.Block()
		require.NoError(t, err, about)
		assert.Contains(t, text, test.lies, about)
		assert.Contains(t, text, "by wgmma", about)

		x, weights := small(test.d, n, h, w, c), small(test.d, o, int64(test.r), int64(test.s), c)
		y := k.Run(t, test.of, jit.Options{Pins: test.pins}, x, weights)[0]
		xs, ws, ys := x.Floats(), weights.Floats(), y.Floats()
		height, width, up, left := h, w, test.r/2, test.s/2
		switch test.of {
		case "valid":
			height, width, up, left = h-test.r+1, w-test.s+1, 0, 0
		}
		got := jittest.NewArray(test.d, 1)
		for i := range n * height * width * o {
			image, row, column, channel := i/o/width/height, i/o/width%height, i/o%width, i%o
			switch test.of {
			case "first":
				image, channel, row, column = i/width/height/o, i/width/height%o, i/width%height, i%width
			case "across":
				column, row = i/o/height%width, i/o%height
			}
			sum := 0.0
			for r := range test.r {
				for s := range test.s {
					if y, x := row+r-up, column+s-left; y >= 0 && y < h && x >= 0 && x < w {
						for ch := range c {
							sum += xs[((image*h+y)*w+x)*c+ch] * ws[((channel*test.r+r)*test.s+s)*c+ch]
						}
					}
				}
			}
			got.SetFloat(0, sum) // as the result's type has it
			if want := got.Floats()[0]; ys[i] != want {
				require.Equal(t, want, ys[i], "%s: image %d, row %d, column %d, channel %d", about, image, row, column, channel)
			}
		}
	}
}

// The planner gives steps several taps where that is predicted to be faster: of few channels, whose image would be read for each tap. Where the window moves by two places, steps have one.
func TestPlannerKeepsWindows(t *testing.T) {
	sweep.Once(t)
	program, problems := jit.Load("windows.tile", []byte(windows+`
kernel strided(x: bf16[N, H, W, C], w: bf16[O, R, S, C]) -> y: bf16[N, H / 2, W / 2, O] {
    y[n, h, v, o] = sum((x[n, 2 * h + r - R / 2, 2 * v + s - S / 2, c] else 0) * w[o, r, s, c], over (c, r, s)) as bf16
}`), nil)
	require.Empty(t, problems)
	machine, err := target.Find("sm_90a")
	require.NoError(t, err)
	for of, kept := range map[string]bool{"last": true, "first": true, "strided": false} {
		f, err := jit.FindFunction(program, of)
		require.NoError(t, err)
		o := jit.Options{Dims: map[string]int64{"N": 10, "H": 224, "W": 224, "C": 64, "O": 64, "R": 3, "S": 3}}
		if of != "strided" {
			o.Types = map[string]lang.DType{"T": lang.F32}
		}
		s, err := jit.Specialise(f.Kernel, o)
		require.NoError(t, err)
		l, err := compile.Lower(s, machine, nil)
		require.NoError(t, err)
		text, err := l.Block()
		require.NoError(t, err)
		if assert.Contains(t, text, "by wgmma", of); kept {
			assert.Regexp(t, "h [0-9]+ with r|v [0-9]+ with s", text, of)
		} else {
			assert.NotRegexp(t, "with r|with s", text, of)
		}
	}
}

// A launch of several convolutions, and of what puts their images together, has more axes than can be gone through for each window: its plan comes in a second, and not in minutes.
func TestWindowsBesideOthers(t *testing.T) {
	sweep.Once(t)
	text, err := os.ReadFile("../bench/beyond/networks.tile")
	require.NoError(t, err)
	program, problems := jit.Load("networks.tile", text, nil)
	require.Empty(t, problems)
	g := program.Graphs[slices.IndexFunc(program.Graphs, func(g *typed.Graph) bool { return g.Name == "inception" })]
	d, err := jit.OpenDevice("emu")
	require.NoError(t, err)
	defer d.Close()
	b, err := graph.BindSizes(&jit.NewCompiler(d, nil).Compiler, g, jit.Options{Dims: map[string]int64{"B": 10, "C": 480, "O1": 192, "R3": 96, "O3": 208, "R5": 16, "O5": 48, "OP": 64, "H": 224, "W": 224}})
	require.NoError(t, err)
	defer b.Free(d)
	last := b.Calls[len(b.Calls)-1].Spec
	assert.Contains(t, last.Name(), "conv_bias > conv_bias > cat_channels4")
}

// Windows of windows are one launch where that is predicted to be faster, and two elsewhere.
func TestWindowsOfWindows(t *testing.T) {
	sweep.Once(t)
	const source = `
kernel most<const K: int>(x: f32[B, D, H, W]) -> y: f32[B, D / K, H / K, W / K] {
    axis q in K
    axis r in K
    axis s in K
    y[n, d, h, v] = max(x[n, K * d + q, K * h + r, K * v + s] else -inf, over (q, r, s))
}

graph g(x: f32[B, D, H, W]) -> y: f32[B, D / 2 / 3, H / 2 / 3, W / 2 / 3] { y = most(most(x, K = 2), K = 3) }`
	program, problems := jit.Load("pools.tile", []byte(source), nil)
	require.Empty(t, problems)
	d, err := jit.OpenDevice("emu")
	require.NoError(t, err)
	defer d.Close()
	for size, launches := range map[int64]int{64: 2, 6: 1} {
		b, err := graph.BindSizes(&jit.NewCompiler(d, nil).Compiler, program.Graphs[0], jit.Options{Dims: map[string]int64{"B": 1024, "D": size, "H": size, "W": size}})
		require.NoError(t, err)
		assert.Len(t, b.Calls, launches, "%d", size)
		b.Free(d)
	}
}
