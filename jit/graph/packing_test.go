package graph

import (
	"math/rand/v2"
	"testing"
	"tilec/jit/tensor"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestReshapeStrides(t *testing.T) {
	for _, c := range []struct {
		name                 string
		shape, strides, want []int64
		result               []int64 // nil: needs a copy
	}{
		{"split the last", []int64{2, 6}, []int64{6, 1}, []int64{2, 2, 3}, []int64{6, 3, 1}},
		{"merge all", []int64{2, 3, 4}, []int64{12, 4, 1}, []int64{24}, []int64{1}},
		{"split a slice's rows", []int64{2, 6}, []int64{18, 1}, []int64{2, 2, 3}, []int64{18, 3, 1}},
		{"merge across a gap", []int64{2, 6}, []int64{18, 1}, []int64{12}, nil},
		{"merge what is evenly spaced", []int64{2, 3}, []int64{30, 10}, []int64{6}, []int64{10}},
		{"ones anywhere", []int64{1, 6, 1}, []int64{99, 1, 77}, []int64{2, 1, 3}, []int64{3, 3, 1}},
		{"to a scalar", []int64{1, 1}, []int64{5, 5}, []int64{}, []int64{}},
		{"cut across runs", []int64{2, 6}, []int64{18, 1}, []int64{3, 4}, nil},
		{"nothing", []int64{0, 6}, []int64{6, 1}, []int64{3, 0}, []int64{0, 1}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, ok := reshapeStrides(c.shape, c.strides, c.want)
			assert.Equal(t, c.result != nil, ok)
			if ok {
				assertSameElements(t, c.shape, c.strides, c.want, got)
			}
		})
	}
}

func TestPlanMemoryNeverOverlaps(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		p := &Bound{}
		sum := int64(0)
		for range 1 + r.IntN(20) {
			first := r.IntN(15)
			size := int64(tempAlign * (1 + r.IntN(5)))
			p.Temps = append(p.Temps, Temp{Size: size, First: first, last: first + r.IntN(5)})
			sum += size
		}
		total := p.PlanMemory()
		require.LessOrEqual(t, total, sum)
		for i, a := range p.Temps {
			require.LessOrEqual(t, a.Offset+a.Size, total)
			for _, b := range p.Temps[:i] {
				if a.First <= b.last && b.First <= a.last {
					require.True(t, a.Offset+a.Size <= b.Offset || b.Offset+b.Size <= a.Offset, "%+v %+v", a, b)
				}
			}
		}
	}
}

func TestPlanMemoryReuses(t *testing.T) {
	p := &Bound{Temps: []Temp{{Size: 256, First: 0, last: 1}, {Size: 256, First: 1, last: 2}, {Size: 256, First: 2, last: 3}}}
	assert.Equal(t, int64(512), p.PlanMemory())
}

// Each link of a chain is looked at beside the links that are alive with it, and no others.
func TestChainsArePackedLinkByLink(t *testing.T) {
	var k packing
	for i := range 10_000 {
		k.place(&Temp{Size: 256, First: i, last: i + 1})
		assert.LessOrEqual(t, len(k.live), 2)
	}
	assert.Equal(t, int64(512), k.size)
}

// assertSameElements checks that two ways to walk memory visit the same addresses in the same order.
func assertSameElements(t *testing.T, shape, strides, other, otherStrides []int64) {
	t.Helper()
	walk := func(shape, strides []int64) []int64 {
		out := []int64{}
		for n := range tensor.Elements(shape) {
			at := int64(0)
			for i := len(shape) - 1; i >= 0; i-- {
				at += n % shape[i] * strides[i]
				n /= shape[i]
			}
			out = append(out, at)
		}
		return out
	}
	assert.Equal(t, walk(shape, strides), walk(other, otherStrides))
}
