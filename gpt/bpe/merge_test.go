package bpe

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"
)

// alphabet makes a tokenizer of the 256 bytes, the extra tokens and merges.
func alphabet(t testing.TB, extra []string, merges []string) *Tokenizer {
	t.Helper()
	vocab := map[string]int{}
	for _, char := range byteChar {
		vocab[string(char)] = len(vocab)
	}
	for _, token := range extra {
		vocab[token] = len(vocab)
	}
	text, err := json.Marshal(vocab)
	require.NoError(t, err)
	tokenizer, err := New(text, []byte("#version: 0.2\n"+strings.Join(merges, "\n")+"\n"))
	require.NoError(t, err)
	return tokenizer
}

// byRounds is the definition of the algorithm: find the neighbours of lowest
// rank, join all of them from left to right, and again.
func byRounds(t *Tokenizer, piece string) []int32 {
	var ids []int32
	for i := range len(piece) {
		ids = append(ids, t.byteID[piece[i]])
	}
	for {
		best := int32(-1)
		for i := range len(ids) - 1 {
			if rank, ok := t.ranks[newPair(ids[i], ids[i+1])]; ok && (best < 0 || rank < best) {
				best = rank
			}
		}
		if best < 0 {
			return ids
		}
		r := t.rules[best]
		var next []int32
		for i := 0; i < len(ids); i++ {
			if i+1 < len(ids) && ids[i] == r.left && ids[i+1] == r.right {
				next = append(next, r.result)
				i++
			} else {
				next = append(next, ids[i])
			}
		}
		ids = next
	}
}

// TestMergeAgainstRounds compares with the definition on random lists of
// merges, which unlike learned ones may rank a merge before those that make
// its parts.
func TestMergeAgainstRounds(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	for list := range 60 {
		tokens := []string{"a", "b", "c"}
		known := map[string]bool{"a": true, "b": true, "c": true}
		taken := map[string]bool{}
		var extra, merges []string
		for range 12 {
			left, right := tokens[random.IntN(len(tokens))], tokens[random.IntN(len(tokens))]
			merge := left + " " + right
			if taken[merge] || len(left)+len(right) > 8 {
				continue
			}
			taken[merge] = true
			merges = append(merges, merge)
			if !known[left+right] {
				known[left+right] = true
				tokens = append(tokens, left+right)
				extra = append(extra, left+right)
			}
		}
		if list%2 == 1 {
			random.Shuffle(len(merges), func(i, j int) { merges[i], merges[j] = merges[j], merges[i] })
		}
		tokenizer := alphabet(t, extra, merges)
		for range 100 {
			piece := make([]byte, 2+random.IntN(30))
			for i := range piece {
				piece[i] = "abc"[random.IntN(3)]
			}
			require.Equal(t, byRounds(tokenizer, string(piece)), tokenizer.Encode(string(piece)), "%s with %q", piece, merges)
		}
	}
}

func TestRuleIsAppliedEverywhereFirst(t *testing.T) {
	// "ab a" ranks before "a b", which makes its left part: both "a b" are
	// joined before it gets its turn.
	tokenizer := alphabet(t, []string{"ab", "aba"}, []string{"ab a", "a b"})
	require.Equal(t, []int32{256, 256}, tokenizer.Encode("abab"))
	require.Equal(t, []int32{257}, tokenizer.Encode("aba"))
}

