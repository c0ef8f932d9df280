// Package gpt runs language models written as `@generate` graphs: it reads a
// checkpoint, fills the graph's weights from it, and generates text.
package gpt

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/klauspost/compress/zstd"

	"tilec/gpt/bpe"
	"tilec/gpt/config"
	"tilec/gpt/safetensors"
)

// Source is gpt.tile, the network itself.
//
//go:embed gpt.tile
var Source []byte

// LlamaSource is llama.tile: Llama, and what is built alike.
//
//go:embed llama.tile
var LlamaSource []byte

//go:embed mini/config.json mini/merges.txt mini/vocab.json mini/model.safetensors.planes.zst
var mini embed.FS

// Mini is the file system of the embedded checkpoint: 2.9 million parameters, trained on Shakespeare.
func Mini() fs.FS {
	sub, err := fs.Sub(mini, "mini")
	if err != nil {
		panic(err) // the path is a constant
	}
	return sub
}

// weightsFile is the checkpoint's file of tensors; a large checkpoint has several, and indexFile to say which tensor is in which.
const (
	weightsFile = "model.safetensors"
	indexFile   = weightsFile + ".index.json"
)

// Checkpoint is a trained model: its shape, its tokenizer and its tensors.
type Checkpoint struct {
	Config    config.Config
	Tokenizer *bpe.Tokenizer
	Tensors   *safetensors.File
	// Generation is how its authors make texts with it. The tokens of the text's ends that it names are Config's.
	Generation config.Generation
	// Loading, where it is set, is told while a model is made how many bytes of the tensors are on the device, of how many.
	Loading func(done, total int64)
}

// Open reads a checkpoint's folder. A tensor is read when New asks for it; once New is done, the folder may change.
func Open(dir string) (*Checkpoint, error) {
	if info, err := os.Stat(dir); err != nil {
		return nil, fmt.Errorf("model folder %s: %w", dir, err)
	} else if !info.IsDir() {
		return nil, fmt.Errorf("model folder %s is a file: give the folder that holds config.json and %s", dir, weightsFile)
	}
	cfg, err := config.FromDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, foreignFolder(dir, err)
	} else if err != nil {
		return nil, err
	}
	gen, err := config.GenerationFromDir(dir, cfg.VocabSize)
	if err != nil {
		return nil, err
	}
	tok, err := bpe.FromDir(dir)
	if err != nil {
		return nil, err
	}
	file, err := openTensors(dir)
	if err != nil {
		return nil, err
	}
	return newCheckpoint(cfg, gen, tok, file)
}

// foreignFolder says of a folder without config.json what else it may be.
func foreignFolder(dir string, err error) error {
	for _, name := range []string{"ckpt.pt", "model.pt"} {
		if _, statErr := os.Stat(filepath.Join(dir, name)); statErr == nil {
			return fmt.Errorf("%w; %s has %s: `tilec import %s --out DIR` makes a folder of it that can be run", err, dir, name, dir)
		}
	}
	return err
}

// openTensors opens the file of tensors in a folder or, where there is none, those that the index names.
func openTensors(dir string) (*safetensors.File, error) {
	file, err := safetensors.Open(filepath.Join(dir, weightsFile))
	if !errors.Is(err, fs.ErrNotExist) {
		return file, err
	}
	sharded, indexErr := safetensors.OpenIndex(filepath.Join(dir, indexFile))
	if errors.Is(indexErr, fs.ErrNotExist) {
		err = fmt.Errorf("%w, and no %s either", err, indexFile)
		if _, statErr := os.Stat(filepath.Join(dir, "pytorch_model.bin")); statErr == nil {
			err = fmt.Errorf("%w; `tilec import %s --out DIR` makes a folder of its pytorch_model.bin that can be run", err, dir)
		}
		return nil, err
	}
	return sharded, indexErr
}

// planesSuffix is what the name of a compressed file of tensors has behind it. The embedded checkpoint has one, to keep the binary small.
const planesSuffix = ".planes.zst"

// readWeights reads the file of tensors, which may be compressed: the exponents of its numbers, each taken for a bf16, then their signs and
// fractions, a byte each, and all that by zstd. Exponents repeat, and the others have nothing to compress: apart, they take a seventh less.
func readWeights(fsys fs.FS) ([]byte, error) {
	data, err := fs.ReadFile(fsys, weightsFile)
	if !errors.Is(err, fs.ErrNotExist) {
		return data, err
	}
	packed, packedErr := fs.ReadFile(fsys, weightsFile+planesSuffix)
	if packedErr != nil {
		return nil, err
	}
	d, err := zstd.NewReader(nil)
	if err != nil {
		return nil, err
	}
	defer d.Close()
	planes, err := d.DecodeAll(packed, nil)
	if err != nil {
		return nil, fmt.Errorf("%s%s: %w", weightsFile, planesSuffix, err)
	}
	count := len(planes) / 2
	data = make([]byte, len(planes))
	for i := range count {
		exponent, fraction := planes[i], planes[count+i]
		data[2*i], data[2*i+1] = exponent<<7|fraction&0x7f, fraction&0x80|exponent>>1
	}
	copy(data[2*count:], planes[2*count:])
	return data, nil
}

// OpenFS reads a checkpoint from a file system, such as Mini.
func OpenFS(fsys fs.FS) (*Checkpoint, error) {
	cfg, err := config.FromFS(fsys)
	if err != nil {
		return nil, err
	}
	gen, err := config.GenerationFromFS(fsys, cfg.VocabSize)
	if err != nil {
		return nil, err
	}
	tok, err := bpe.FromFS(fsys)
	if err != nil {
		return nil, err
	}
	data, err := readWeights(fsys)
	if err != nil {
		return nil, err
	}
	file, err := safetensors.Parse(weightsFile, data)
	if err != nil {
		return nil, err
	}
	return newCheckpoint(cfg, gen, tok, file)
}

func newCheckpoint(cfg config.Config, gen config.Generation, tok *bpe.Tokenizer, file *safetensors.File) (*Checkpoint, error) {
	if n := tok.VocabSize(); cfg.VocabSize > 0 && n > cfg.VocabSize {
		return nil, fmt.Errorf("the tokenizer has %d tokens, the model's vocab_size is %d", n, cfg.VocabSize)
	}
	if gen.EOSTokenIDs != nil {
		cfg.EOSTokenIDs = gen.EOSTokenIDs
	}
	if gen.BOSTokenID != nil {
		cfg.BOSTokenID = *gen.BOSTokenID
	}
	return &Checkpoint{Config: cfg, Tokenizer: tok, Tensors: file, Generation: gen}, nil
}

// Close gives back what the checkpoint holds open.
func (c *Checkpoint) Close() error { return c.Tensors.Close() }
