package size

import (
	"math"
	"slices"
	"sync"
)

// system is the rows of a proof.
type system struct {
	*Prover
	vars      map[string]int
	monomials [][]atom // by variable
	rows      []row
	seen      map[string]bool
	attempt
	failed bool
	// What steps of a proof need for themselves, kept from one to the next.
	text           []byte
	pos, neg, rest []row
	adds, takes    []int
	first, users   []int32
	free           []int
	dropped        []bool
}

// systems are those of proofs that have ended: a check makes thousands of them, and their rooms are most of what it would allocate.
var systems = sync.Pool{New: func() any { return &system{vars: map[string]int{}, seen: map[string]bool{}} }}

// begin makes a system without rows.
func (y *system) begin(p *Prover, try attempt) {
	clear(y.vars)
	clear(y.seen)
	y.Prover, y.attempt, y.failed = p, try, false
	y.monomials, y.rows = y.monomials[:0], y.rows[:0]
}

// release gives a system back. It keeps nothing of the proof alive.
func (y *system) release() {
	y.Prover = nil
	for _, rows := range [][]row{y.rows, y.pos, y.neg, y.rest} {
		clear(rows[:cap(rows)])
	}
	clear(y.monomials[:cap(y.monomials)])
	systems.Put(y)
}

// prune drops the rows with a variable that all of them add to their sums, or all take away:
// by making it large enough, or small enough, they hold whatever the others are.
func (y *system) prune() {
	y.count()
	// Of users, which are the rows of each variable, those of v begin at first[v].
	y.first = append(y.first[:0], 0)
	for v := range y.adds {
		y.first = append(y.first, y.first[v]+int32(y.adds[v]+y.takes[v]))
	}
	y.users = slices.Grow(y.users[:0], int(y.first[len(y.adds)]))[:y.first[len(y.adds)]]
	for i := len(y.rows) - 1; i >= 0; i-- {
		for _, c := range y.rows[i].coeff {
			y.first[c.variable+1]--
			y.users[y.first[c.variable+1]] = int32(i)
		}
	}
	// Filling left each beginning in the place of the variable behind.
	copy(y.first, y.first[1:])
	y.first[len(y.adds)] = int32(len(y.users))
	y.free = y.free[:0]
	for v := range y.adds {
		if (y.adds[v] == 0) != (y.takes[v] == 0) {
			y.free = append(y.free, v)
		}
	}
	y.dropped = append(y.dropped[:0], make([]bool, len(y.rows))...)
	for len(y.free) > 0 {
		v := y.free[len(y.free)-1]
		y.free = y.free[:len(y.free)-1]
		for _, i := range y.users[y.first[v]:y.first[v+1]] {
			if y.dropped[i] {
				continue
			}
			y.dropped[i] = true
			for _, c := range y.rows[i].coeff {
				w := c.variable
				if c.of > 0 {
					y.adds[w]--
				} else {
					y.takes[w]--
				}
				if w != v && (y.adds[w] == 0) != (y.takes[w] == 0) {
					y.free = append(y.free, w)
				}
			}
		}
	}
	kept := y.rows[:0]
	for i, r := range y.rows {
		if !y.dropped[i] {
			kept = append(kept, r)
		}
	}
	y.rows = kept
}

// count finds in how many rows each variable is added, and in how many it is taken away.
func (y *system) count() {
	y.adds = append(y.adds[:0], make([]int, len(y.monomials))...)
	y.takes = append(y.takes[:0], make([]int, len(y.monomials))...)
	for _, r := range y.rows {
		for _, c := range r.coeff {
			if c.of > 0 {
				y.adds[c.variable]++
			} else {
				y.takes[c.variable]++
			}
		}
	}
}

// cheapest is the variable whose elimination makes the fewest rows.
func (y *system) cheapest() (int, bool) {
	y.count()
	best, cost := -1, math.MaxInt
	for v := range y.monomials {
		pos, neg := y.adds[v], y.takes[v]
		if pos+neg == 0 {
			continue
		}
		if c := pos*neg - pos - neg; c < cost {
			best, cost = v, c
		}
	}
	return best, best >= 0
}
