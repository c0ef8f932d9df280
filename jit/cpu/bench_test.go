package cpu

import (
	"testing"

	"tilec/jit/ir"
	"tilec/lang"
)

func launchBench(b *testing.B, k *kernel, flops, bytes float64, args Args) {
	p := k.compile(b)
	for b.Loop() {
		if err := p.Run(args); err != nil {
			b.Fatal(err)
		}
	}
	s := b.Elapsed().Seconds() / float64(b.N)
	if flops > 0 {
		b.ReportMetric(flops/s/1e9, "GFLOP/s")
	}
	if bytes > 0 {
		b.ReportMetric(bytes/s/1e9, "GB/s")
	}
	b.ReportAllocs()
}

// matmul is c = a b: the whole contraction in one operation, w stored [K, N] or [N, K].
func matmul(m, n, kk, bm, bn int64, transposed bool) *kernel {
	k := newKernel("matmul")
	dm, dn, dk := k.dim("M", m), k.dim("N", n), k.dim("K", kk)
	i, j, a := k.grid("i", dm, bm), k.grid("j", dn, bn), k.whole("k", dk)
	x := k.in("x", lang.F32, dm, dk)
	var wv *ir.Value
	if transposed {
		wv = k.load(k.in("w", lang.F32, dn, dk), j, a)
	} else {
		wv = k.load(k.in("w", lang.F32, dk, dn), a, j)
	}
	c := k.out("c", lang.F32, dm, dn)
	k.store(c, k.dot(k.load(x, i, a), wv, a), i, j)
	return k
}

func matmulBench(b *testing.B, m, n, kk, bm, bn int, transposed bool) {
	var r noise
	x, w, c := r.floats(m*kk), r.floats(kk*n), make([]float32, m*n)
	launchBench(b, matmul(int64(m), int64(n), int64(kk), int64(bm), int64(bn), transposed), 2*float64(m)*float64(n)*float64(kk), 4*float64(kk)*float64(n),
		Args{Tensors: [][]byte{bytesOf(x), bytesOf(w), bytesOf(c)}})
}

func BenchmarkGemm256x768x768(b *testing.B)  { matmulBench(b, 256, 768, 768, 128, 768, false) }
func BenchmarkGemm256x768x768T(b *testing.B) { matmulBench(b, 256, 768, 768, 128, 768, true) }
func BenchmarkGemmTiles64(b *testing.B)      { matmulBench(b, 256, 768, 768, 64, 64, false) }
func BenchmarkGemv192x768(b *testing.B)      { matmulBench(b, 1, 768, 192, 1, 768, false) }
func BenchmarkGemv768x3072(b *testing.B)     { matmulBench(b, 1, 3072, 768, 1, 1536, false) }
func BenchmarkGemv768x3072T(b *testing.B)    { matmulBench(b, 1, 3072, 768, 1, 1536, true) }
func BenchmarkGemv1024x192One(b *testing.B)  { matmulBench(b, 1, 1024, 192, 1, 1024, false) }
func BenchmarkGemv1024x192OneT(b *testing.B) { matmulBench(b, 1, 1024, 192, 1, 1024, true) }

func mapBench(b *testing.B, n, extent int, f func(k *kernel, x *ir.Value) *ir.Value) {
	k := newKernel("map")
	d := k.dim("N", int64(n))
	i := k.grid("i", d, int64(extent))
	x, y := k.in("x", lang.F32, d), k.out("y", lang.F32, d)
	k.store(y, f(k, k.load(x, i)), i)
	var r noise
	in, out := r.floats(n), make([]float32, n)
	launchBench(b, k, 0, 8*float64(n), Args{Tensors: [][]byte{bytesOf(in), bytesOf(out)}})
}

func BenchmarkCopy(b *testing.B) {
	mapBench(b, 1<<20, 8192, func(k *kernel, x *ir.Value) *ir.Value { return x })
}
func BenchmarkExp(b *testing.B) {
	mapBench(b, 1<<20, 8192, func(k *kernel, x *ir.Value) *ir.Value { return k.Op(lang.OpExp, x) })
}
func BenchmarkTanh(b *testing.B) {
	mapBench(b, 1<<20, 8192, func(k *kernel, x *ir.Value) *ir.Value { return k.Op(lang.OpTanh, x) })
}
func BenchmarkGelu(b *testing.B) {
	mapBench(b, 1<<20, 8192, func(k *kernel, x *ir.Value) *ir.Value { return k.gelu(x) })
}

// BenchmarkFunctions is the functions that are computed element by element, in float64.
func BenchmarkFunctions(b *testing.B) {
	for _, op := range []lang.Op{lang.OpLog, lang.OpLog2, lang.OpLog1p, lang.OpSin, lang.OpCos, lang.OpTan, lang.OpExpm1, lang.OpErf} {
		b.Run(op.String(), func(b *testing.B) {
			mapBench(b, 1<<18, 8192, func(k *kernel, x *ir.Value) *ir.Value { return k.Op(op, k.Op(lang.OpAbs, x)) })
		})
	}
	for _, op := range []lang.Op{lang.OpPow, lang.OpAtan2} {
		b.Run(op.String(), func(b *testing.B) {
			mapBench(b, 1<<18, 8192, func(k *kernel, x *ir.Value) *ir.Value { return k.Op(op, k.Op(lang.OpAbs, x), x) })
		})
	}
}
func BenchmarkLaunch(b *testing.B) {
	mapBench(b, 64, 64, func(k *kernel, x *ir.Value) *ir.Value { return k.Op(lang.OpAdd, x, x) })
}

func BenchmarkSoftmax(b *testing.B) {
	k := newKernel("softmax")
	m, n := int64(256), int64(256)
	dm, dn := k.dim("M", m), k.dim("N", n)
	i, j := k.grid("i", dm, 16), k.whole("j", dn)
	x, y := k.in("x", lang.F32, dm, dn), k.out("y", lang.F32, dm, dn)
	v := k.load(x, i, j)
	e := k.Op(lang.OpExp, k.Op(lang.OpSub, v, k.reduce(lang.OpReduceMax, v, j)))
	k.store(y, k.Op(lang.OpDiv, e, k.reduce(lang.OpSum, e, j)), i, j)
	var r noise
	in, out := r.floats(int(m*n)), make([]float32, m*n)
	launchBench(b, k, 0, 8*float64(m*n), Args{Tensors: [][]byte{bytesOf(in), bytesOf(out)}})
}

func BenchmarkAttention(b *testing.B) {
	const H, S, D = 6, 256, 32
	k := attention(1, H, S, D, 32, 64, true)
	var r noise
	n := H * S * D
	q, kk, v, o := r.floats(n), r.floats(n), r.floats(n), make([]float32, n)
	launchBench(b, k, 2*2*H*S*S*D/2, 0, Args{Tensors: [][]byte{bytesOf(q), bytesOf(kk), bytesOf(v), bytesOf(o)}, Scalars: []uint64{0x3e000000}})
}
