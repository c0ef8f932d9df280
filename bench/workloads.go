// Package bench times kernels and whole models beside peers that compute the same on the same machine: the workloads, how they
// are timed, judged by what is expected of them, and compared. `tilec bench` is its command; `bench/device.sh` runs it all on a
// machine with a GPU, and RESULTS.md holds what was measured.
package bench

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"tilec/lang"
)

// Workload is one kernel at one size. A peer's script reads it as JSON.
type Workload struct {
	// Name tells a workload from all others: "linear_bias bf16 8192x768x2304".
	Name   string `json:"name"`
	Kernel string `json:"kernel"`
	// Family is what a workload is summed up with: "attention".
	Family string           `json:"family"`
	DType  string           `json:"dtype"`
	Sizes  map[string]int64 `json:"sizes"`
	// Scalars are the kernel's scalar arguments by name; those left out have defaults.
	Scalars map[string]float64 `json:"scalars,omitempty"`
	// Integers says what a tensor of integers holds; one that is not named holds zeros.
	Integers map[string]Integers `json:"integers,omitempty"`
	// Pins are taken from the planner.
	Pins map[string]int64 `json:"pins,omitempty"`
	// FLOPs is the work, a multiplication and an addition counting as two; 0 where memory decides.
	FLOPs float64 `json:"flops,omitempty"`
	// Bytes is what must be read and written at least.
	Bytes float64 `json:"bytes"`
}

// Integers is what a tensor of integers holds: random ones from Low to High - 1, or, where Step is not 0, the multiples of
// Step in order: of the numbers 0, 1, 2 or, where Squares is set, of their squares.
type Integers struct {
	Low     int64 `json:"low,omitempty"`
	High    int64 `json:"high,omitempty"`
	Step    int64 `json:"step,omitempty"`
	Squares bool  `json:"squares,omitempty"`
}

// Type is the workload's element type.
func (w Workload) Type() lang.DType {
	d, _ := lang.ParseDType(w.DType)
	return d
}

// String is the workload's name.
func (w Workload) String() string { return w.Name }

// sizes are the sizes of dimensions in the order of their names in a kernel's workloads.
type sizes []int64

// String is the sizes as they stand in a workload's name.
func (s sizes) String() string {
	words := make([]string, len(s))
	for i, n := range s {
		words[i] = fmt.Sprint(n)
	}
	return strings.Join(words, "x")
}

// of is a workload of a kernel whose dimensions have these one-letter names, in this order.
func of(family, kernel string, d lang.DType, dims string, n ...int64) *Workload {
	w := &Workload{Name: fmt.Sprintf("%s %s %s", kernel, d, sizes(n)), Kernel: kernel, Family: family, DType: d.String(), Sizes: map[string]int64{}}
	for i, name := range dims {
		w.Sizes[string(name)] = n[i]
	}
	return w
}

// elements is what the bytes of a workload are: so many elements of its own type.
func (w *Workload) elements(n ...int64) *Workload {
	for _, e := range n {
		w.Bytes += float64(w.Type().Bytes(e))
	}
	return w
}

// bytes adds bytes of other types.
func (w *Workload) bytes(n int64) *Workload {
	w.Bytes += float64(n)
	return w
}

// products adds the work of so many multiplications with an addition each.
func (w *Workload) products(n ...int64) *Workload {
	f := 2.0
	for _, e := range n {
		f *= float64(e)
	}
	w.FLOPs += f
	return w
}

func (w *Workload) integers(name string, v Integers) *Workload {
	w.Integers = maps.Clone(w.Integers)
	if w.Integers == nil {
		w.Integers = map[string]Integers{}
	}
	w.Integers[name] = v
	return w
}

func (w *Workload) pinned(pins ...any) *Workload {
	w.Pins = map[string]int64{}
	for i := 0; i < len(pins); i += 2 {
		name, value := pins[i].(string), int64(pins[i+1].(int))
		w.Pins[name] = value
		w.Name += fmt.Sprintf(" %s=%d", name, value)
	}
	return w
}

