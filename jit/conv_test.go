package jit_test

import (
	"context"
	"fmt"
	"maps"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tilec/jit"
	"tilec/jit/block"
	"tilec/jit/compile"
	"tilec/jit/cuda"
	"tilec/jit/emu"
	"tilec/jit/jittest"
	"tilec/jit/jittest/sweep"
	"tilec/jit/target"
	"tilec/lang"
	"tilec/typecheck/typed"
)

// convolutions are written as formulas: with channels last, and with rows and columns last.
const convolutions = `
kernel last<T: float>(x: T[N, H, W, C], w: T[O, R, S, C]) -> y: f32[N, H, W, O] {
    y[n, h, v, o] = sum((x[n, h + r - R / 2, v + s - S / 2, c] else 0) * w[o, r, s, c], over (c, r, s))
}

kernel first<T: float>(x: T[N, C, H, W], w: T[O, C, R, S]) -> y: f32[N, O, H, W] {
    y[n, o, h, v] = sum((x[n, c, h + r - R / 2, v + s - S / 2] else 0) * w[o, c, r, s], over (c, r, s))
}

kernel valid<T: float>(x: T[N, H, W, C], w: T[O, R, S, C]) -> y: f32[N, H - R + 1, W - S + 1, O] {
    y[n, h, v, o] = sum(x[n, h + r, v + s, c] * w[o, r, s, c], over (c, r, s))
}

kernel strided<T: float>(x: T[N, H, W, C], w: T[O, R, S, C]) -> y: f32[N, H / 2, W / 2, O] {
    y[n, h, v, o] = sum((x[n, 2 * h + r - R / 2, 2 * v + s - S / 2, c] else 0) * w[o, r, s, c], over (c, r, s))
}

kernel turned<T: float>(x: T[N, H, W, C], w: T[O, R, S, C]) -> y: f32[N, H, W, O] {
    y[n, h, v, o] = sum(w[o, r, s, c] * (x[n, h + r - R / 2, v + s - S / 2, c] else 0), over (c, r, s))
}

kernel bytes(x: i8[N, H, W, C], w: i8[O, R, S, C]) -> y: i32[N, H, W, O] {
    y[n, h, v, o] = sum((x[n, h + r - R / 2, v + s - S / 2, c] else 0) * w[o, r, s, c], over (c, r, s))
}

@approx
kernel octets(x: f8e4m3[N, H, W, C], w: f8e4m3[O, R, S, C]) -> y: f32[N, H, W, O] {
    y[n, h, v, o] = sum((x[n, h + r - R / 2, v + s - S / 2, c] else 0) * w[o, r, s, c], over (c, r, s))
}

@precision(ieee)
kernel whole(x: f32[N, H, W, C], w: f32[O, R, S, C]) -> y: f32[N, H, W, O] {
    y[n, h, v, o] = sum((x[n, h + r - R / 2, v + s - S / 2, c] else 0) * w[o, r, s, c], over (c, r, s))
}`

// small is whole numbers of few bits, the same of each place, so that every sum is exact.
func small(d lang.DType, shape ...int64) *jittest.Array {
	x := jittest.NewArray(d, shape...)
	n := 1
	for _, s := range shape {
		n *= int(s)
	}
	for i := range n {
		x.SetFloat(i, float64((i*7+i/5+i/31)%5-2))
	}
	return x
}

