package assembled

import (
	"cmp"
	"slices"
	"sort"
	"strings"
)

// This file finds the loops of a kernel, and the way through code that takes the fewest instructions.

// next lists where an instruction leads.
func (k *Kernel) next(n int) []int {
	i := &k.Instructions[n]
	var to []int
	always := i.Predicate == "" || i.Predicate == "@PT"
	conditional := !always || !strings.HasPrefix(i.Operands, "`") // of `BRA.DIV UR4, ...` the condition is an operand
	switch {
	case i.Target >= 0:
		to = append(to, i.Target)
		if conditional && n+1 < len(k.Instructions) {
			to = append(to, n+1)
		}
	case i.Is("EXIT", "RET") && always:
	case n+1 < len(k.Instructions):
		to = append(to, n+1)
	}
	return slices.DeleteFunc(to, func(t int) bool { return t >= len(k.Instructions) })
}

// Loop is a natural loop: what lies between its head and the branches back to it.
type Loop struct {
	// Head is the first instruction, Body all of them in the order of their addresses.
	Head int
	Body []int
}

// Loops finds the loops, the innermost of those around an instruction first.
func (k *Kernel) Loops() []Loop {
	n := len(k.Instructions)
	if n == 0 {
		return nil
	}
	before := make([][]int, n)
	for i := range n {
		for _, t := range k.next(i) {
			before[t] = append(before[t], i)
		}
	}
	dominator := k.dominators(before)
	dominates := func(h, i int) bool {
		for i > h && dominator[i] >= 0 && dominator[i] != i {
			i = dominator[i]
		}
		for i != h && dominator[i] >= 0 && dominator[i] != i {
			i = dominator[i]
		}
		return i == h
	}
	bodies := map[int]map[int]bool{}
	for i := range n {
		if dominator[i] < 0 {
			continue // nothing leads here
		}
		for _, h := range k.next(i) {
			if h > i || !dominates(h, i) {
				continue
			}
			if bodies[h] == nil {
				bodies[h] = map[int]bool{h: true}
			}
			work := []int{i}
			for len(work) > 0 {
				x := work[len(work)-1]
				work = work[:len(work)-1]
				if !bodies[h][x] {
					bodies[h][x] = true
					work = append(work, before[x]...)
				}
			}
		}
	}
	var loops []Loop
	for h, body := range bodies {
		l := Loop{Head: h}
		for i := range body {
			l.Body = append(l.Body, i)
		}
		slices.Sort(l.Body)
		loops = append(loops, l)
	}
	sort.Slice(loops, func(i, j int) bool { // a generic sort of another type is 18 KB more of the binary
		a, b := loops[i], loops[j]
		return cmp.Or(len(a.Body)-len(b.Body), a.Head-b.Head) < 0
	})
	return loops
}

// dominators gives of each instruction the last one that all ways to it go through, of the first itself; -1 where none leads to it.
func (k *Kernel) dominators(before [][]int) []int {
	n := len(k.Instructions)
	// Numbers in the order in which a depth-first walk leaves instructions.
	left := make([]int, n)
	for i := range left {
		left[i] = -1
	}
	var order []int
	seen := make([]bool, n)
	type visit struct{ at, child int }
	stack := []visit{{0, 0}}
	seen[0] = true
	for len(stack) > 0 {
		v := &stack[len(stack)-1]
		to := k.next(v.at)
		if v.child < len(to) {
			t := to[v.child]
			v.child++
			if !seen[t] {
				seen[t] = true
				stack = append(stack, visit{t, 0})
			}
			continue
		}
		left[v.at] = len(order)
		order = append(order, v.at)
		stack = stack[:len(stack)-1]
	}
	dominator := make([]int, n)
	for i := range dominator {
		dominator[i] = -1
	}
	dominator[0] = 0
	meet := func(a, b int) int {
		for a != b {
			for left[a] < left[b] {
				a = dominator[a]
			}
			for left[b] < left[a] {
				b = dominator[b]
			}
		}
		return a
	}
	for changed := true; changed; {
		changed = false
		for j := len(order) - 1; j >= 0; j-- {
			i := order[j]
			if i == 0 {
				continue
			}
			found := -1
			for _, b := range before[i] {
				switch {
				case dominator[b] < 0:
				case found < 0:
					found = b
				default:
					found = meet(found, b)
				}
			}
			if found >= 0 && dominator[i] != found {
				dominator[i], changed = found, true
			}
		}
	}
	return dominator
}