// linear is [M, K] times [K, N]. The head gives f32 whatever its operands are.
func linear(family, kernel string, d lang.DType, m, k, n int64) *Workload {
	w := of(family, kernel, d, "MKN", m, k, n).products(m, k, n).elements(m*k, k*n)
	if kernel == "head" {
		return w.bytes(4 * m * n)
	}
	return w.elements(m * n)
}

// rowwise reads and writes [M, N] once.
func rowwise(family, kernel string, d lang.DType, m, n int64) *Workload {
	return of(family, kernel, d, "MN", m, n).elements(2 * m * n)
}

// attention is causal, over a whole prompt; its work counts half the square.
func attention(family string, d lang.DType, b, h, s, c int64) *Workload {
	w := of(family, "attention", d, "BHSD", b, h, s, c)
	w.Sizes["P"] = s
	w.Scalars = map[string]float64{"scale": 1 / math.Sqrt(float64(c))}
	w.FLOPs = 2 * float64(b*h*c) * float64(s) * float64(s)
	return w.elements(4 * b * h * s * c)
}

// Families that workloads are summed up by.
const (
	familyProducts    = "bf16 products"
	familyBias        = "linear with bias, bf16"
	familyGELU        = "linear, bias, GELU, bf16"
	familyHead        = "head, bf16"
	familyTF32        = "f32 (tf32) linear"
	familyNarrow      = "f8 and int8 products"
	familyWeights     = "linear, weights of 8 bits"
	familyFour        = "linear, weights of 4 bits"
	familySkinny      = "skinny linear"
	familyAttention   = "causal attention"
	familyRows        = "rows"
	familyLong        = "rows of 50,000"
	familyConvolution = "convolutions"
	familyOthers      = "orders, counts, places"
	familyBench       = "KernelBench"
	familyRoofline    = "roofline pairs"
	familyTiles       = "tiles of attention"
)

// Workloads lists all, those that matter most to a language model first, so
// that a run that is cut short has them.
func Workloads() []Workload {
	var all []Workload
	for _, w := range slices.Concat(language(), shapes(), convolutions(), places(), kernelBench(), roofline(), tiles()) {
		all = append(all, *w)
	}
	return all
}

