package lang

import "strings"

// longestTypo is the length in bytes up to which names are compared: the time it takes grows with the square.
const longestTypo = 100

// Nearest finds, among the names, the one that a person who wrote name most
// likely meant: the least edit distance, where a swap of neighbours counts one
// and a difference of case alone nothing. It gives "" when none is close: more
// than a third of the letters differ, or the name is longer than a person writes.
func Nearest(name string, names []string) string {
	if len(name) > longestTypo {
		return ""
	}
	best, limit := "", len([]rune(name))/3+1
	wrote := []rune(strings.ToLower(name))
	for _, n := range names {
		if n == name || n == "" || n == "_" || len(n) > 2*longestTypo {
			continue
		}
		// Of several that are as near, the first by the alphabet: the order of the names decides nothing.
		if d := editDistance(wrote, []rune(strings.ToLower(n)), limit); d < limit || d == limit && best != "" && n < best {
			best, limit = n, d
		}
	}
	return best
}

// editDistance counts insertions, deletions, replacements and swaps of
// neighbours; beyond limit it gives some number larger than limit.
func editDistance(x, y []rune, limit int) int {
	if d := len(x) - len(y); d > limit || -d > limit {
		return limit + 1
	}
	rows := [3][]int{make([]int, len(y)+1), make([]int, len(y)+1), make([]int, len(y)+1)}
	for j := range rows[0] {
		rows[0][j] = j
	}
	for i := 1; i <= len(x); i++ {
		this, last, before := rows[i%3], rows[(i+2)%3], rows[(i+1)%3]
		this[0] = i
		for j := 1; j <= len(y); j++ {
			cost := 1
			if x[i-1] == y[j-1] {
				cost = 0
			}
			this[j] = min(last[j]+1, this[j-1]+1, last[j-1]+cost)
			if i > 1 && j > 1 && x[i-1] == y[j-2] && x[i-2] == y[j-1] {
				this[j] = min(this[j], before[j-2]+1)
			}
		}
	}
	return rows[len(x)%3][len(y)]
}