// Convolutions come out exactly, whatever cuts them: at the borders of images, where channels are no multiple of a step, and where blocks are
// larger than images.
func TestConvolutions(t *testing.T) {
	k := jittest.Load(t, "conv.tile", convolutions)
	each := 1
	if jittest.OnEmulator(t) {
		each = sweep.OneIn(2)
	}
	for _, c := range []struct {
		n, h, w, c, o, r, s int
		pins                map[string]int64
	}{
		{2, 9, 10, 64, 64, 3, 3, map[string]int64{"BN": 1, "BH": 8, "BV": 8, "BO": 64, "c": 64, "r": 1, "s": 1, "warps": 4, "stages": 3}},
		{3, 6, 7, 128, 72, 3, 3, map[string]int64{"BN": 4, "BH": 4, "BV": 8, "BO": 64, "c": 64, "r": 1, "s": 1, "warps": 8, "stages": 4}},
		{2, 5, 5, 64, 16, 2, 3, map[string]int64{"BN": 2, "BH": 4, "BV": 8, "BO": 16, "c": 32, "r": 1, "s": 1, "warps": 4, "stages": 3}},
		{2, 6, 6, 20, 9, 3, 3, map[string]int64{"BN": 1, "BH": 4, "BV": 8, "BO": 16, "c": 16, "r": 1, "s": 1, "warps": 4, "stages": 3}},
		{1, 8, 8, 32, 16, 3, 3, nil},
	} {
		for d, names := range map[lang.DType][]string{
			lang.BF16: {"last", "first", "valid", "strided", "turned"}, lang.F32: {"last", "first", "valid", "strided", "turned", "whole"}, lang.I8: {"bytes"}, lang.F8E4M3: {"octets"},
		} {
			for i, name := range names {
				if (i+c.h+int(d))%each != 0 {
					continue
				}
				shape := []int64{int64(c.n), int64(c.h), int64(c.w), int64(c.c)}
				window := []int64{int64(c.o), int64(c.r), int64(c.s), int64(c.c)}
				at := func(b, h, v, ch int) int { return ((b*c.h+h)*c.w+v)*c.c + ch }
				tap := func(o, r, s, ch int) int { return ((o*c.r+r)*c.s+s)*c.c + ch }
				if name == "first" {
					shape = []int64{int64(c.n), int64(c.c), int64(c.h), int64(c.w)}
					window = []int64{int64(c.o), int64(c.c), int64(c.r), int64(c.s)}
					at = func(b, h, v, ch int) int { return ((b*c.c+ch)*c.h+h)*c.w + v }
					tap = func(o, r, s, ch int) int { return ((o*c.c+ch)*c.r+r)*c.s + s }
				}
				x, w := small(d, shape...), small(d, window...)
				pins := map[string]int64{"relayout": 1} // as images lie
				maps.Copy(pins, c.pins)
				y := k.Run(t, name, jit.Options{Pins: pins}, x, w)[0]
				xs, ws, ys := x.Floats(), w.Floats(), y.Floats()
				height, width, up, left, stride := c.h, c.w, c.r/2, c.s/2, 1
				switch name {
				case "valid":
					height, width, up, left = c.h-c.r+1, c.w-c.s+1, 0, 0
				case "strided":
					height, width, stride = c.h/2, c.w/2, 2
				}
				for b := range c.n {
					for h := range height {
						for v := range width {
							for o := range c.o {
								sum := 0.0
								for r := range c.r {
									for s := range c.s {
										if row, column := stride*h+r-up, stride*v+s-left; row >= 0 && row < c.h && column >= 0 && column < c.w {
											for ch := range c.c {
												sum += xs[at(b, row, column, ch)] * ws[tap(o, r, s, ch)]
											}
										}
									}
								}
								i := ((b*height+h)*width+v)*c.o + o
								if name == "first" {
									i = ((b*c.o+o)*height+h)*width + v
								}
								if ys[i] != sum {
									require.Equal(t, sum, ys[i], "%s of %s, %+v: image %d, row %d, column %d, channel %d", name, d, c, b, h, v, o)
								}
							}
						}
					}
				}
			}
		}
	}
}

// A convolution whose channels lie innermost is a product of boxes: one loop through channels and window, in whose steps a warp of its own copies
// boxes of the image, moved by the window and 0 beyond the border, and of the weights, and wgmma multiplies them: of any elements, f32 rounded by
// the copies, and whichever operand is written first. The planner counts on it.
func TestConvolutionsAreProductsOfBoxes(t *testing.T) {
	sweep.Once(t)
	program, problems := jit.Load("conv.tile", []byte(convolutions), nil)
	require.Empty(t, problems)
	machine, err := target.Find("sm_90a")
	require.NoError(t, err)
	of := map[string][]lang.DType{"last": {lang.BF16, lang.F32}, "turned": {lang.BF16, lang.F32}, "bytes": {lang.I8}, "octets": {lang.F8E4M3}}
	for _, k := range program.Kernels {
		for _, d := range of[k.Name] {
			for _, c := range []struct{ channels, size, window int64 }{{64, 56, 3}, {64, 56, 7}, {128, 28, 3}, {256, 14, 3}}[:4/sweep.OneIn(2)] {
				about := fmt.Sprint(k.Name, " ", d, " ", c)
				o := jit.Options{Dims: map[string]int64{
					"N": 32, "C": c.channels, "H": c.size, "W": c.size, "O": c.channels, "R": c.window, "S": c.window}}
				if k.Name == "last" || k.Name == "turned" {
					o.Types = map[string]lang.DType{"T": d}
				}
				s, err := jit.Specialise(k, o)
				require.NoError(t, err, about)
				l, err := compile.Lower(s, machine, nil)
				require.NoError(t, err, about)
				text, err := l.Block()
				require.NoError(t, err, about)
				assert.Regexp(t, `@ring .* produced`, text, about)
				assert.Contains(t, text, "by wgmma", about)
				assert.Equal(t, 1, strings.Count(text, "@ring "), "%s: one loop:\n%s", about, text)
				assert.Equal(t, d == lang.F32, strings.Count(text, "} tf32") == 2, "%s:\n%s", about, text)
				assert.Positive(t, l.Plan.Resident, "%s: blocks that the planner counts as of wgmma: %s", about, l.Plan)
			}
		}
	}
}

