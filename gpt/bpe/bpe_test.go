package bpe

import (
	"encoding/json"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"tilec/gpt/safetensors"
)

const models = "../../testdata/models"

func nano(t testing.TB) *Tokenizer {
	t.Helper()
	tokenizer, err := FromDir(filepath.Join(models, "nano"))
	require.NoError(t, err)
	return tokenizer
}

func TestReferenceCases(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(models, "bpe_cases.json"))
	require.NoError(t, err)
	var cases [][2]json.RawMessage
	require.NoError(t, json.Unmarshal(text, &cases))
	require.Len(t, cases, 13)
	tokenizer := nano(t)
	for _, c := range cases {
		var text string
		var want []int32
		require.NoError(t, json.Unmarshal(c[0], &text))
		require.NoError(t, json.Unmarshal(c[1], &want))
		for range 2 { // the second from the cache
			require.Equal(t, want, append([]int32{}, tokenizer.Encode(text)...), "%q", text)
		}
		got, err := tokenizer.Decode(want)
		require.NoError(t, err)
		require.Equal(t, text, got)
	}
}

func TestOraclePrompts(t *testing.T) {
	oracle, err := safetensors.Open(filepath.Join(models, "nano/oracle.safetensors"))
	require.NoError(t, err)
	defer oracle.Close()
	tokenizer := nano(t)
	for name, prompt := range map[string]string{
		"p0.tokens": "ROMEO:\nWhat light",
		"p1.tokens": "First Citizen:\nBefore we proceed any further, hear me speak.",
	} {
		tensor, err := oracle.Tensor(name)
		require.NoError(t, err)
		want, err := tensor.Int64s()
		require.NoError(t, err)
		var got []int64
		for _, id := range tokenizer.Encode(prompt) {
			got = append(got, int64(id))
		}
		require.Equal(t, want, got)
	}
}

func TestVocabulary(t *testing.T) {
	tokenizer, err := FromFS(os.DirFS("../mini"))
	require.NoError(t, err)
	require.Equal(t, 1024, tokenizer.VocabSize())
	id, ok := tokenizer.EndOfText()
	require.True(t, ok)
	require.Zero(t, id)
	seen := map[string]bool{}
	for id := range int32(1024) {
		token, err := tokenizer.Token(id)
		require.NoError(t, err)
		require.False(t, seen[token], "%q", token)
		seen[token] = true
	}
	require.True(t, seen[" the"])
}

func TestEndOfTextIsSpecialAnywhere(t *testing.T) {
	tokenizer := nano(t)
	a, b := tokenizer.Encode("a "), tokenizer.Encode("<|endof b")
	want := append(append(append([]int32{0, 0}, a...), 0), b...)
	require.Equal(t, want, tokenizer.Encode(EndOfText+EndOfText+"a "+EndOfText+"<|endof b"))
}

func TestWithoutEndOfText(t *testing.T) {
	tokenizer := alphabet(t, nil, nil)
	_, ok := tokenizer.EndOfText()
	require.False(t, ok)
	require.Len(t, tokenizer.Encode(EndOfText), len(EndOfText))
}

func TestDecodeRefuses(t *testing.T) {
	tokenizer := nano(t)
	for _, id := range []int32{-1, 1024, 1 << 30} {
		_, err := tokenizer.Decode([]int32{5, id})
		require.ErrorContains(t, err, "token 1 of 2: id ")
		require.ErrorContains(t, err, "is outside the vocabulary, required 0 to 1023")
		_, err = tokenizer.NewStream().Next(id)
		require.ErrorContains(t, err, "is outside the vocabulary")
	}
}

func TestStream(t *testing.T) {
	tokenizer := alphabet(t, nil, nil) // every byte is a token
	stream := tokenizer.NewStream()
	var got []string
	for _, id := range tokenizer.Encode("a你\xffé\xe4\xbdb🌍\xf0\x9f") {
		text, err := stream.Next(id)
		require.NoError(t, err)
		got = append(got, text)
	}
	require.Equal(t, []string{"a", "", "", "你", "\xff", "", "é", "", "", "\xe4\xbdb", "", "", "", "🌍", "", ""}, got)
	require.Equal(t, "\xf0\x9f", stream.Flush())
	require.Empty(t, stream.Flush())
}

func TestLongPiece(t *testing.T) {
	// A quadratic merge would take hours.
	tokenizer := nano(t)
	random := rand.New(rand.NewPCG(1, 2))
	word := make([]byte, 1<<20)
	for i := range word {
		word[i] = 'a' + byte(random.IntN(26))
	}
	text := string(word)
	got, err := tokenizer.Decode(tokenizer.Encode(text))
	require.NoError(t, err)
	require.True(t, got == text)
}

func TestConcurrentUse(t *testing.T) {
	tokenizer := nano(t)
	text := strings.Repeat("But, soft! what light through yonder window breaks? ", 20)
	want := nano(t).Encode(text)
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 20 {
				if got := tokenizer.Encode(text); len(got) != len(want) {
					t.Errorf("%d tokens, required %d", len(got), len(want))
				}
			}
		})
	}
	all.Wait()
}

func TestCacheStartsAnewWhenFull(t *testing.T) {
	var c cache
	for i := range cachedPieces + 3 {
		c.put(string(rune(i+0x10000)), []int32{int32(i)})
	}
	require.Len(t, c.pieces, 3)
	ids, ok := c.get(string(rune(cachedPieces + 0x10000)))
	require.True(t, ok)
	require.Equal(t, []int32{cachedPieces}, ids)
	c.put(strings.Repeat("x", cachedLength+1), []int32{1})
	require.Len(t, c.pieces, 3, "a long piece is not worth its memory")
}

func FuzzRoundTrip(f *testing.F) {
	tokenizer := nano(f)
	for _, text := range []string{
		"", "Hello, world!", "don't  \n\t x", "naïve — “quotes” 你好 🌍", "a\u00a0b", EndOfText, "<|endoftext", "\xff\xfe\xc3", "\xed\xa0\x80é",
		"1234 '' 'll  ", strings.Repeat("ab", 100),
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		ids := tokenizer.Encode(text)
		decoded, err := tokenizer.Decode(ids)
		require.NoError(t, err)
		require.Equal(t, text, decoded)
		stream := tokenizer.NewStream()
		var streamed strings.Builder
		for _, id := range ids {
			part, err := stream.Next(id)
			require.NoError(t, err)
			require.True(t, utf8.ValidString(part) || !utf8.ValidString(text), "%q is a part of a character", part)
			streamed.WriteString(part)
		}
		streamed.WriteString(stream.Flush())
		require.Equal(t, text, streamed.String())
	})
}

func BenchmarkEncode(b *testing.B) {
	tokenizer := nano(b)
	text := strings.Repeat("But, soft! what light through yonder window breaks? It is the east, and Juliet is the sun.\n", 100)
	b.SetBytes(int64(len(text)))
	var ids []int32
	for b.Loop() {
		ids = tokenizer.AppendEncode(ids[:0], text)
	}
}

func BenchmarkEncodeLongPiece(b *testing.B) {
	tokenizer := nano(b)
	text := strings.Repeat("thequickbrownfox", 4096)
	b.SetBytes(int64(len(text)))
	var ids []int32
	for b.Loop() {
		ids = tokenizer.AppendEncode(ids[:0], text)
	}
}