// language is what a language model computes.
func language() (all []*Workload) {
	layers := [][2]int64{{768, 2304}, {768, 768}, {768, 3072}, {3072, 768}, {1024, 4096}, {4096, 1024}}
	both := []lang.DType{lang.BF16, lang.F32}
	for _, m := range []int64{8192, 1024, 256} {
		for _, l := range layers {
			all = append(all, linear(familyBias, "linear_bias", lang.BF16, m, l[0], l[1]))
		}
	}
	all = append(all, linear(familyGELU, "linear_gelu", lang.BF16, 8192, 768, 3072), linear(familyHead, "head", lang.BF16, 8192, 768, 50304), linear(familyHead, "head", lang.BF16, 1, 768, 50304))
	for _, m := range []int64{8192, 1024, 32, 1} { // the vocabulary of GPT-2, of which no row of logits begins where a line does
		all = append(all, linear(familyHead, "head", lang.BF16, m, 768, 50257))
	}
	for _, s := range [][4]int64{{8, 12, 1024, 64}, {8, 12, 512, 64}, {8, 12, 256, 64}, {8, 12, 128, 64}, {4, 16, 4096, 64}, {4, 16, 4096, 128}, {2, 16, 16384, 128}} {
		all = append(all, attention(familyAttention, lang.BF16, s[0], s[1], s[2], s[3]))
	}
	rows := [][2]int64{{8192, 768}, {8192, 4096}, {65536, 1024}, {4096, 50257}, {16384, 768}, {4096, 50304}}
	family := func(n int64) string {
		if n > 50000 {
			return familyLong
		}
		return familyRows
	}
	for _, s := range rows {
		for _, kernel := range []string{"layernorm", "softmax", "gelu_map"} {
			for _, d := range both {
				all = append(all, rowwise(family(s[1]), kernel, d, s[0], s[1]))
			}
		}
	}
	for _, l := range layers {
		all = append(all, linear(familyTF32, "linear_bias", lang.F32, 8192, l[0], l[1]))
	}
	for _, n := range []int64{4096, 2048} {
		all = append(all, linear(familyProducts, "linear", lang.BF16, n, n, n), linear(familyTF32, "linear", lang.F32, n, n, n))
	}
	for _, m := range []int64{1, 16, 64} {
		all = append(all, linear(familySkinny, "linear", lang.BF16, m, 8192, 8192))
	}
	// With these, the linears are all 21, in both types.
	for _, m := range []int64{8192, 1024, 256} {
		all = append(all, linear(familyBias, "linear_bias", lang.BF16, m, 768, 50304), linear(familyTF32, "linear_bias", lang.F32, m, 768, 50304))
	}
	for _, m := range []int64{1024, 256} {
		for _, l := range layers {
			all = append(all, linear(familyTF32, "linear_bias", lang.F32, m, l[0], l[1]))
		}
	}
	all = append(all, linear(familyGELU, "linear_gelu", lang.BF16, 8192, 1024, 4096), linear(familyGELU, "linear_gelu", lang.BF16, 1024, 768, 3072))
	for _, s := range rows {
		for _, d := range both {
			all = append(all, of(family(s[1]), "add_layernorm", d, "MN", s[0], s[1]).elements(4*s[0]*s[1]))
		}
	}
	for _, n := range [][3]int64{{8192, 4096, 4096}, {1024, 4096, 4096}, {64, 8192, 8192}} {
		m, k, c := n[0], n[1], n[2]
		eight := Integers{Low: -127, High: 128}
		all = append(all,
			of(familyNarrow, "fp8_matmul", lang.BF16, "MKN", m, k, c).products(m, k, c).bytes(m*k+k*c+2*m*c+4*(m+c)),
			of(familyNarrow, "fp8_matmul_fast", lang.BF16, "MKN", m, k, c).products(m, k, c).bytes(m*k+k*c+2*m*c+4*(m+c)),
			of(familyNarrow, "int8_matmul", lang.BF16, "MKN", m, k, c).products(m, k, c).bytes(m*k+k*c+2*m*c+4*(m+c)).integers("x", eight).integers("w", eight))
	}
	for _, n := range [][3]int64{{8192, 4096, 4096}, {1024, 4096, 4096}, {256, 4096, 4096}, {64, 8192, 8192}, {16, 8192, 8192}, {1, 8192, 8192}} {
		m, k, c := n[0], n[1], n[2]
		all = append(all,
			of(familyWeights, "int8_linear", lang.BF16, "MKN", m, k, c).products(m, k, c).bytes(2*m*k+k*c+2*m*c+4*c).integers("w", Integers{Low: -127, High: 128}),
			of(familyWeights, "fp8_linear", lang.BF16, "MKN", m, k, c).products(m, k, c).bytes(2*m*k+k*c+2*m*c+4*c),
			of(familyFour, "int4_linear", lang.BF16, "MKN", m, k, c).products(m, k, c).bytes(2*m*k+k*c/2+2*m*c+k*c/64).integers("w", Integers{High: 256}),
			of(familyFour, "mxfp4_linear", lang.BF16, "MKN", m, k, c).products(m, k, c).bytes(2*m*k+k*c/2+2*m*c+k*c/32).integers("sw", Integers{Low: 119, High: 129}))
	}
	return all
}

// shapes are products of squares and of odd sizes.
func shapes() (all []*Workload) {
	for _, n := range [][3]int64{{1024, 1024, 1024}, {8192, 8192, 8192}, {8205, 2949, 5921}, {4097, 4095, 4099}, {208, 416, 304}, {1000, 1000, 1000}} {
		all = append(all, linear(familyProducts, "linear", lang.BF16, n[0], n[1], n[2]), linear(familyTF32, "linear", lang.F32, n[0], n[1], n[2]))
	}
	return all
}

