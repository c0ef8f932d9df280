package nanogpt

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"tilec/gpt/bpe"
	"tilec/gpt/torch"
	"tilec/jit/file"
)

// metaFile is the vocabulary of characters that nanoGPT's preparation of a text writes beside its data.
const metaFile = "meta.pkl"

// tokenizer is one that goes with the weights: its folder, and its files by their names.
type tokenizer struct {
	*bpe.Tokenizer
	dir   string
	files map[string][]byte
}

// findTokenizer reads the tokenizer in the folder that is asked for or, where none is, in the source's; nil where that has none.
func findTokenizer(source, asked string) (*tokenizer, error) {
	dir := asked
	if asked == "" {
		dir = source
	}
	t, err := readTokenizer(dir)
	if errors.Is(err, fs.ErrNotExist) {
		meta, metaErr := readMeta(dir)
		if !errors.Is(metaErr, fs.ErrNotExist) {
			return meta, metaErr
		}
		if asked == "" {
			return nil, nil
		}
		return nil, fmt.Errorf("%w, nor a %s of nanoGPT", err, metaFile)
	}
	return t, err
}

// readTokenizer reads the files of a folder as they are.
func readTokenizer(dir string) (*tokenizer, error) {
	own, err := bpe.FromDir(dir)
	if err != nil {
		return nil, err
	}
	t := &tokenizer{own, dir, map[string][]byte{}}
	for _, name := range bpe.Files {
		data, err := file.Read(filepath.Join(dir, name), file.MaxText)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		} else if err != nil {
			return nil, err
		}
		t.files[name] = data
	}
	return t, nil
}

// readMeta makes a tokenizer.json of nanoGPT's vocabulary of characters.
func readMeta(dir string) (*tokenizer, error) {
	path := filepath.Join(dir, metaFile)
	value, err := torch.ReadPickle(path)
	if err != nil {
		return nil, err
	}
	wrong := fmt.Errorf("%s: required a dictionary with itos, the characters by their ids from 0 on", path)
	meta, ok := value.(*torch.Dict)
	if !ok {
		return nil, wrong
	}
	inner, _ := meta.Get("itos")
	itos, ok := inner.(*torch.Dict)
	if !ok {
		return nil, wrong
	}
	characters := make([]string, len(itos.Keys))
	for id := range characters {
		c, _ := itos.Get(int64(id))
		if characters[id], ok = c.(string); !ok {
			return nil, wrong
		}
	}
	data, err := bpe.CharactersJSON(characters)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	own, err := bpe.NewFromJSON(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return &tokenizer{own, dir, map[string][]byte{bpe.Files[0]: data}}, nil
}
