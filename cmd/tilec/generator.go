package main

import (
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"sort"
	"strings"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"tilec/lang"
	"tilec/lang/elementary"
)

// generator makes the elements of an array.
type generator struct {
	// parameters names the numbers that it takes.
	parameters []string
	// check refuses parameters that make no sense; nil when all do.
	check func(p []float64) error
	// element gives element i.
	element func(p []float64, r *rand.Rand, i int64) float64
}

func (g *generator) signature() string {
	if len(g.parameters) == 0 {
		return ""
	}
	return " (" + strings.Join(g.parameters, ", ") + ")"
}

var generators = map[string]*generator{
	"zeros":  {element: func([]float64, *rand.Rand, int64) float64 { return 0 }},
	"ones":   {element: func([]float64, *rand.Rand, int64) float64 { return 1 }},
	"arange": {element: func(_ []float64, _ *rand.Rand, i int64) float64 { return float64(i) }},
	"full":   {parameters: []string{"value"}, element: func(p []float64, _ *rand.Rand, _ int64) float64 { return p[0] }},
	"rand":   {element: func(_ []float64, r *rand.Rand, _ int64) float64 { return r.Float64() }},
	"randn":  {element: func(_ []float64, r *rand.Rand, _ int64) float64 { return normal(r) }},
	"randint": {parameters: []string{"low", "high"}, check: checkRange, element: func(p []float64, r *rand.Rand, _ int64) float64 {
		low, high := int64(p[0]), int64(p[1])
		return float64(low + r.Int64N(high-low))
	}},
}

// listed makes the elements that are given one by one, as its parameters.
var listed = generator{element: func(p []float64, _ *rand.Rand, i int64) float64 { return p[i] }}

// normal is a normally distributed number, by Box and Muller's transform. That of package rand may have
// another last bit on another processor.
func normal(r *rand.Rand) float64 {
	magnitude := math.Sqrt(-2 * elementary.Log(1-r.Float64())) // of a number above 0
	return float64(magnitude * elementary.Cos(float64(2*math.Pi*r.Float64())))
}

// checkRange accepts integers that a float64 holds exactly, the first below the second.
func checkRange(p []float64) error {
	const most = 1 << 53
	for _, v := range p {
		if v != math.Trunc(v) || math.Abs(v) > most {
			return fmt.Errorf("randint takes integers of at most 2^53, and %v is none", v)
		}
	}
	if p[0] >= p[1] {
		return fmt.Errorf("randint gives integers from low up to, not including, high: %v is not below %v", p[0], p[1])
	}
	return nil
}

func generatorNames() []string {
	names := make([]string, 0, len(generators))
	for n := range generators {
		names = append(names, n)
	}
	sort.Strings(names)
	return names
}

// toldEvery is after how many elements somebody who waits for them is told.
const toldEvery = 1 << 14

// usual is what a tensor that the command line leaves out is filled with.
func usual(d lang.DType) (name string, parameters []float64) {
	switch {
	case d.IsFloat():
		return "randn", nil
	case d == lang.Bool:
		return "randint", []float64{0, 2}
	}
	return "randint", []float64{0, 10}
}

// chunk is how many elements of a tensor have random numbers of one stream: the chunks of a large tensor are made side by side.
const chunk = 1 << 20

// generate makes n elements of a type, and adds to made what is done of them. The random numbers depend on the seed
// and on the name, so that leaving one argument out does not change the others, and not on how many processors there are.
func (g *generator) generate(parameters []float64, d lang.DType, n int64, seed uint64, name string, made *atomic.Int64) []byte {
	stream := uint64(14695981039346656037) // FNV-1a
	for _, c := range []byte(name) {
		stream = (stream ^ uint64(c)) * 1099511628211
	}
	data := make([]byte, d.Bytes(n))
	var group errgroup.Group
	group.SetLimit(runtime.GOMAXPROCS(0))
	for first := int64(0); first < n; first += chunk {
		group.Go(func() error {
			r := rand.New(rand.NewPCG(seed, stream+uint64(first)*0x9e3779b97f4a7c15))
			for i := first; i < min(first+chunk, n); i++ {
				d.PutElementAt(data, i, g.element(parameters, r, i))
				if (i+1)%toldEvery == 0 {
					made.Add(toldEvery)
				}
			}
			return nil
		})
	}
	_ = group.Wait() // none of them fails
	made.Add(n % toldEvery)
	return data
}