// convolutions are written as formulas, of channels first and last.
func convolutions() (all []*Workload) {
	for _, d := range []lang.DType{lang.BF16, lang.F32} {
		for _, s := range [][4]int64{{32, 64, 56, 64}, {16, 256, 14, 256}, {8, 128, 28, 128}} {
			b, c, h, o := s[0], s[1], s[2], s[3]
			conv := func(kernel, dims string, r int64, n ...int64) {
				w := of(familyConvolution, kernel, d, dims, n...)
				each := c * r * r // products an element
				weights := o * c * r * r
				if strings.HasPrefix(kernel, "depthwise") {
					each, weights = r*r, c*r*r
				}
				all = append(all, w.products(b, w.Sizes["O"], h, h, each).elements(b*c*h*h, weights, b*w.Sizes["O"]*h*h))
			}
			conv("conv3x3", "BCHWORS", 3, b, c, h, h, o, 3, 3)
			conv("conv3x3_last", "BHWCORS", 3, b, h, h, c, o, 3, 3)
			conv("conv1x1", "BCHWO", 1, b, c, h, h, o)
			conv("conv1x1_last", "BHWCO", 1, b, h, h, c, o)
		}
		for _, kernel := range []string{"depthwise", "depthwise_last"} {
			w := of(familyConvolution, kernel, d, "BCHWRS", 32, 128, 56, 56, 3, 3)
			all = append(all, w.products(32, 128, 56, 56, 9).elements(2*32*128*56*56, 128*9))
		}
	}
	return all
}

// places are what moves, orders and counts, in three sizes each.
func places() (all []*Workload) {
	add := func(w ...*Workload) { all = append(all, w...) }
	for _, s := range [][2]int64{{256, 50257}, {64, 128256}, {4096, 4096}} {
		add(of(familyOthers, "top50", lang.F32, "MN", s[0], s[1]).elements(s[0]*s[1], 2*50*s[0]))
	}
	for _, s := range [][2]int64{{1024, 4096}, {16384, 1024}, {65536, 128}} {
		add(rowwise(familyOthers, "sort_rows", lang.F32, s[0], s[1]))
	}
	for _, n := range []int64{1 << 24, 1 << 20, 1 << 26} {
		add(of(familyOthers, "histogram", lang.I32, "NV", n, 256).elements(n).integers("x", Integers{High: 256}))
	}
	add(of(familyOthers, "histogram", lang.I32, "NV", 1<<24, 1).elements(1 << 24)) // one counter hit by all
	for _, s := range [][2]int64{{1024, 65536}, {65536, 1024}, {16, 1 << 22}} {
		add(rowwise(familyOthers, "prefix_sum", lang.F32, s[0], s[1]))
	}
	for _, s := range [][2]int64{{4096, 4096}, {65536, 256}, {1 << 20, 16}} {
		add(rowwise(familyOthers, "prefix_sum_columns", lang.F32, s[0], s[1]))
	}
	add(rowwise(familyOthers, "running_max", lang.F32, 1024, 65536))
	for _, s := range [][3]int64{{50257, 768, 8192}, {1 << 20, 128, 1 << 18}, {32000, 4096, 16384}} {
		v, c, r := s[0], s[1], s[2]
		id := Integers{High: v}
		add(of(familyOthers, "gather_rows", lang.BF16, "VCR", v, c, r).elements(2*r*c).bytes(4*r).integers("id", id),
			of(familyOthers, "scatter_add", lang.F32, "VCR", v, c, r).elements(r*c, 2*min(v, r)*c).bytes(4*r).integers("id", id))
	}
	for _, s := range [][3]int64{{65536, 128, 16}, {1 << 20, 64, 64}, {8192, 1024, 4}} {
		r, c, each := s[0], s[1], s[2]
		w := of(familyOthers, "segment_sum", lang.F32, "RCG", r, c, each).elements(r*c, r/each*c)
		delete(w.Sizes, "G")
		w.Sizes["V1"] = r/each + 1
		add(w.integers("first", Integers{Step: each}))
	}
	for _, s := range [][3]int64{{1 << 16, 16, 1 << 16}, {1 << 20, 32, 1 << 20}, {8192, 512, 8192}} {
		m, each, n := s[0], s[1], s[2]
		w := of(familyOthers, "csr_product", lang.F32, "MGN", m, each, n).products(m, each).elements(2*m*each, m, n)
		delete(w.Sizes, "M")
		delete(w.Sizes, "G")
		w.Sizes["M1"], w.Sizes["Z"] = m+1, m*each
		add(w.integers("first", Integers{Step: each}).integers("column", Integers{High: n}))
	}
	for _, s := range [][4]int64{{32, 64, 112, 112}, {16, 256, 56, 56}, {64, 3, 224, 224}} {
		n := s[0] * s[1] * s[2] * s[3]
		add(of(familyOthers, "max_pool", lang.BF16, "BCHW", s[0], s[1], s[2], s[3]).elements(n, n/4),
			of(familyOthers, "resize_twice", lang.BF16, "BCHW", s[0], s[1], s[2], s[3]).elements(n, 4*n),
			of(familyOthers, "bilinear_twice", lang.BF16, "BCHW", s[0], s[1], s[2], s[3]).elements(n, 4*n))
	}
	for _, s := range [][2]int64{{8192, 8192}, {2048, 2048}, {1025, 65535}} {
		add(of(familyOthers, "stencil5", lang.F32, "HW", s[0], s[1]).elements(2 * s[0] * s[1]))
	}
	return all
}