// way is what is executed between two places: worth is of what must be on it, and steps the instructions.
type way struct {
	worth, steps int
	ok           bool
}

// better prefers what is worth more, and of that what takes fewer instructions.
func (w way) better(o way) bool {
	if w.ok != o.ok {
		return w.ok
	}
	if w.worth != o.worth {
		return w.worth > o.worth
	}
	return w.steps < o.steps
}

// fastest is the way through the instructions, from the first of them to where ends is true, that is worth the most and takes the fewest
// instructions of those. No branch back is taken: loops inside count once.
func (k *Kernel) fastest(body []int, worth func(*Instruction) int, ends func(n int) bool) way {
	ways := map[int]way{body[0]: {ok: true}}
	inside := map[int]bool{}
	for _, n := range body {
		inside[n] = true
	}
	var best way
	for _, n := range body {
		w, ok := ways[n]
		if !ok {
			continue
		}
		w.steps++
		w.worth += worth(&k.Instructions[n])
		if ends(n) && w.better(best) {
			best = w
		}
		for _, t := range k.next(n) {
			if t <= n || !inside[t] {
				continue
			}
			if o, ok := ways[t]; !ok || w.better(o) {
				ways[t] = w
			}
		}
	}
	return best
}

// Count is what a warp executes on a way through code, and what that is for.
type Count struct {
	// Instructions are those executed; MultiplyAdds those of its products on the matrix unit, and Bytes those that a lane reads of and
	// writes to global memory by loads and stores.
	Instructions, MultiplyAdds, Bytes int
}

// Step counts one step of a loop, on the fastest way that has all of its matrix products, or that reads and writes
// the most where it has none. ok is false where there is none such.
func (k *Kernel) Step(l Loop) (c Count, ok bool) {
	matrix := k.has(l, (*Instruction).Matrix)
	worth := (*Instruction).GlobalBytes
	if matrix {
		worth = (*Instruction).MultiplyAdds
	}
	body := append([]int{l.Head}, slices.DeleteFunc(slices.Clone(l.Body), func(n int) bool { return n <= l.Head })...)
	w := k.fastest(body, worth, func(n int) bool { return slices.Contains(k.next(n), l.Head) })
	if matrix {
		return Count{Instructions: w.steps, MultiplyAdds: w.worth}, w.ok
	}
	return Count{Instructions: w.steps, Bytes: w.worth}, w.ok
}

// Straight counts the fastest way through the kernel that stores the most, loops once. Bytes are those that are stored.
func (k *Kernel) Straight() (c Count, ok bool) {
	body := make([]int, len(k.Instructions))
	for n := range body {
		body[n] = n
	}
	stored := func(i *Instruction) int {
		if i.Is("STG") {
			return i.GlobalBytes()
		}
		return 0
	}
	w := k.fastest(body, stored, func(n int) bool { return k.Instructions[n].Is("EXIT") })
	return Count{Instructions: w.steps, Bytes: w.worth}, w.ok
}

func (k *Kernel) has(l Loop, is func(*Instruction) bool) bool { return k.Count(l, is) > 0 }

// Count is how many instructions of a kind a loop has.
func (k *Kernel) Count(l Loop, is func(*Instruction) bool) int {
	c := 0
	for _, n := range l.Body {
		if is(&k.Instructions[n]) {
			c++
		}
	}
	return c
}

// innermost are the loops that have such an instruction, and in which no other loop has one.
func (k *Kernel) innermost(is func(*Instruction) bool) []Loop {
	var found []Loop
	for _, l := range k.Loops() { // the small ones first
		if k.has(l, is) && !slices.ContainsFunc(found, func(f Loop) bool { return slices.Contains(l.Body, f.Head) }) {
			found = append(found, l)
		}
	}
	return found
}

// Rings are the innermost loops with products on the matrix unit.
func (k *Kernel) Rings() []Loop { return k.innermost((*Instruction).Matrix) }

// Streams are the innermost loops that read or write global memory, and have no products.
func (k *Kernel) Streams() []Loop {
	loops := k.innermost(func(i *Instruction) bool { return i.GlobalBytes() > 0 })
	return slices.DeleteFunc(loops, func(l Loop) bool { return k.has(l, (*Instruction).Matrix) })
}
