package emu

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// An atomic of a word leaves alone what it does not change, for another block may write the bytes beside its own without one: elements of 4 bits got lost so.
func TestAtomicsLeaveOtherBytes(t *testing.T) {
	at := []byte{1, 2, 3, 4}
	old := word(at)
	at[0] = 9 // another block's
	setChanged(at, old, old&^(0xff<<16)|7<<16)
	assert.Equal(t, []byte{9, 2, 7, 4}, at)
}
