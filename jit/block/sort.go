package block

import "tilec/lang"

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
