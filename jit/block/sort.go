package block

import (
	"math/bits"

	"tilec/lang"
)

// This file says what a sort takes of shared memory: a network over a word for each element, which has the element's key and its
// place.

// SortRow is how many words a sort has for a row of n elements: a power of two, in whole chunks of 16 bytes.
func SortRow(n int64) int64 {
	words := int64(4)
	for words < n {
		words *= 2
	}
	return words
}

// SortsPlaces reports keys that fill a word, so that the places have words of their own.
func SortsPlaces(key lang.DType) bool { return key.Bits() == 64 }

// SortBytes is what an element with such a key takes.
func SortBytes(key lang.DType) int64 {
	if SortsPlaces(key) {
		return 12
	}
	return 8
}

// mostSortBits is how many bits of their numbers the words of a thread differ in: 16 words have 32 registers. Those with places of their own have half
// as many.
const mostSortBits = 4

// SortBits is how many bits of their numbers the words of a thread differ in, which a sort takes through registers at a time, of rows of so many words.
func SortBits(key lang.DType, rows, length int64, threads int) int {
	n := mostSortBits
	if SortsPlaces(key) {
		n--
	}
	for n > 2 && rows*length>>n < int64(threads)/2 { // most threads have something to do
		n--
	}
	return min(n, bits.Len64(uint64(length))-1)
}

// SortPasses is how often a sort takes all words through registers: once for the first rounds, then each round in ways of so many bits.
func SortPasses(bits, length int64) int64 {
	passes := int64(1)
	for round := bits + 1; length>>round > 0; round++ {
		passes += 1 + (round-1)/bits
	}
	return passes
}