// kernelBench is the families of KernelBench's levels 1 and 2 that are not among the others.
func kernelBench() (all []*Workload) {
	add := func(w ...*Workload) { all = append(all, w...) }
	for _, kernel := range []string{"relu_of", "sigmoid_of", "tanh_of", "softplus_of"} {
		add(rowwise(familyBench, kernel, lang.F32, 16384, 4096))
	}
	add(of(familyBench, "batched_matmul", lang.BF16, "BMKN", 64, 512, 512, 512).products(64, 512, 512, 512).elements(3*64*512*512),
		of(familyBench, "product_of_transposed", lang.BF16, "MKN", 2048, 4096, 2048).products(2048, 4096, 2048).elements(2*2048*4096, 2048*2048),
		of(familyBench, "product_with_transposed", lang.BF16, "MKN", 2048, 4096, 2048).products(2048, 4096, 2048).elements(2*2048*4096, 2048*2048),
		of(familyBench, "batched_matmul", lang.BF16, "BMKN", 1000, 64, 64, 64).products(1000, 64, 64, 64).elements(3*1000*64*64),
		of(familyBench, "batched_matmul", lang.BF16, "BMKN", 4096, 16, 16, 16).products(4096, 16, 16, 16).elements(3*4096*16*16),
		of(familyBench, "batched_matmul", lang.F32, "BMKN", 4096, 32, 32, 32).products(4096, 32, 32, 32).elements(3*4096*32*32),
		grouped(16384, 8, 4096, 4096, false), grouped(16384, 8, 4096, 4096, true), grouped(16384, 64, 2048, 1024, true), grouped(256, 64, 4096, 4096, false),
		linear(familyBench, "relu_linear", lang.BF16, 4096, 1024, 4096),
		linear(familyBench, "softmax_linear", lang.BF16, 4096, 1024, 1024),
		of(familyBench, "rmsnorm", lang.BF16, "MN", 8192, 4096).elements(2*8192*4096),
		of(familyBench, "swiglu", lang.BF16, "MN", 8192, 14336).elements(3*8192*14336),
		of(familyBench, "cross_entropy", lang.BF16, "MN", 8192, 50257).elements(8192*50257).integers("target", Integers{High: 50257}),
		of(familyBench, "batchnorm", lang.F32, "BCHW", 64, 64, 256, 256).elements(2*64*64*256*256),
		of(familyBench, "row_sum", lang.F32, "MN", 16384, 4096).elements(16384*4096),
		of(familyBench, "column_sum", lang.F32, "MN", 16384, 4096).elements(16384*4096),
		of(familyBench, "middle_max", lang.F32, "BMN", 128, 4096, 256).elements(128*4096*256),
		of(familyBench, "row_argmax", lang.F32, "MN", 16384, 4096).elements(16384*4096),
		of(familyBench, "squared_error", lang.F32, "MN", 32768, 32768).elements(2*32768*32768),
		of(familyBench, "transpose", lang.F32, "MN", 8192, 8192).elements(2*8192*8192),
		of(familyBench, "transpose3", lang.F32, "ABC", 256, 512, 512).elements(2*256*512*512),
		of(familyBench, "transpose_acb", lang.F32, "ABC", 256, 512, 512).elements(2*256*512*512),
		of(familyBench, "transpose_bac", lang.BF16, "ABC", 64, 1024, 64).elements(2*64*1024*64),
		of(familyBench, "transpose_cba", lang.BF16, "ABC", 256, 512, 512).elements(2*256*512*512),
		of(familyBench, "nearest", lang.BF16, "BCHWPQ", 32, 64, 112, 112, 280, 140).elements(32*64*112*112, 32*64*280*140))
	return all
}

