package bpe

import (
	"slices"
	"strings"
	"sync"
)

const (
	cachedPieces = 1 << 15 // pieces; text repeats its words, so few are enough
	cachedLength = 64      // bytes; longer pieces hardly repeat
)

// cache remembers the tokens of pieces. When full it starts anew: what is
// frequent comes back at once.
type cache struct {
	mu     sync.RWMutex
	pieces map[string][]int32
}

func (c *cache) get(piece string) ([]int32, bool) {
	if len(piece) > cachedLength {
		return nil, false
	}
	c.mu.RLock()
	defer c.mu.RUnlock()
	ids, ok := c.pieces[piece]
	return ids, ok
}

func (c *cache) put(piece string, ids []int32) {
	if len(piece) > cachedLength {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.pieces == nil || len(c.pieces) >= cachedPieces {
		c.pieces = make(map[string][]int32)
	}
	// Clones, so that neither the whole text nor the caller's ids live on.
	c.pieces[strings.Clone(piece)] = slices.Clone(ids)
}
