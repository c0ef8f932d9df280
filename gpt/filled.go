package gpt

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"

	"tilec/gpt/config"
	"tilec/gpt/safetensors"
	"tilec/jit"
	"tilec/lang"
	"tilec/typecheck/size"
	"tilec/typecheck/typed"
)

// Filled is what a checkpoint gives a graph that is called by its name, as an encoder is: its structs of weights, on a device,
// and what @config takes from config.json.
type Filled struct {
	// Args are the structs and the scalar parameters, by name.
	Args jit.Args
	// Dims, Consts and Types are what dimensions, constants and type parameters are.
	Dims   map[string]int64
	Consts map[string]lang.Literal
	Types  map[string]lang.DType

	filler *filler
}

// OpenWeights reads a checkpoint's folder without its tokenizer: an encoder's tokens are given as numbers.
func OpenWeights(dir string) (*Checkpoint, error) {
	if info, err := os.Stat(dir); err != nil {
		return nil, fmt.Errorf("model folder %s: %w", dir, err)
	} else if !info.IsDir() {
		return nil, fmt.Errorf("model folder %s is a file: give the folder that holds config.json and %s", dir, weightsFile)
	}
	cfg, err := config.FromDir(dir)
	if err != nil {
		return nil, err
	}
	file, err := safetensors.Open(filepath.Join(dir, weightsFile))
	if err != nil {
		return nil, err
	}
	return &Checkpoint{Config: cfg, Tensors: file}, nil
}

// Fill reads a checkpoint for a graph. Types are those of type parameters that are known by name, and dims those of dimensions;
// what weights alone have is as the checkpoint has it where that is of 8 bits, and other types are f32.
func Fill(g *typed.Graph, ckpt *Checkpoint, device jit.Device, types map[string]lang.DType, dims map[string]int64) (*Filled, error) {
	from, err := configure(g, ckpt.Config)
	if err != nil {
		return nil, err
	}
	all := map[string]int64{}
	maps.Copy(all, dims)
	for name, n := range from.dims {
		if old, ok := all[name]; ok && old != n {
			return nil, fmt.Errorf("%s is %d, and config.json says %d by its key %s", name, old, n, g.ConfigRow(name).Keys[0])
		}
		all[name] = n
	}
	f := &filler{ckpt: ckpt, device: device, dims: all, tied: map[string]string{}, stacks: map[string]stack{}}
	filled := &Filled{Args: jit.Args{}, Dims: map[string]int64{}, Consts: from.consts, Types: map[string]lang.DType{}, filler: f}
	if err := f.settleTypes(g, lang.F32, lang.Invalid, types); err != nil {
		return nil, fmt.Errorf("graph %s: %w", g.Name, err)
	}
	for t, d := range f.types {
		filled.Types[t.Name] = d
	}
	if err := f.checkAll(g); err != nil {
		return nil, err
	}
	if err := f.load(); err != nil {
		filled.Close()
		return nil, err
	}
	for _, s := range g.Dims {
		if n, ok := from.dims[s.Name]; ok && s.Kind == size.DimSymbol {
			filled.Dims[s.Name] = n
		}
	}
	for _, p := range g.Params {
		if scalar, ok := from.scalars[p.Name]; ok {
			scalar.DType = f.resolve(p.Type.DType)
			filled.Args[p.Name] = scalar
		}
		if !isWeights(p) {
			continue
		}
		v, err := f.weights(p.Name, p.Type)
		if err != nil {
			filled.Close()
			return nil, err
		}
		filled.Args[p.Name] = asArgument(p.Type, v)
	}
	return filled, nil
}

// asArgument is a value as jit.Args takes it.
func asArgument(t typed.GType, v jit.Value) any {
	switch t.Kind {
	case typed.GStruct:
		fields := jit.Args{}
		for i, f := range t.Fields {
			fields[f.Name] = asArgument(f.Type, v.Elems[i])
		}
		return fields
	case typed.GArray:
		elems := []jit.Args{}
		for _, e := range v.Elems {
			elems = append(elems, asArgument(*t.Elem, e).(jit.Args)) // the elements of an array are structs
		}
		return elems
	}
	return v.Tensor
}

// Close gives the weights' memory back.
func (w *Filled) Close() { w.filler.free(&w.filler.memory) }