// What products of f32 read of an image and of weights is rounded to tf32, to nearest, by the copies for wgmma as by the instructions before mma.sync; with
// @precision(ieee) it is not. An operand times one weight that is 1, at one place of the window, is that operand.
func TestConvolutionsRoundToTF32(t *testing.T) {
	sweep.Once(t)
	const n, h, w, c, o = 2, 5, 9, 32, 64
	number := func(i int) float32 { // never between two numbers of tf32
		return (1 + float32(i*7919%8192*2+1)/32768) * float32((1+i%5)*(1-i%2*2))
	}
	array := func(at func(i int) float32, shape ...int64) *jittest.Array {
		x := jittest.NewArray(lang.F32, shape...)
		for i := range len(x.Data) / 4 {
			x.SetFloat(i, float64(at(i)))
		}
		return x
	}
	channel := func(of int) int { return (of*5 + 3) % c }
	const row, column = 2, 0 // the place of the window
	image, weights := array(number, n, h, w, c), array(func(i int) float32 {
		if i%c == channel(i/c/9) && i/c%9 == row*3+column {
			return 1
		}
		return 0
	}, o, 3, 3, c)
	// One position of the image is 1, in each channel of another image.
	ones := array(func(i int) float32 {
		if i/c%(h*w) == 2*w+4 && i%c == 7+i/c/(h*w) {
			return 1
		}
		return 0
	}, n, h, w, c)
	numbers := array(number, o, 3, 3, c)
	d, err := jit.OpenDevice("emu") // the CPU does not round
	require.NoError(t, err)
	defer d.Close()
	module, err := jit.NewCompiler(d, nil).Load("conv.tile", []byte(convolutions))
	require.NoError(t, err)
	call := func(kernel string, x, w *jittest.Array, pins map[string]int64) *jittest.Array {
		args := jit.Args{"x": x, "w": w}
		for name, n := range pins {
			args[name] = n
		}
		out, err := module.Call(kernel, args)
		require.NoError(t, err)
		return out["y"]
	}
	pins := map[string]int64{"BN": 1, "BH": 8, "BV": 8, "BO": 64, "c": 32, "r": 1, "s": 1, "warps": 4, "stages": 3}
	for _, as := range []struct {
		kernel string
		wgmma  int64
		round  func(float32) float32
	}{{"last", block.WgmmaAlways, tf32}, {"last", block.WgmmaNever, tf32}, {"whole", 0, func(x float32) float32 { return x }}} {
		pins["wgmma"] = as.wgmma
		if as.wgmma == 0 {
			delete(pins, "wgmma")
		}
		first := call(as.kernel, image, weights, pins)
		second := call(as.kernel, ones, numbers, pins)
		for i := range n * h * w * o {
			of, v, y, b := i%o, i/o%w, i/o/w%h, i/o/w/h
			want := float32(0)
			if at, to := y+row-1, v+column-1; at >= 0 && at < h && to >= 0 && to < w {
				want = as.round(number(((b*h+at)*w+to)*c + channel(of)))
			}
			require.Equal(t, float64(want), first.Float(i), "%s, wgmma=%d: image %d, row %d, column %d, channel %d", as.kernel, as.wgmma, b, y, v, of)
			want = 0
			if r, s := 2-y+1, 4-v+1; r >= 0 && r < 3 && s >= 0 && s < 3 {
				want = as.round(number(((of*3+r)*3+s)*c + 7 + b))
			}
			require.Equal(t, float64(want), second.Float(i), "%s, wgmma=%d: weights of channel %d, image %d, row %d, column %d", as.kernel, as.wgmma, of, b, y, v)
		}
	}
}

// tf32 is a number rounded to nearest at 10 bits of fraction.
func tf32(x float32) float32 {
	bits := math.Float32bits(x)
	return math.Float32frombits((bits + 0xfff + bits>>13&1) &^ 0x1fff)
}

// Where channels do not lie innermost, launches before the product's copy the operands so: of the kernel by itself, and in a graph, behind launches
// that make the operand and before those that read the result. That changes nothing of it.
func TestConvolutionsAreLaidOutAnew(t *testing.T) {
	sweep.Once(t)
	d, err := jit.OpenDevice("emu")
	require.NoError(t, err)
	defer d.Close()
	module, err := jit.NewCompiler(d, nil).Load("conv.tile", []byte(convolutions+`

@relayout(2)
kernel anew(x: bf16[N, C, H, W], w: bf16[O, C, R, S]) -> y: f32[N, O, H, W] {
    y[n, o, h, v] = sum((x[n, c, h + r - R / 2, v + s - S / 2] else 0) * w[o, c, r, s], over (c, r, s))
}

graph net(x: bf16[N, C, H, W], w: bf16[O, C, R, S]) -> y: f32[N, O, H, W] {
    y = anew(x + x, w) * 0.5
}`))
	require.NoError(t, err)
	x, w := small(lang.BF16, 2, 64, 9, 10), small(lang.BF16, 64, 64, 3, 3)
	args := func(relayout int) jit.Args {
		return jit.Args{"x": x, "w": w, "relayout": relayout, "BN": 1, "BH": 8, "BV": 8, "BO": 64, "c": 64, "r": 1, "s": 1, "warps": 4, "stages": 3}
	}
	as, err := module.Call("first", args(1))
	require.NoError(t, err)
	anew, err := module.Call("first", args(2))
	require.NoError(t, err)
	assert.Equal(t, as["y"].Data, anew["y"].Data)
	in, err := module.Call("net", jit.Args{"x": x, "w": w})
	require.NoError(t, err)
	assert.Equal(t, as["y"].Data, in["y"].Data)
}

