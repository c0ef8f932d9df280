package graph

import (
	"fmt"

	"tilec/jit/log"
	"tilec/jit/spec"
)

// Apart is a pair of launches that could be one and stay two.
type Apart struct {
	// First and Second are their names; the second reads what the first stores, or follows it.
	First, Second string
	Why           string
}

// Note is what a pass that makes launches smaller did, in words.
type Note struct{ Pass, Text string }

// refused is a pair of launches that stay two, as they are then.
type refused struct {
	first, second *spec.Spec
	why           error
}

// refuse notes why two launches stay two.
func (r *rewriter) refuse(first, second int, why error) {
	a, b := r.Calls[first].Spec, r.Calls[second].Spec
	r.logs.Line(log.Launch, "%s and %s stay two launches: %v", a.Name(), b.Name(), why)
	r.refused = append(r.refused, refused{a, b, why})
}

// tell notes what a pass did.
func (r *rewriter) tell(pass, format string, args ...any) {
	r.changed = true
	r.Notes = append(r.Notes, Note{pass, fmt.Sprintf(format, args...)})
}

// stayApart notes which pairs of the launches that there are at the end stay two: others have become one with something else.
func (r *rewriter) stayApart() {
	at := map[*spec.Spec]int{}
	for i := range r.Calls {
		at[r.Calls[i].Spec] = i
	}
	type pair struct{ first, second int }
	seen := map[pair]int{}
	for _, p := range r.refused {
		i, there := at[p.first]
		j, too := at[p.second]
		if !there || !too {
			continue
		}
		n, again := seen[pair{i, j}]
		if !again {
			n = len(r.Apart)
			seen[pair{i, j}] = n
			r.Apart = append(r.Apart, Apart{First: p.first.Name(), Second: p.second.Name()})
		}
		r.Apart[n].Why = p.why.Error() // the last way that was tried is the one that was nearest
	}
}
