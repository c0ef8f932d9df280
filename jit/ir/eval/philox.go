package eval

import "math/bits"

// Philox is Philox4x32-10 (Salmon, Moraes, Dror and Shaw, "Parallel random
// numbers: as easy as 1, 2, 3", 2011): a counter and a key give four random words.
func Philox(counter [4]uint32, key [2]uint32) [4]uint32 {
	c0, c1, c2, c3 := counter[0], counter[1], counter[2], counter[3] // which stay in registers, as an array does not
	k0, k1 := key[0], key[1]
	m0, m1, w0, w1 := PhiloxMultipliers[0], PhiloxMultipliers[1], PhiloxWeyl[0], PhiloxWeyl[1]
	for range 10 {
		hi0, lo0 := bits.Mul32(m0, c0)
		hi1, lo1 := bits.Mul32(m1, c2)
		c0, c1, c2, c3 = hi1^c1^k0, lo1, hi0^c3^k1, lo0
		k0 += w0
		k1 += w1
	}
	return [4]uint32{c0, c1, c2, c3}
}

// PhiloxMultipliers and PhiloxWeyl are the constants of a round and what the key grows by.
var (
	PhiloxMultipliers = [2]uint32{0xD2511F53, 0xCD9E8D57}
	PhiloxWeyl        = [2]uint32{0x9E3779B9, 0xBB67AE85}
)

// RandomBits is the operation random_bits. The words of lo and hi are the four
// coordinates, the first in the low half of lo. Neighbours along the first
// coordinate share a call of Philox: the even one has its first two words.
func RandomBits(key, lo, hi uint64) uint64 {
	w := randomPair(key, lo, hi)
	return w[lo&1]
}

func randomPair(key, lo, hi uint64) [2]uint64 {
	w := Philox([4]uint32{uint32(lo) >> 1, uint32(lo >> 32), uint32(hi), uint32(hi >> 32)}, [2]uint32{uint32(key), uint32(key >> 32)})
	return [2]uint64{uint64(w[1])<<32 | uint64(w[0]), uint64(w[3])<<32 | uint64(w[2])}
}

// RandomRow is RandomBits of each element, with one call of Philox for each pair of neighbours.
func RandomRow(d, key, lo, hi []uint64) {
	for i := 0; i < len(d); i++ {
		k, l, h := key[i], lo[i], hi[i]
		w := randomPair(k, l, h)
		if l&1 == 0 && i+1 < len(d) && lo[i+1] == l+1 && hi[i+1] == h && key[i+1] == k {
			d[i] = w[0]
			i++
			d[i] = w[1]
			continue
		}
		d[i] = w[l&1]
	}
}