// What reduces a convolution over its channels sees the places of an image as one dimension: they are two axes of the launch, and the convolution's image is laid out anew.
func TestProductsThatAreLookedAtInAnotherShape(t *testing.T) {
	sweep.Once(t)
	d, err := jit.OpenDevice("emu")
	require.NoError(t, err)
	defer d.Close()
	program, problems := jit.Load("conv.tile", []byte(`
kernel conv(x: f32[B, C, H, W], w: f32[O, C, 3, 3]) -> y: f32[B, O, H - 2, W - 2] {
    y[n, o, h, v] = sum(x[n, c, h + r, v + s] * w[o, c, r, s], over (c, r, s))
}

kernel least(x: f32[B, C, P]) -> y: f32[B, P] {
    y[n, p] = min(x[n, c, p], over c)
}

graph g(x: f32[B, C, H, W], w: f32[O, C, 3, 3]) -> y: f32[B, (H - 2) * (W - 2)] {
    y = least(view(conv(x, w), [B, O, (H - 2) * (W - 2)])) * 0.5
}`), nil)
	require.Empty(t, problems)
	x, w := small(lang.F32, 2, 64, 34, 67), small(lang.F32, 64, 64, 3, 3)
	run := func(separate bool) (y []byte, text string) {
		var args []jit.Value
		for _, a := range []*jittest.Array{x, w} {
			m, err := d.Alloc(int64(len(a.Data)))
			require.NoError(t, err)
			defer d.Free(m)
			require.NoError(t, d.Write(m, 0, a.Data))
			args = append(args, jit.TensorValue(&jit.Tensor{DType: lang.F32, Shape: a.Shape, Memory: m}))
		}
		p, err := jit.NewCompiler(d, nil).BindGraph(program.Graphs[0], args, jit.Options{Separate: separate, Dump: func(_ string, after lang.Listing) { text = after.String() }})
		require.NoError(t, err)
		defer p.Close()
		results, err := p.Run(args)
		require.NoError(t, err)
		y = make([]byte, results[0].Tensor.Bytes())
		require.NoError(t, jit.ReadTensor(d, results[0].Tensor, y))
		return y, text
	}
	apart, _ := run(true)
	one, text := run(false)
	assert.Equal(t, apart, one)
	assert.Equal(t, 2, strings.Count(text, "= relayout("), text)
	assert.Contains(t, text, ":f32[2, 32, 65] = conv > least > ")
}

// An instruction reads rows of an operand that lie side by side in shared memory, whatever axes the depth has besides: no bank is asked twice at once.
func TestOperandsOfWindowsShareNoBanks(t *testing.T) {
	e, err := jit.OpenEmulator("sm_90a")
	require.NoError(t, err)
	defer e.Close()
	var report emu.Report
	e.OnLaunch = func(_ string, r *emu.Report) { report = *r }
	module, err := jit.NewCompiler(e, nil).Load("conv.tile", []byte(`
kernel image(x: f32[N, H, W, C], w: f32[O, R, S, C]) -> y: f32[N, O, H - R + 1, W - S + 1] {
    y[n, o, h, v] = sum(x[n, h + r, v + s, c] * w[o, r, s, c], over (c, r, s))
}`))
	require.NoError(t, err)
	_, err = module.Call("image", jit.Args{"x": small(lang.F32, 1, 5, 66, 8), "w": small(lang.F32, 64, 3, 3, 8), "BN": 1, "BO": 64, "BH": 1, "BV": 64, "r": 1, "warps": 4, "stages": 3})
	require.NoError(t, err)
	read := 0
	for _, a := range report.Accesses {
		if strings.HasPrefix(a.Instruction, "ldmatrix") {
			read++
			assert.Equal(t, a.Ideal, a.Wavefronts, "%s, line %d of the PTX", a.Instruction, a.PTXLine)
		}
	}
	assert.Positive(t, read)
}

// Results of images whose rows begin anywhere go to memory in lines, whatever product makes them: as many sectors are written as they lie in, and the elements that they are.
func TestResultsOfImagesGoInLines(t *testing.T) {
	const source = `
kernel image(x: f32[N, H, W, C], w: f32[O, R, S, C]) -> y: f32[N, O, H - R + 1, W - S + 1] {
    y[n, o, h, v] = sum(x[n, h + r, v + s, c] * w[o, r, s, c], over (c, r, s))
}`
	program, problems := jit.Load("image.tile", []byte(source), nil)
	require.Empty(t, problems)
	machine, err := target.Find("sm_90a")
	require.NoError(t, err)
	k := jittest.Load(t, "image.tile", source)
	for _, c := range []struct {
		channels, columns, width, high, warps int64
		persist                               int64
		lines                                 bool
	}{
		{8, 64, 101, 2, 4, 0, true},  // by mma.sync
		{32, 64, 101, 1, 4, 0, true}, // by wgmma
		{32, 64, 101, 2, 8, 0, true},
		{32, 64, 101, 1, 4, 1, true}, // by blocks that stay
		{32, 64, 102, 1, 4, 0, false},
	} {
		about := fmt.Sprintf("%+v", c)
		pins := map[string]int64{"BN": 1, "BO": c.columns, "BH": c.high, "BV": 64, "c": min(c.channels, 32), "r": 1, "s": 1, "warps": c.warps, "stages": 4, "persist": c.persist}
		x, w := small(lang.F32, 2, 5, c.width, c.channels), small(lang.F32, 72, 3, 3, c.channels)
		s, err := jit.Specialise(program.Kernels[0], jit.Options{Dims: map[string]int64{"N": 2, "H": 5, "W": c.width, "C": c.channels, "O": 72, "R": 3, "S": 3}, Pins: pins})
		require.NoError(t, err, about)
		l, err := compile.Lower(s, machine, nil)
		require.NoError(t, err, about)
		text, err := l.Block()
		require.NoError(t, err, about)
		require.Equal(t, c.lines, strings.Contains(text, " lines "), "%s: %s", about, text)
		y := k.Run(t, "image", jit.Options{Pins: pins}, x, w)[0]
		wide, deep := int(c.width), int(c.channels)
		for place := range len(y.Data) / 4 {
			v, h := place%(wide-2), place/(wide-2)%3
			o, n := place/(wide-2)/3%72, place/(wide-2)/3/72
			sum := 0.0
			for tap := range 9 {
				for ch := range deep {
					sum += x.Float(((n*5+h+tap/3)*wide+v+tap%3)*deep+ch) * w.Float((o*9+tap)*deep+ch)
				}
			}
			require.Equal(t, sum, y.Float(place), "%s: %d of %d", about, place, len(y.Data)/4)
		}
	}
}

