// Package nanogpt turns checkpoints of nanoGPT and of minGPT, and the pytorch_model.bin of Hugging Face's GPT-2, into
// folders in GPT-2's format: other names, products stored the other way round, and a shape that is in other places.
package nanogpt

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"tilec/gpt/safetensors"
	"tilec/gpt/torch"
	"tilec/jit/file"
	"tilec/lang"
)

// stored is a tensor of a file.
type stored struct {
	dtype lang.DType
	shape []int
	read  func() ([]byte, error)
	// saved is what torch.save wrote, nil in other files.
	saved *torch.Tensor
}

// source is an opened file of weights.
type source struct {
	path    string
	tensors map[string]stored // by the names of the file, without what wrappers put before them
	// args is the model_args of nanoGPT, nil for other files.
	args *torch.Dict
	// early says that the names are those of minGPT before 2022.
	early bool
	close func() error
}

// files are the names that a folder's weights may have.
var files = []string{"ckpt.pt", "model.pt", "pytorch_model.bin", "model.safetensors"}

// open opens a file of weights, or the one in a folder.
func open(path string) (*source, error) {
	if info, err := os.Stat(path); err != nil {
		return nil, err
	} else if info.IsDir() {
		var there []string
		for _, name := range files {
			if _, err := os.Stat(filepath.Join(path, name)); err == nil {
				there = append(there, name)
			}
		}
		if len(there) != 1 {
			return nil, fmt.Errorf("the folder %s has %d of the files %s, required one: name the file itself", path, len(there), strings.Join(files, ", "))
		}
		path = filepath.Join(path, there[0])
	}
	saved, err := isArchive(path)
	if err != nil {
		return nil, err
	}
	if !saved && filepath.Ext(path) == ".safetensors" {
		return openSafetensors(path)
	}
	return openTorch(path)
}

// isArchive reports a zip archive, which torch.save writes.
func isArchive(path string) (bool, error) {
	f, _, err := file.Open(path)
	if err != nil {
		return false, err
	}
	defer f.Close()
	var magic [4]byte
	_, err = io.ReadFull(f, magic[:])
	return err == nil && bytes.Equal(magic[:], []byte("PK\x03\x04")), nil
}

func openSafetensors(path string) (*source, error) {
	f, err := safetensors.Open(path)
	if err != nil {
		return nil, err
	}
	s := &source{path: path, tensors: map[string]stored{}, close: f.Close}
	for _, t := range f.Tensors() {
		read := func() ([]byte, error) {
			whole, err := f.Tensor(t.Name)
			return whole.Data, err
		}
		if err := s.add(t.Name, stored{dtype: t.DType, shape: t.Shape, read: read}); err != nil {
			f.Close()
			return nil, err
		}
	}
	return s, nil
}

func openTorch(path string) (*source, error) {
	f, err := torch.Open(path)
	if err != nil {
		return nil, err
	}
	s := &source{path: path, tensors: map[string]stored{}, close: f.Close}
	if err := s.addDict(f.Root); err != nil {
		f.Close()
		return nil, err
	}
	return s, nil
}

// addDict takes the tensors of what was saved: a state dict, or a dictionary that has it beside other things.
func (s *source) addDict(root any) error {
	all, ok := root.(*torch.Dict)
	if !ok {
		return fmt.Errorf("%s: what was saved is a %T, required a state dict", s.path, root)
	}
	if args, ok := all.Get("model_args"); ok {
		if s.args, ok = args.(*torch.Dict); !ok {
			return fmt.Errorf("%s: model_args is a %T, required a dictionary", s.path, args)
		}
	}
	for _, name := range []string{"model", "state_dict"} {
		if inner, ok := all.Get(name); ok {
			if all, ok = inner.(*torch.Dict); !ok {
				return fmt.Errorf("%s: %s is a %T, required a state dict", s.path, name, inner)
			}
			break
		}
	}
	for _, key := range all.Keys {
		v, _ := all.Get(key)
		name, isText := key.(string)
		t, isTensor := v.(*torch.Tensor)
		if !isText || !isTensor {
			return fmt.Errorf("%s: %v is a %T, required a state dict, of names and tensors", s.path, key, v)
		}
		if err := s.add(name, stored{t.DType, t.Shape, t.Read, t}); err != nil {
			return err
		}
	}
	return nil
}

// add puts a tensor under its name, without what torch.compile and data parallel training put before it.
func (s *source) add(name string, t stored) error {
	short := name
	for _, wrapper := range []string{"_orig_mod.", "module.", "_orig_mod.", "transformer."} {
		short = strings.TrimPrefix(short, wrapper)
	}
	name = short
	if short = renamed(name); short != name {
		s.early = true
	}
	if buffer.MatchString(short) {
		return nil
	}
	if _, ok := s.tensors[short]; ok {
		return fmt.Errorf("%s: two tensors are %s", s.path, short)
	}
	s.tensors[short] = t
	return nil
}

// same reports that two tensors have the same elements.
func same(a, b stored) (bool, error) {
	if a.saved != nil && b.saved != nil && a.saved.Same(b.saved) {
		return true, nil
	}
	if a.dtype != b.dtype || fmt.Sprint(a.shape) != fmt.Sprint(b.shape) {
		return false, nil
	}
	one, err := a.read()
	two, err2 := b.read()
	return bytes.Equal(one, two), errors.Join(err, err2)
}
