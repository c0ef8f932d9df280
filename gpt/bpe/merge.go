package bpe

// rule is one merge: the pair left, right becomes result.
type rule struct {
	left, right, result int32
}

// candidate is a place where a rule may apply: the rule's rank in the upper
// half, the position of the left part in the lower, so that smaller goes first.
type candidate uint64

func newCandidate(rank, pos int32) candidate {
	return candidate(uint64(uint32(rank))<<32 | uint64(uint32(pos)))
}
func (c candidate) rank() int32 { return int32(c >> 32) }
func (c candidate) pos() int32  { return int32(uint32(c)) }

// merger is the working memory of one merge: the parts of a piece as a doubly
// linked list and the places where a rule may apply as a heap, so that a piece
// of n bytes takes O(n log n) however long it is.
type merger struct {
	parts []part
	queue []candidate
	fresh []candidate
}

// part is one token of the piece so far. Merging two leaves the left one.
type part struct {
	id         int32 // -1 once merged into the part before it
	prev, next int32 // indices, -1 at the ends
}

// add puts one more token behind the parts, which has another behind it.
func (m *merger) add(id int32) {
	at := int32(len(m.parts))
	m.parts = append(m.parts, part{id: id, prev: at - 1, next: at + 1})
}

// merge applies the rules to the parts until none applies: always the rule of
// lowest rank, at all its places from left to right, before any other.
func (m *merger) merge(ranks map[pair]int32, rules []rule) {
	m.queue, m.fresh = m.queue[:0], m.fresh[:0]
	offer := func(to []candidate, pos int32) []candidate {
		if pos < 0 || m.parts[pos].next < 0 {
			return to
		}
		if rank, ok := ranks[newPair(m.parts[pos].id, m.parts[m.parts[pos].next].id)]; ok {
			return append(to, newCandidate(rank, pos))
		}
		return to
	}
	for pos := range int32(len(m.parts)) {
		m.queue = offer(m.queue, pos)
	}
	for i := len(m.queue)/2 - 1; i >= 0; i-- {
		m.sink(i)
	}
	for current := int32(-1); ; {
		// What a rule makes possible waits until the rule has been applied
		// everywhere, even where the new one has a lower rank.
		if len(m.queue) == 0 || m.queue[0].rank() != current {
			for _, c := range m.fresh {
				m.push(c)
			}
			m.fresh = m.fresh[:0]
		}
		if len(m.queue) == 0 {
			return
		}
		c := m.pop()
		current = c.rank()
		r, pos := rules[current], c.pos()
		left := &m.parts[pos]
		if left.id != r.left || left.next < 0 || m.parts[left.next].id != r.right {
			continue // another merge took one of the two
		}
		right := &m.parts[left.next]
		left.id, right.id = r.result, -1
		left.next = right.next
		if left.next >= 0 {
			m.parts[left.next].prev = pos
		}
		m.fresh = offer(m.fresh, left.prev)
		m.fresh = offer(m.fresh, pos)
	}
}

func (m *merger) push(c candidate) {
	m.queue = append(m.queue, c)
	q := m.queue
	for i := len(q) - 1; i > 0; {
		parent := (i - 1) / 2
		if q[parent] <= q[i] {
			return
		}
		q[parent], q[i] = q[i], q[parent]
		i = parent
	}
}

func (m *merger) pop() candidate {
	q := m.queue
	top, last := q[0], len(q)-1
	q[0] = q[last]
	m.queue = q[:last]
	m.sink(0)
	return top
}

// sink moves the candidate at i down to where the heap is in order below it.
func (m *merger) sink(i int) {
	q := m.queue
	for {
		least := i
		for child := 2*i + 1; child <= 2*i+2 && child < len(q); child++ {
			if q[child] < q[least] {
				least = child
			}
		}
		if least == i {
			return
		}
		q[i], q[least] = q[least], q[i]
		i = least
	}
}