// Convolutions with channels first gain by the copies, of many images and of one; one that the setting keeps as it is has none.
func TestWhichConvolutionsAreLaidOutAnew(t *testing.T) {
	sweep.Once(t)
	d, err := jit.OpenDevice("emu")
	require.NoError(t, err)
	defer d.Close()
	program, problems := jit.Load("conv.tile", []byte(convolutions), nil)
	require.Empty(t, problems)
	launches := func(kernel int, elements lang.DType, images int64, pins map[string]int64) (text string) {
		var args []jit.Value
		for _, shape := range [][]int64{{images, 64, 56, 56}, {64, 64, 3, 3}} {
			if kernel == 0 {
				shape = []int64{shape[0], shape[2], shape[3], shape[1]}
			}
			m, err := d.Alloc(int64(elements.Size()) * shape[0] * shape[1] * shape[2] * shape[3])
			require.NoError(t, err)
			defer d.Free(m)
			args = append(args, jit.TensorValue(&jit.Tensor{DType: elements, Shape: shape, Memory: m}))
		}
		p, err := jit.NewCompiler(d, nil).BindKernel(program.Kernels[kernel], args, jit.Options{Pins: pins, Dump: func(pass string, after lang.Listing) { text += pass + " " + after.String() }})
		require.NoError(t, err)
		p.Close()
		return text
	}
	for _, elements := range []lang.DType{lang.BF16, lang.F32} {
		text := launches(1, elements, 32, nil)
		assert.Equal(t, 2, strings.Count(text, "= relayout("), text)
		assert.Contains(t, text, fmt.Sprintf("x %%0:%s[32, 64, 56, 56] strides [200704, 1, 3584, 64]", elements))
		assert.Equal(t, 2, strings.Count(launches(1, elements, 1, nil), "= relayout("), "of one image")
		assert.Empty(t, launches(1, elements, 32, map[string]int64{"relayout": 1}))
		assert.Empty(t, launches(0, elements, 32, nil), "channels are innermost")
	}
}

// What threads take to copy weights of which three lie together is some three times what the rest of a small convolution is predicted to take, as an H200 has it (75 us, and 21); with channels innermost nothing is copied so.
func TestCopiesOfWindowsAreReckonedWith(t *testing.T) {
	sweep.Once(t)
	program, problems := jit.Load("conv.tile", []byte(convolutions), nil)
	require.Empty(t, problems)
	machine, err := target.Find("sm_90a")
	require.NoError(t, err)
	for of, least := range map[string]float64{"last": 0, "first": 2} {
		f, err := jit.FindFunction(program, of)
		require.NoError(t, err)
		s, err := jit.Specialise(f.Kernel, jit.Options{Types: map[string]lang.DType{"T": lang.F32}, Dims: map[string]int64{"N": 2, "H": 7, "W": 7, "C": 512, "O": 512, "R": 3, "S": 3}})
		require.NoError(t, err)
		l, err := compile.Lower(s, machine, nil)
		require.NoError(t, err)
		e := l.Plan.Estimate
		assert.GreaterOrEqual(t, e.Copies, least*e.Seconds, of)
		assert.LessOrEqual(t, e.Copies, 2.5*least*e.Seconds, of)
	}
}

