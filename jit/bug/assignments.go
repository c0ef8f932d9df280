package bug

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Assignments writes numbers by name, sorted: `BM=64 warps=4`. A name that is no word is quoted.
func Assignments(m map[string]int64) string {
	var words []string
	for _, name := range slices.Sorted(maps.Keys(m)) {
		n := m[name]
		if strings.ContainsAny(name, " =\"") {
			name = fmt.Sprintf("%q", name)
		}
		words = append(words, fmt.Sprintf("%s=%d", name, n))
	}
	return strings.Join(words, " ")
}

// ParseAssignments reads what assignments writes.
func ParseAssignments(text string) (map[string]int64, error) {
	out := map[string]int64{}
	for text = strings.TrimSpace(text); text != ""; text = strings.TrimSpace(text) {
		name := ""
		if quoted, err := strconv.QuotedPrefix(text); err == nil {
			if name, err = strconv.Unquote(quoted); err != nil {
				return nil, err
			}
			text = text[len(quoted):]
		} else if n := strings.IndexByte(text, '='); n > 0 && text[0] != '"' {
			name, text = text[:n], text[n:]
		}
		value, rest, _ := strings.Cut(strings.TrimPrefix(text, "="), " ")
		n, err := strconv.ParseInt(value, 10, 64)
		if err != nil || name == "" || text[0] != '=' {
			return nil, fmt.Errorf("%q is no list of NAME=NUMBER", text)
		}
		out[name], text = n, rest
	}
	return out, nil
}
