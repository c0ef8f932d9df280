package sample

import (
	"math"
	"slices"
)

// candidate is a token that may be chosen.
type candidate struct {
	weight float64 // probability times an unknown factor, above 0
	logit  float32
	id     int32
}

// before orders candidates by falling logit; equal ones by id, so that the order is one of a kind.
func (c candidate) before(d candidate) bool {
	return c.logit > d.logit || c.logit == d.logit && c.id < d.id
}

// keep gives the tokens that temperature, top-k and top-p leave. The most is
// the largest logit; its token is among them.
func (s *Sampler) keep(logits []float32, most float32) []candidate {
	if cap(s.candidates) < len(logits) {
		s.candidates = make([]candidate, 0, len(logits))
	}
	least := float32(math.Inf(-1))
	if k := s.params.TopK; k > 0 && k < len(logits) {
		least = s.kthLargest(logits, k)
	}
	kept := s.candidates[:0]
	for id, logit := range logits {
		if logit < least {
			continue
		}
		// Relative to the largest logit, no weight overflows and one is 1.
		if weight := exp((float64(logit) - float64(most)) / s.params.Temperature); weight > 0 {
			kept = append(kept, candidate{weight, logit, int32(id)})
		}
	}
	if s.params.TopP < 1 {
		kept = nucleus(kept, s.params.TopP)
	}
	return kept
}

// kthLargest is the k-th largest logit, k of 1 to len(logits). It keeps the k
// largest so far in a heap with the smallest of them on top; as most logits
// are smaller than that, one comparison is what most of them cost.
func (s *Sampler) kthLargest(logits []float32, k int) float32 {
	if s.largest == nil {
		s.largest = make([]float32, 0, k)
	}
	h := append(s.largest[:0], logits[:k]...)
	for i := len(h)/2 - 1; i >= 0; i-- {
		sink(h, i)
	}
	for _, logit := range logits[k:] {
		if logit > h[0] {
			h[0] = logit
			sink(h, 0)
		}
	}
	return h[0]
}

// nucleus keeps the first candidates, in order, whose weights make up the
// fraction p of the total. It orders them only as far as the cut needs.
func nucleus(all []candidate, p float64) []candidate {
	total := 0.0
	for _, c := range all {
		total += c.weight
	}
	// All candidates up to this weight together have no more than 1-p of the total.
	hopeless := (1 - p) * total / float64(len(all))
	h := slices.DeleteFunc(all, func(c candidate) bool { return c.weight < hopeless })
	// The cut lies within h[lo:hi]: what goes before is kept, and missing is
	// what it lacks, above 0.
	lo, hi, missing := 0, len(h), p*total
	for lo < hi {
		pivot, before := partition(h[lo:hi])
		pivot += lo
		upTo := before + h[pivot].weight
		switch {
		case before >= missing:
			hi = pivot
		case upTo >= missing:
			return h[:pivot+1]
		default:
			lo, missing = pivot+1, missing-upTo
		}
	}
	return h[:lo] // all, where rounding leaves something missing
}

// partition chooses one of h, which is not empty, and puts those that go before
// it on its left, the others on its right. It gives the chosen one's index and
// the weight on its left.
func partition(h []candidate) (pivot int, before float64) {
	last := len(h) - 1
	// The median of three does well for logits in order too.
	a, b, c := 0, last/2, last
	if h[b].before(h[a]) {
		a, b = b, a
	}
	if h[c].before(h[b]) {
		b = c
		if h[b].before(h[a]) {
			b = a
		}
	}
	h[b], h[last] = h[last], h[b]
	chosen := h[last]
	for i := range last {
		if h[i].before(chosen) {
			before += h[i].weight
			h[i], h[pivot] = h[pivot], h[i]
			pivot++
		}
	}
	h[pivot], h[last] = h[last], h[pivot]
	return pivot, before
}

// sink moves the number at i down to where none below it in the heap is smaller.
func sink(h []float32, i int) {
	for {
		least := i
		for child := 2*i + 1; child <= 2*i+2 && child < len(h); child++ {
			if h[child] < h[least] {
				least = child
			}
		}
		if least == i {
			return
		}
		h[i], h[least] = h[least], h[i]
		i = least
	}
}