// Each position of the grid makes a product again, which counts for the copies: a transposed convolution, whose grid has the parity of places, is laid out by channels, over which it sums, and
// the gradient to the weights, which sums up images, by the channels that it has for each image.
func TestWhatTheGridRepeatsIsLaidOutAnew(t *testing.T) {
	sweep.Once(t)
	d, err := jit.OpenDevice("emu")
	require.NoError(t, err)
	defer d.Close()
	text, err := os.ReadFile("../bench/beyond/images.tile")
	require.NoError(t, err)
	program, problems := jit.Load("images.tile", text, nil)
	require.Empty(t, problems)
	for name, c := range map[string]struct {
		shapes [][]int64
		copies int
	}{
		"conv_transpose_grid":  {[][]int64{{32, 256, 28, 28}, {256, 128, 4, 4}}, 2},
		"conv_weight_gradient": {[][]int64{{32, 128, 28, 28}, {32, 128, 28, 28}}, 2},
	} {
		var args []jit.Value
		for _, shape := range c.shapes {
			m, err := d.Alloc(2 * shape[0] * shape[1] * shape[2] * shape[3])
			require.NoError(t, err)
			defer d.Free(m)
			args = append(args, jit.TensorValue(&jit.Tensor{DType: lang.BF16, Shape: shape, Memory: m}))
		}
		n := slices.IndexFunc(program.Kernels, func(k *typed.Kernel) bool { return k.Name == name })
		text := ""
		p, err := jit.NewCompiler(d, nil).BindKernel(program.Kernels[n], args, jit.Options{Dump: func(pass string, after lang.Listing) { text += pass + " " + after.String() }})
		require.NoError(t, err)
		p.Close()
		assert.Equal(t, c.copies, strings.Count(text, "= relayout("), "%s: %s", name, text)
	}
}

// A convolution over channels alone is a plain product: rows and columns of an image are one axis, whose positions lie one behind the other. Where something
// tells rows from columns, they are two.
func TestPointwiseConvolutions(t *testing.T) {
	const source = `
kernel plain(x: bf16[N, C, H, W], w: bf16[O, C], z: f32[N, O, H, W]) -> y: f32[N, O, H, W] {
    y[n, o, h, v] = sum(x[n, c, h, v] * w[o, c], over c) + z[n, o, h, v]
}

kernel rows(x: bf16[N, C, H, W], w: bf16[O, C], z: f32[H]) -> y: f32[N, O, H, W] {
    y[n, o, h, v] = sum(x[n, c, h, v] * w[o, c], over c) + z[h]
}

kernel crossed(x: bf16[N, C, H, W], w: bf16[O, C], z: f32[N]) -> y: f32[N, O, W, H] {
    y[n, o, v, h] = sum(x[n, c, h, v] * w[o, c], over c) + z[n]
}`
	k := jittest.Load(t, "pointwise.tile", source)
	for _, c := range []struct{ n, c, h, w, o int }{{2, 64, 8, 16, 64}, {3, 40, 7, 5, 24}, {1, 32, 14, 14, 72}, {1, 32, 15, 14, 72}, {2, 64, 12, 12, 64}, {2, 64, 13, 12, 64}, {2, 64, 14, 12, 64}} {
		for _, name := range []string{"plain", "rows", "crossed"} {
			x, w := small(lang.BF16, int64(c.n), int64(c.c), int64(c.h), int64(c.w)), small(lang.BF16, int64(c.o), int64(c.c))
			z := small(lang.F32, map[string][]int64{"plain": {int64(c.n), int64(c.o), int64(c.h), int64(c.w)}, "rows": {int64(c.h)}, "crossed": {int64(c.n)}}[name]...)
			var options jit.Options
			if name == "plain" && c.c == 64 && jittest.OnGPU(t) { // blocks that stay, a step each
				options.Pins = map[string]int64{"BN": 1, "h_v": 64, "BO": 64, "c": 64, "warps": 4, "stages": 4, "persist": 2}
			}
			y := k.Run(t, name, options, x, w, z)[0]
			for i := range c.n * c.o * c.h * c.w {
				v, h, o, n := i%c.w, i/c.w%c.h, i/c.w/c.h%c.o, i/c.w/c.h/c.o
				sum := map[string]float64{"plain": 0, "rows": z.Float(min(h, len(z.Data)/4-1)), "crossed": z.Float(min(n, len(z.Data)/4-1))}[name]
				if name == "plain" {
					sum = z.Float(i)
				}
				for ch := range c.c {
					sum += x.Float(((n*c.c+ch)*c.h+h)*c.w+v) * w.Float(o*c.c+ch)
				}
				at := i
				if name == "crossed" {
					at = ((n*c.o+o)*c.w+v)*c.h + h
				}
				require.Equal(t, sum, y.Float(at), "%s %+v: image %d, channel %d, row %d, column %d", name, c, n, o, h, v)
			}
		}
	}

	program, problems := jit.Load("pointwise.tile", []byte(source), nil)
	require.Empty(t, problems)
	assert.True(t, jit.KernelFunction(program.Kernels[0]).CanPin("h_v"))
	assert.False(t, jit.KernelFunction(program.Kernels[0]).CanPin("v_h"))
	machine, err := target.Find("sm_90a")
	require.NoError(t, err)
	for i, extent := range []int64{128, 0, 0} {
		s, err := jit.Specialise(program.Kernels[i], jit.Options{Dims: map[string]int64{"N": 32, "C": 64, "H": 56, "W": 56, "O": 256}, Pins: map[string]int64{"h_v": 128}})
		require.NoError(t, err)
		l, err := compile.Lower(s, machine, nil)
		if extent == 0 { // they are two
			require.ErrorContains(t, err, "has no such parameter")
			continue
		}
		require.NoError(t, err)
		assert.Equal(t, extent, l.Plan.Extents["h_v"])
	}
	for i, one := range []bool{true, false, false} {
		s, err := jit.Specialise(program.Kernels[i], jit.Options{Dims: map[string]int64{"N": 32, "C": 64, "H": 56, "W": 56, "O": 256}})
		require.NoError(t, err)
		l, err := compile.Lower(s, machine, nil)
		require.NoError(t, err)
		text, err := l.Block()
		require.NoError(t, err)
		assert.Equal(t, one, l.Func.Axis("h_v") != nil, program.Kernels[i].Name)
		assert.Equal(t, one, strings.Contains(text, "@copy tile_0 {h_v"), text)
	}
	for _, rows := range []int64{24, 26, 27, 28} { // rows of 28 positions lie at multiples of 16 bytes where there are as many as a multiple of 2
		s, err := jit.Specialise(program.Kernels[0], jit.Options{Dims: map[string]int64{"N": 32, "C": 64, "H": rows, "W": 28, "O": 256}})
		require.NoError(t, err)
		l, err := compile.Lower(s, machine, nil)
		require.NoError(t, err)
		text, err := l.Block()
		require.NoError(t, err)
		assert.Equal(t, rows%2 == 0, strings.Contains(text, "box map_0"), text)
	}
}

