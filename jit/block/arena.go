package block

import "tilec/jit/layout"

// Arena gives places in the shared memory of a block, as a stack: what is taken last is given back first, and what lies there then
// has nothing of what was there before.
type Arena struct {
	// Top is where the next buffer may begin, Peak the most that was ever taken, in bytes.
	Top, Peak int
}

// arenaUnit is what sizes of buffers are rounded up to, patternBytes how far from the next one a pattern of swizzled rows begins.
const arenaUnit, patternBytes = 128, 1024

// Take gives so many bytes a place, and says how many they are with what is left over.
func (m *Arena) Take(size int) (at, taken int) {
	taken = (size + arenaUnit - 1) / arenaUnit * arenaUnit
	align := min(patternBytes, layout.PowerAbove(taken))
	at = (m.Top + align - 1) / align * align
	m.Top = at + taken
	m.Peak = max(m.Peak, m.Top)
	return at, taken
}