func TestLoadRefuses(t *testing.T) {
	bytes := map[string]int{}
	for _, char := range byteChar {
		bytes[string(char)] = len(bytes)
	}
	vocab := func(change string) string {
		text, err := json.Marshal(bytes)
		require.NoError(t, err)
		return strings.TrimSuffix(string(text), "}") + change + "}"
	}
	for _, c := range []struct{ vocab, merges, want string }{
		{"", "", "vocab.json: the JSON text ends early"},
		{"[]", "", "vocab.json: JSON [ where an object is required"},
		{"{}", "", `vocab.json: the token 'Ā' for byte 0x00 is missing, required one for each of the 256 bytes`},
		{vocab(`,"a":300`), "", `vocab.json: "a" occurs twice`},
		{vocab(`,"ab":"256"`), "", `vocab.json: token "ab": id 256, required an integer`},
		{vocab(`,"ab":{}`), "", `vocab.json: token "ab": id {, required an integer`},
		{vocab(`,"ab":-1`), "", `vocab.json: token "ab": id -1, required an integer of 0 to 2147483647`},
		{vocab(`,"ab":1.5`), "", `vocab.json: token "ab": id 1.5`},
		{vocab(`,"ab":99999999999`), "", `vocab.json: token "ab": id 99999999999`},
		{vocab(`,"ab":257`), "", `vocab.json: token "ab": id 257, required 0 to 256, one for each of the 257 tokens`},
		{vocab(fmt.Sprintf(`,"ab":%d`, bytes["A"])), "", `belongs to token "A", required a different one for each`},
		{vocab(`,"ab":256`), "a b\nab", `merges.txt: line 2: "ab", required two tokens with a space between`},
		{vocab(`,"ab":256`), "#version: 0.2\na b c", `merges.txt: line 2: "a b c", required two tokens`},
		{vocab(`,"ab":256`), "a  b", `merges.txt: line 1: "a  b", required two tokens`},
		{vocab(`,"ab":256`), "a b\n\na c", `merges.txt: line 2: "", required two tokens`},
		{vocab(`,"ab":256`), "a \na b", `merges.txt: line 1: "a ", required two tokens`},
		{vocab(`,"ab":256`), "a b\na c", `merges.txt: line 2: merge "a c" uses "ac", which is not in the vocabulary`},
		{vocab(`,"ab":256`), "xy a", `merges.txt: line 1: merge "xy a" uses "xy"`},
		{vocab(`,"ab":256`), "#version: 0.2\na b\na b", `merges.txt: line 3: merge "a b" repeats line 2`},
	} {
		_, err := New([]byte(c.vocab), []byte(c.merges))
		require.ErrorContains(t, err, c.want)
	}
}

func TestLoadAccepts(t *testing.T) {
	bytes := map[string]int{}
	for _, char := range byteChar {
		bytes[string(char)] = len(bytes)
	}
	bytes["##"], bytes["<two words>"] = 256, 257
	vocab, err := json.Marshal(bytes)
	require.NoError(t, err)
	for _, merges := range []string{"# #", "# #\n", "#version: 0.2\n# #\n\n", "#version: 0.2\r\n# #\r\n"} {
		tokenizer, err := New(vocab, []byte(merges))
		require.NoError(t, err, "%q", merges)
		require.Equal(t, []int32{256}, tokenizer.Encode("##"))
		added, err := tokenizer.Token(257)
		require.NoError(t, err)
		require.Equal(t, "<two words>", added, "a token that is not of byte characters is its own text")
	}
	delete(bytes, "##")
	bytes["<two words>"], bytes["[PAD]"] = 256, 257
	vocab, err = json.Marshal(bytes)
	require.NoError(t, err)
	none, err := New(vocab, nil)
	require.NoError(t, err)
	require.Len(t, none.Encode("##"), 2)
}

// Merges that do not make the vocabulary would cut text into other tokens than the model learned.
func TestMergesThatAreLost(t *testing.T) {
	vocab, err := os.ReadFile(filepath.Join(models, "nano", vocabFile))
	require.NoError(t, err)
	merges, err := os.ReadFile(filepath.Join(models, "nano", mergesFile))
	require.NoError(t, err)
	_, err = New(vocab, merges)
	require.NoError(t, err)
	lines := strings.SplitAfter(strings.TrimSuffix(string(merges), "\n"), "\n")
	rules := len(lines) - 1 // below the line of the version
	for keep, want := range map[int]string{
		0:         fmt.Sprintf("no merge makes %d of the 1024 tokens of vocab.json, as ", rules),
		rules / 2: fmt.Sprintf("and there are %d merges: the file is cut short or of another model", rules/2),
		rules - 1: "no merge makes 1 of the 1024 tokens of vocab.json, as ",
	} {
		_, err := New(vocab, []byte(strings.Join(lines[:1+keep], "")))
		require.ErrorContains(t, err, "merges.txt: ")
		require.ErrorContains(t, err, want)
	}
	_, err = New(vocab, nil)
	require.ErrorContains(t, err, "and there are 0 merges")
}

func TestMissingFiles(t *testing.T) {
	dir := t.TempDir()
	_, err := FromDir(dir)
	require.ErrorContains(t, err, "tokenizer in "+dir)
	require.ErrorContains(t, err, "vocab.json")
	require.ErrorIs(t, err, fs.ErrNotExist)
	_, err = FromFS(fstest.MapFS{"vocab.json": {Data: []byte("{}")}})
	require.ErrorContains(t, err, "merges.txt")
	require.ErrorIs(t, err, fs.ErrNotExist)
}