// Products of little depth are bound by memory: blocks stay, two teams of warps take turns, and boxes with all of the depth come for the tiles ahead in a
// loop of one step, in whole lines, as results go. So are pointwise convolutions, and they read each image once.
func TestProductsOfLittleDepthStay(t *testing.T) {
	const source = `
kernel last<T: float>(x: T[N, H, W, C], w: T[O, C]) -> y: T[N, H, W, O] {
    y[n, h, v, o] = sum(x[n, h, v, c] * w[o, c], over c) as T
}

kernel first<T: float>(x: T[N, C, H, W], w: T[O, C]) -> y: T[N, O, H, W] {
    y[n, o, h, v] = sum(x[n, c, h, v] * w[o, c], over c) as T
}

kernel product<T: float>(x: T[M, K], w: T[N, K]) -> y: T[M, N] {
    y[i, j] = sum(x[i, k] * w[j, k], over k) as T
}`
	program, problems := jit.Load("pointwise.tile", []byte(source), nil)
	require.Empty(t, problems)
	machine, err := target.Find("sm_90a")
	require.NoError(t, err)
	for i, dims := range []map[string]int64{
		{"N": 32, "C": 64, "H": 56, "W": 56, "O": 64}, {"N": 32, "C": 64, "H": 56, "W": 56, "O": 64}, {"M": 100352, "K": 64, "N": 64},
	} {
		s, err := jit.Specialise(program.Kernels[i], jit.Options{Types: map[string]lang.DType{"T": lang.BF16}, Dims: dims})
		require.NoError(t, err)
		l, err := compile.Lower(s, machine, nil)
		require.NoError(t, err)
		text, err := l.Block()
		require.NoError(t, err)
		for _, has := range []string{"teams 2", " produced", " 64} of bf16", "box map_2"} {
			assert.Contains(t, text, has, l.Plan)
		}
	}

	k := jittest.Load(t, "pointwise.tile", source)
	for _, d := range []lang.DType{lang.BF16, lang.F32} {
		for _, persist := range []int64{0, 1, 2} {
			for _, columns := range []int{72, 117} { // rows that boxes store, and rows that begin anywhere
				const rows, depth = 300, 64
				x, w := small(d, rows, depth), small(d, int64(columns), depth)
				y := k.Run(t, "product", jit.Options{Pins: map[string]int64{"BI": 64, "BJ": 64, "k": depth, "warps": 4, "stages": 4, "persist": persist}}, x, w)[0]
				for i := range rows * columns {
					sum := 0.0
					for at := range depth {
						sum += x.Float(i/columns*depth+at) * w.Float(i%columns*depth+at)
					}
					rounded := jittest.NewArray(d, 1)
					rounded.SetFloat(0, sum)
					require.Equal(t, rounded.Float(0), y.Float(i), "%s, persist=%d: row %d, column %d of %d", d, persist, i/columns, i%columns, columns)
				}
			}
		}
	}
}

