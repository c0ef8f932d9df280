// Package bench times the standard library's kernels and whole models, beside
// a peer that computes the same on the same machine. `bench/device.sh` runs it
// all on a machine with a GPU; RESULTS.md holds what was measured.
package bench

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"tilec/lang"
)

// Workload is one kernel at one size. The peer script reads it as JSON.
type Workload struct {
	// Name tells a workload from all others: "linear_bias bf16 8192x768x2304".
	Name   string           `json:"name"`
	Kernel string           `json:"kernel"`
	DType  string           `json:"dtype"`
	Sizes  map[string]int64 `json:"sizes"`
	// Scalars are the kernel's scalar arguments by name; those left out have defaults.
	Scalars map[string]float64 `json:"scalars,omitempty"`
	// FLOPs is the work, a multiplication and an addition counting as two; 0 where memory decides.
	FLOPs float64 `json:"flops,omitempty"`
	// Bytes is what must be read and written at least.
	Bytes float64 `json:"bytes"`
}

// Type is the workload's element type.
func (w Workload) Type() lang.DType {
	d, _ := lang.ParseDType(w.DType)
	return d
}

func newWorkload(kernel string, d lang.DType, shape string, sizes map[string]int64) Workload {
	return Workload{Name: fmt.Sprintf("%s %s %s", kernel, d, shape), Kernel: kernel, DType: d.String(), Sizes: sizes}
}

// linear is [M, K] times [K, N]. The head gives f32 whatever its operands are.
func linear(kernel string, d lang.DType, m, k, n int64) Workload {
	w := newWorkload(kernel, d, fmt.Sprintf("%dx%dx%d", m, k, n), map[string]int64{"M": m, "K": k, "N": n})
	w.FLOPs = 2 * float64(m) * float64(k) * float64(n)
	out := d.Size()
	if kernel == "head" {
		out = 4
	}
	w.Bytes = float64(int64(d.Size())*(m*k+k*n) + int64(out)*m*n)
	return w
}

// rowwise reads and writes [M, N] once.
func rowwise(kernel string, d lang.DType, m, n int64) Workload {
	w := newWorkload(kernel, d, fmt.Sprintf("%dx%d", m, n), map[string]int64{"M": m, "N": n})
	w.Bytes = float64(2 * int64(d.Size()) * m * n)
	return w
}

// attention is causal, over a whole prompt; its work counts half the square.
func attention(d lang.DType, b, h, s, c int64) Workload {
	w := newWorkload("attention", d, fmt.Sprintf("%dx%dx%dx%d", b, h, s, c), map[string]int64{"B": b, "H": h, "S": s, "P": s, "D": c})
	w.Scalars = map[string]float64{"scale": 1 / math.Sqrt(float64(c))}
	w.FLOPs = 2 * float64(b*h*c) * float64(s) * float64(s)
	w.Bytes = float64(4 * int64(d.Size()) * b * h * s * c)
	return w
}

// Workloads lists all, those that matter most to a language model first, so
// that a run that is cut short has them.
func Workloads() []Workload {
	var all []Workload
	layers := [][2]int64{{768, 2304}, {768, 768}, {768, 3072}, {3072, 768}, {1024, 4096}, {4096, 1024}}
	for _, m := range []int64{8192, 1024, 256} {
		for _, l := range layers {
			all = append(all, linear("linear_bias", lang.BF16, m, l[0], l[1]))
		}
	}
	all = append(all, linear("linear_gelu", lang.BF16, 8192, 768, 3072), linear("head", lang.BF16, 8192, 768, 50304), linear("head", lang.BF16, 1, 768, 50304))
	for _, s := range [][4]int64{{8, 12, 1024, 64}, {8, 12, 512, 64}, {8, 12, 256, 64}, {8, 12, 128, 64}, {4, 16, 4096, 64}, {4, 16, 4096, 128}, {2, 16, 16384, 128}} {
		all = append(all, attention(lang.BF16, s[0], s[1], s[2], s[3]))
	}
	for _, s := range [][2]int64{{8192, 768}, {8192, 4096}, {65536, 1024}, {4096, 50257}, {16384, 768}, {4096, 50304}} {
		for _, kernel := range []string{"layernorm", "softmax", "gelu_map"} {
			for _, d := range []lang.DType{lang.BF16, lang.F32} {
				all = append(all, rowwise(kernel, d, s[0], s[1]))
			}
		}
	}
	for _, l := range layers {
		all = append(all, linear("linear_bias", lang.F32, 8192, l[0], l[1]))
	}
	for _, n := range []int64{4096, 2048} {
		all = append(all, linear("linear", lang.BF16, n, n, n), linear("linear", lang.F32, n, n, n))
	}
	for _, m := range []int64{1, 16, 64} {
		all = append(all, linear("linear", lang.BF16, m, 8192, 8192))
	}
	return all
}

// Small is a workload of the same kernel with no size above limit, for tests.
func (w Workload) Small(limit int64) Workload {
	w.Sizes = maps.Clone(w.Sizes)
	for name, n := range w.Sizes {
		w.Sizes[name] = min(n, limit)
	}
	return w
}

// Select gives the workloads whose names contain one of the words; all when there are none.
func Select(all []Workload, words []string) []Workload {
	if len(words) == 0 {
		return all
	}
	return slices.DeleteFunc(slices.Clone(all), func(w Workload) bool {
		return !slices.ContainsFunc(words, func(s string) bool { return strings.Contains(w.Name, s) })
	})
}
