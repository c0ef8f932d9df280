package sample

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

var (
	negInf = float32(math.Inf(-1))
	posInf = float32(math.Inf(1))
	nan    = float32(math.NaN())
)

func sampler(t testing.TB, p Params) *Sampler {
	t.Helper()
	s, err := New(p)
	require.NoError(t, err)
	return s
}

func randomLogits(seed uint64, n int) []float32 {
	random := rand.New(rand.NewPCG(seed, 0))
	logits := make([]float32, n)
	for i := range logits {
		logits[i] = float32(random.NormFloat64() * 3)
	}
	return logits
}

func TestGreedy(t *testing.T) {
	// What else is set makes no difference.
	for _, p := range []Params{{TopP: 1}, {TopK: 3, TopP: 0.1, Seed: 9}} {
		s := sampler(t, p)
		for _, c := range []struct {
			logits []float32
			want   int32
		}{
			{[]float32{5}, 0},
			{[]float32{1, 3, 2}, 1},
			{[]float32{1, 3, 3, 3}, 1},
			{[]float32{-2, negInf, -1}, 2},
			{[]float32{negInf, -math.MaxFloat32}, 1},
			{[]float32{0, float32(math.Copysign(0, -1)), 0}, 0},
		} {
			got, err := s.Next(c.logits)
			require.NoError(t, err)
			require.Equal(t, c.want, got, "%v", c.logits)
		}
	}
}

func TestLogitsRefused(t *testing.T) {
	for _, p := range []Params{{TopP: 1}, {Temperature: 1, TopK: 2, TopP: 0.5}} {
		s := sampler(t, p)
		for _, c := range []struct {
			logits []float32
			want   string
		}{
			{nil, "no logits, required at least one"},
			{[]float32{1, nan, 2}, "logit 1 of 3 is NaN, required a number"},
			{[]float32{nan}, "logit 0 of 1 is NaN"},
			{[]float32{posInf, 1, nan}, "logit 2 of 3 is NaN"},
			{[]float32{1, posInf}, "logit 1 of 2 is +Inf, required a finite number or -Inf"},
			{[]float32{negInf, negInf}, "all 2 logits are -Inf, required at least one finite"},
		} {
			_, err := s.Next(c.logits)
			require.ErrorContains(t, err, c.want)
		}
	}
}

func TestParamsRefused(t *testing.T) {
	for _, c := range []struct {
		params Params
		want   string
	}{
		{Params{Temperature: -0.1, TopP: 1}, "temperature is -0.1, required a finite number of 0 or more"},
		{Params{Temperature: math.NaN(), TopP: 1}, "temperature is NaN"},
		{Params{Temperature: math.Inf(1), TopP: 1}, "temperature is +Inf"},
		{Params{TopK: -1, TopP: 1}, "top_k is -1, required 0 or more (0 keeps all tokens)"},
		{Params{TopP: 0}, "top_p is 0, required above 0 and at most 1 (1 keeps all tokens)"},
		{Params{TopP: 1.01}, "top_p is 1.01"},
		{Params{TopP: math.NaN()}, "top_p is NaN"},
		{Params{Temperature: -1, TopK: -2, TopP: 3}, `temperature is -1, required a finite number of 0 or more
top_k is -2, required 0 or more (0 keeps all tokens)
top_p is 3, required above 0 and at most 1 (1 keeps all tokens)`},
	} {
		_, err := New(c.params)
		require.ErrorContains(t, err, c.want)
	}
}

// oracle gives the probabilities that temperature, top-k and top-p leave, by
// the definitions: sort everything, then cut.
func oracle(logits []float32, p Params) map[int32]float64 {
	ids := make([]int32, len(logits))
	for i := range ids {
		ids[i] = int32(i)
	}
	slices.SortStableFunc(ids, func(a, b int32) int { return cmp.Compare(logits[b], logits[a]) })
	if p.TopK > 0 && p.TopK < len(ids) {
		least := logits[ids[p.TopK-1]]
		ids = slices.DeleteFunc(ids, func(id int32) bool { return logits[id] < least })
	}
	weight := func(id int32) float64 {
		return math.Exp((float64(logits[id]) - float64(logits[ids[0]])) / p.Temperature)
	}
	total := 0.0
	for _, id := range ids {
		total += weight(id)
	}
	left, before := map[int32]float64{}, 0.0
	for _, id := range ids {
		if p.TopP < 1 && before/total >= p.TopP && len(left) > 0 {
			break
		}
		before += weight(id)
		left[id] = weight(id)
	}
	for id := range left {
		left[id] /= before
	}
	return left
}