// Results go by matrices to shared memory, and from there by boxes, whether they lie along the product's columns, or along its rows, or have several axes
// of rows, as convolutions with channels first and last have them; and no product waits for that.
func TestResultsGoByMatrices(t *testing.T) {
	const source = `
kernel columns(x: bf16[M, K], w: bf16[N, K]) -> y: bf16[M, N] {
    y[i, j] = sum(x[i, k] * w[j, k], over k) as bf16
}

kernel rows(x: bf16[M, K], w: bf16[N, K]) -> y: bf16[N, M] {
    y[j, i] = sum(x[i, k] * w[j, k], over k) as bf16
}

kernel across(x: bf16[K, M], w: bf16[N, K]) -> y: bf16[N, M] {
    y[j, i] = sum(x[k, i] * w[j, k], over k) as bf16
}

kernel window(x: bf16[B, H, W, K], w: bf16[N, R, S, K]) -> y: bf16[B, H, W, N] {
    y[b, h, v, j] = sum((x[b, h + r - 1, v + s - 1, k] else 0) * w[j, r, s, k], over (r, s, k)) as bf16
}`
	program, problems := jit.Load("results.tile", []byte(source), nil)
	require.Empty(t, problems)
	machine, err := target.Find("sm_90a")
	require.NoError(t, err)
	assembler, missing := cuda.FindAssembler()
	k := jittest.Load(t, "results.tile", source)
	const rows, columns, depth = 136, 72, 128
	for _, kernel := range program.Kernels {
		for _, persist := range []int64{0, 1, 2} {
			about := fmt.Sprintf("%s, persist=%d", kernel.Name, persist)
			pins := map[string]int64{"BI": 64, "BJ": 64, "k": 64, "warps": 4, "stages": 4, "persist": persist}
			x, w, dims := small(lang.BF16, rows, depth), small(lang.BF16, columns, depth), map[string]int64{"M": rows, "N": columns, "K": depth}
			at := func(i, k int) int { return i*depth + k }
			switch kernel.Name {
			case "across":
				x, at = small(lang.BF16, depth, rows), func(i, k int) int { return k*rows + i }
			case "window":
				x, w = small(lang.BF16, 1, 8, 17, depth), small(lang.BF16, columns, 3, 3, depth)
				dims = map[string]int64{"B": 1, "H": 8, "W": 17, "N": columns, "R": 3, "S": 3, "K": depth}
				pins = map[string]int64{"BB": 1, "BH": 8, "BV": 8, "BJ": 64, "r": 1, "s": 1, "k": 64, "warps": 4, "stages": 4, "persist": persist}
			}
			s, err := jit.Specialise(kernel, jit.Options{Dims: dims, Pins: pins})
			require.NoError(t, err, about)
			l, err := compile.Lower(s, machine, nil)
			require.NoError(t, err, about)
			text, err := l.Block()
			require.NoError(t, err, about)
			turned := kernel.Name == "rows" || kernel.Name == "across"
			require.Contains(t, text, " matrices reg", about)
			require.Equal(t, turned, strings.Contains(text, " turned"), about)
			if missing == nil {
				ptx, err := l.PTX()
				require.NoError(t, err, about)
				_, log, err := assembler.Compile(context.Background(), []byte(ptx), machine.Name, cuda.CompileOptions{Verbose: true})
				require.NoError(t, err, about)
				assert.NotContains(t, log, "C75", about)
			}
			y := k.Run(t, kernel.Name, jit.Options{Pins: pins}, x, w)[0]
			for i := range rows {
				for j := range columns {
					sum := 0.0
					for k := range depth {
						if kernel.Name != "window" {
							sum += x.Float(at(i, k)) * w.Float(j*depth+k)
							continue
						}
						for tap := range 9 {
							if h, v := i/17+tap/3-1, i%17+tap%3-1; h >= 0 && h < 8 && v >= 0 && v < 17 {
								sum += x.Float((h*17+v)*depth+k) * w.Float((j*9+tap)*depth+k)
							}
						}
					}
					rounded := jittest.NewArray(lang.BF16, 1)
					rounded.SetFloat(0, sum)
					place := i*columns + j
					if turned {
						place = j*rows + i
					}
					require.Equal(t, rounded.Float(0), y.Float(place), "%s: row %d, column %d", about, i, j)
				}
			}
		}
	}
}

// A thread has all of the window of its positions, be that the taps of a depthwise convolution or what is pooled: nothing of it goes over lanes, warps or
// shared memory.
func TestWindowsAreReducedByThreads(t *testing.T) {
	const source = `
kernel depthwise(x: bf16[N, C, H, W], w: bf16[C, R, S]) -> y: bf16[N, C, H, W] {
    y[n, c, h, v] = sum((x[n, c, h + r - R / 2, v + s - S / 2] else 0) * w[c, r, s], over (r, s)) as bf16
}

kernel pool(x: f32[N, C, H, W]) -> y: f32[N, C, H / 2, W / 2] {
    axis r in 2
    axis s in 2
    y[n, c, h, v] = max(x[n, c, 2 * h + r, 2 * v + s], over (r, s))
}`
	program, problems := jit.Load("windows.tile", []byte(source), nil)
	require.Empty(t, problems)
	machine, err := target.Find("sm_90a")
	require.NoError(t, err)
	for _, k := range program.Kernels {
		s, err := jit.Specialise(k, jit.Options{Dims: map[string]int64{"N": 32, "C": 64, "H": 56, "W": 56, "R": 3, "S": 3}})
		require.NoError(t, err)
		l, err := compile.Lower(s, machine, nil)
		require.NoError(t, err)
		text, err := l.PTX()
		require.NoError(t, err)
		for _, not := range []string{"bar.sync", "shfl", "st.shared"} {
			assert.NotContains(t, text, not, k.Name)
		}
	}
	k := jittest.Load(t, "windows.tile", source)
	x, w := small(lang.BF16, 2, 3, 9, 21), small(lang.BF16, 3, 3, 3)
	y := k.Run(t, "depthwise", jit.Options{}, x, w)[0]
	for i := range 2 * 3 * 9 * 21 {
		v, h, plane := i%21, i/21%9, i/21/9
		sum := 0.0
		for tap := range 9 {
			if row, column := h+tap/3-1, v+tap%3-1; row >= 0 && row < 9 && column >= 0 && column < 21 {
				sum += x.Float((plane*9+row)*21+column) * w.Float(plane%3*9+tap)
			}
		}
		require.Equal(t, sum, y.Float(i), i)
	}
}