// grouped is a product in groups of rows, as many as experts, equal or as unequal as the odd numbers are.
func grouped(m, experts, k, n int64, unequal bool) *Workload {
	w := of(familyBench, "grouped_linear", lang.BF16, "MEKN", m, experts, k, n).products(m, k, n).elements(m*k, experts*k*n, m*n)
	first := Integers{Step: m / experts}
	if unequal {
		w.Name += " unequal"
		first = Integers{Step: m / (experts * experts), Squares: true}
	}
	return w.integers("first", first)
}

// roofline are the pairs of a chapter on the roofline: what memory bounds beside what arithmetic does.
func roofline() (all []*Workload) {
	add := func(w ...*Workload) { all = append(all, w...) }
	add(linear(familyRoofline, "linear", lang.F32, 1, 8192, 8192), linear(familyRoofline, "linear", lang.F32, 8192, 8192, 8192),
		linear(familyRoofline, "linear", lang.F32, 2048, 2048, 2048).pinned("BM", 16, "BN", 16, "BK", 16, "warps", 1, "stages", 1),
		rowwise(familyRoofline, "l2norm", lang.F32, 8192, 4096),
		of(familyRoofline, "squares_of_rows", lang.F32, "MN", 8192, 4096).elements(8192*4096, 8192),
		of(familyRoofline, "by_root", lang.F32, "MN", 8192, 4096).elements(2*8192*4096, 8192),
		of(familyRoofline, "twice_and_one", lang.F32, "N", 1<<28).elements(2<<28),
		rowwise(familyRoofline, "softmax", lang.F32, 128, 8193),
		attention(familyRoofline, lang.BF16, 4, 32, 1024, 128))
	return slices.DeleteFunc(all, func(w *Workload) bool {
		return slices.ContainsFunc(shapes(), func(s *Workload) bool { return s.Name == w.Name })
	})
}

// tiles are attention at three lengths in several tiles.
func tiles() (all []*Workload) {
	for _, s := range []int64{128, 256, 512} {
		for _, t := range [][2]int{{64, 64}, {128, 64}, {64, 128}, {128, 128}} {
			all = append(all, attention(familyTiles, lang.BF16, 8, 12, s, 64).pinned("BM", t[0], "BN", t[1]))
		}
	}
	return all
}

// Small is a workload of the same kernel with no size above limit, for tests and slow machines. Windows and steps stay as they are; how much
// work it is, is not said.
func (w Workload) Small(limit int64) Workload {
	w.FLOPs, w.Bytes = 0, 0
	w.Sizes = maps.Clone(w.Sizes)
	for name, n := range w.Sizes {
		w.Sizes[name] = min(n, limit)
	}
	w.Integers = maps.Clone(w.Integers)
	for name, v := range w.Integers {
		v.High = min(v.High, limit)
		w.Integers[name] = v
	}
	w.Pins = nil
	return w
}

// Select gives the workloads whose names or families contain one of the words, or that one alone whose whole name a word is; all when there are none.
func Select(all []Workload, words []string) []Workload {
	if len(words) == 0 {
		return all
	}
	whole := map[string]bool{}
	for _, w := range all {
		whole[w.Name] = true
	}
	return slices.DeleteFunc(slices.Clone(all), func(w Workload) bool {
		return !slices.ContainsFunc(words, func(s string) bool {
			return w.Name == s || !whole[s] && (strings.Contains(w.Name, s) || strings.Contains(w.Family, s))
		})
	})
}