var settings = []Params{
	{Temperature: 1, TopP: 1},
	{Temperature: 0.3, TopP: 1},
	{Temperature: 2.5, TopP: 1},
	{Temperature: 1, TopK: 1, TopP: 1},
	{Temperature: 1, TopK: 5, TopP: 1},
	{Temperature: 1, TopK: 999, TopP: 1},
	{Temperature: 1, TopK: 5000, TopP: 1},
	{Temperature: 1, TopP: 0.9},
	{Temperature: 1, TopP: 1e-9},
	{Temperature: 1.7, TopP: 0.999},
	{Temperature: 0.7, TopK: 40, TopP: 0.95},
	{Temperature: 3, TopK: 7, TopP: 0.5},
}

func TestKeptProbabilities(t *testing.T) {
	for seed, p := range settings {
		logits := randomLogits(uint64(seed), 1000)
		for i := range 20 { // equal and excluded ones too
			logits[i*7] = logits[i*11]
			logits[i*13] = negInf
		}
		kept := sampler(t, p).keep(logits, slices.Max(logits))
		total := 0.0
		for _, c := range kept {
			total += c.weight
		}
		want := oracle(logits, p)
		for id, probability := range want {
			if probability == 0 {
				delete(want, id)
			}
		}
		require.Len(t, kept, len(want), "%+v", p)
		for _, c := range kept {
			require.InEpsilon(t, want[c.id], c.weight/total, 1e-12, "%+v", p)
		}
	}
}

func TestExactCuts(t *testing.T) {
	ln := func(x float64) float32 { return float32(math.Log(x)) }
	kept := func(p Params, logits ...float32) []int32 {
		var ids []int32
		for _, c := range sampler(t, p).keep(logits, slices.Max(logits)) {
			ids = append(ids, c.id)
		}
		slices.Sort(ids)
		return ids
	}
	// Equal weights make the sums exact: top-p stops when it has reached p.
	require.Equal(t, []int32{0, 1}, kept(Params{Temperature: 1, TopP: 0.5}, 2, 2, 2, 2))
	require.Equal(t, []int32{0, 1, 2}, kept(Params{Temperature: 1, TopP: 0.51}, 2, 2, 2, 2))
	require.Equal(t, []int32{0}, kept(Params{Temperature: 1, TopP: math.SmallestNonzeroFloat64}, 2, 2, 2, 2))
	require.Equal(t, []int32{0, 1, 2, 3}, kept(Params{Temperature: 1, TopP: math.Nextafter(1, 0)}, 2, 2, 2, 2))
	// Ties with the k-th are kept.
	require.Equal(t, []int32{0, 2, 3}, kept(Params{Temperature: 1, TopK: 2, TopP: 1}, 1, 0, 1, 1))
	require.Equal(t, []int32{3}, kept(Params{Temperature: 1, TopK: 1, TopP: 1}, 1, 0, 1, 2))
	// An excluded token stays so, however large k.
	require.Equal(t, []int32{1}, kept(Params{Temperature: 1, TopK: 2, TopP: 1}, negInf, 1, negInf))
	// Top-k goes first: of the two that it leaves, the first has 2/3 of the probability.
	require.Equal(t, []int32{0}, kept(Params{Temperature: 1, TopK: 2, TopP: 0.6}, ln(0.4), ln(0.2), ln(0.19), ln(0.21)))
	require.Equal(t, []int32{0, 3}, kept(Params{Temperature: 1, TopP: 0.6}, ln(0.4), ln(0.2), ln(0.19), ln(0.21)))
	// Temperature goes before top-p: it makes the first likelier.
	require.Equal(t, []int32{0}, kept(Params{Temperature: 0.1, TopP: 0.9}, ln(0.6), ln(0.4)))
	require.Equal(t, []int32{0, 1}, kept(Params{Temperature: 1, TopP: 0.9}, ln(0.6), ln(0.4)))
	// The largest and the smallest temperatures.
	require.Equal(t, []int32{1}, kept(Params{Temperature: math.SmallestNonzeroFloat64, TopP: 1}, 1, 1.5, -3))
	require.Equal(t, []int32{0, 1, 2}, kept(Params{Temperature: math.MaxFloat64, TopP: 1}, math.MaxFloat32, 0, -math.MaxFloat32))
}

func TestDraw(t *testing.T) {
	three := []candidate{{weight: 1, id: 7}, {weight: 2, id: 8}, {weight: 1, id: 9}}
	for at, want := range map[float64]int32{0: 7, 0.2499: 7, 0.25: 8, 0.7499: 8, 0.75: 9, math.Nextafter(1, 0): 9} {
		require.Equal(t, want, draw(three, at), "%v", at)
	}
	tenths := slices.Repeat([]candidate{{weight: 0.1}}, 10)
	tenths[9].id = 1
	require.Equal(t, int32(1), draw(tenths, math.Nextafter(1, 0)))
}

// chiSquare is Pearson's statistic of the counts of draws against
// probabilities, and its degrees of freedom.
func chiSquare(counts map[int32]int, probabilities map[int32]float64, draws int) (statistic float64, freedom int) {
	for id, p := range probabilities {
		expected := p * float64(draws)
		statistic += (float64(counts[id]) - expected) * (float64(counts[id]) - expected) / expected
	}
	return statistic, len(probabilities) - 1
}

// limit is the value that chi-square exceeds with a probability of about 1e-4
// (Wilson and Hilferty's approximation).
func limit(freedom int) float64 {
	const z = 3.719
	a := 2 / (9 * float64(freedom))
	return float64(freedom) * math.Pow(1-a+z*math.Sqrt(a), 3)
}

func TestDistribution(t *testing.T) {
	const draws = 100_000
	logits := []float32{0.3, 1.2, -0.5, 2, 1.2, 0, -1, 1.7, negInf, 0.9}
	for _, p := range []Params{
		{Temperature: 1, TopP: 1, Seed: 1},
		{Temperature: 0.5, TopP: 1, Seed: 2},
		{Temperature: 2, TopK: 6, TopP: 1, Seed: 3},
		{Temperature: 1, TopP: 0.8, Seed: 4},
		{Temperature: 1.3, TopK: 7, TopP: 0.9, Seed: 5},
	} {
		s := sampler(t, p)
		counts := map[int32]int{}
		for range draws {
			id, err := s.Next(logits)
			require.NoError(t, err)
			counts[id]++
		}
		want := oracle(logits, p)
		delete(want, 8) // the excluded one
		for id := range counts {
			require.Contains(t, want, id, "%+v", p)
		}
		statistic, freedom := chiSquare(counts, want, draws)
		require.Less(t, statistic, limit(freedom), "%+v", p)
		// The test is sharp enough to notice a temperature that is 10% off.
		wrong := map[int32]float64{}
		total := 0.0
		for id := range want {
			wrong[id] = math.Exp(float64(logits[id]) / (1.1 * p.Temperature))
			total += wrong[id]
		}
		for id := range wrong {
			wrong[id] /= total
		}
		statistic, freedom = chiSquare(counts, wrong, draws)
		require.Greater(t, statistic, limit(freedom), "%+v", p)
	}
}

func TestSeedDecides(t *testing.T) {
	logits := randomLogits(7, 500)
	sequence := func(seed uint64) []int32 {
		s := sampler(t, Params{Temperature: 1.5, TopK: 100, TopP: 0.95, Seed: seed})
		ids := make([]int32, 12)
		for i := range ids {
			var err error
			ids[i], err = s.Next(logits)
			require.NoError(t, err)
		}
		return ids
	}
	require.Equal(t, sequence(1), sequence(1))
	require.NotEqual(t, sequence(1), sequence(2))
	// Pinned, as a seed gives the same tokens on every machine.
	require.Equal(t, []int32{317, 406, 463, 463, 369, 233, 9, 369, 454, 259, 209, 462}, sequence(1))
}

func TestLogitsStayAndNothingIsAllocated(t *testing.T) {
	logits := randomLogits(3, 50257)
	before := slices.Clone(logits)
	for _, p := range settings {
		s := sampler(t, p)
		require.Zero(t, testing.AllocsPerRun(3, func() {
			if _, err := s.Next(logits); err != nil {
				t.Error(err)
			}
		}), "%+v", p)
	}
	require.Equal(t, before, logits)
}

func BenchmarkNext(b *testing.B) {
	logits := randomLogits(3, 50257)
	for _, c := range []struct {
		name   string
		params Params
	}{
		{"greedy", Params{TopP: 1}},
		{"temperature", Params{Temperature: 1, TopP: 1}},
		{"top_k=40", Params{Temperature: 1, TopK: 40, TopP: 1}},
		{"top_k=20000", Params{Temperature: 1, TopK: 20000, TopP: 1}},
		{"top_p=0.9", Params{Temperature: 1, TopP: 0.9}},
		{"top_p=0.9,hot", Params{Temperature: 100, TopP: 0.9}},
		{"top_k=40,top_p=0.9", Params{Temperature: 1, TopK: 40, TopP: 0.9}},
	} {
		b.Run(c.name, func(b *testing.B) {
			s := sampler(b, c.params)
			for b.Loop() {
				if _, err := s.Next(logits); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
