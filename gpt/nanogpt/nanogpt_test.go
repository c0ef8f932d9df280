package nanogpt_test

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tilec/gpt"
	"tilec/gpt/nanogpt"
	"tilec/gpt/safetensors"
	"tilec/jit"
	"tilec/jit/jittest"
	"tilec/lang"
)

// fixture was written by Python's own pickle as nanoGPT does: see make.py beside it. Its weights are 0, 1, 2, ... quarters.
const fixture = "../torch/testdata/nanogpt.pt"

func TestNanoGPT(t *testing.T) {
	out := filepath.Join(t.TempDir(), "out")
	last := int64(-1)
	s, err := nanogpt.Import(fixture, out, nanogpt.Options{Written: func(done, total int64) {
		require.Equal(t, int64(4*(32+24+4+48+12+16+4+4+4+4+64+16+64+4+4+4)), total)
		require.Greater(t, done, last)
		last = done
	}})
	require.NoError(t, err)
	require.Positive(t, last)
	require.Equal(t, &nanogpt.Summary{Layers: 1, Heads: 2, Width: 4, Context: 6, Vocabulary: 8, Activation: "gelu", Tied: true, ZeroBiases: true}, s)
	f, err := safetensors.Open(filepath.Join(out, "model.safetensors"))
	require.NoError(t, err)
	defer f.Close()
	values := func(name string, shape ...int) []float32 {
		tensor, err := f.Tensor("transformer." + name)
		require.NoError(t, err)
		require.Equal(t, shape, tensor.Shape)
		v, err := tensor.Float32s()
		require.NoError(t, err)
		return v
	}
	require.Equal(t, float32(31)/4, values("wte.weight", 8, 4)[31])
	// c_attn follows 32 + 24 + 4 weights, as [12, 4].
	attn := values("h.0.attn.c_attn.weight", 4, 12)
	for in := range 4 {
		for o := range 12 {
			require.Equal(t, float32(60+4*o+in)/4, attn[12*in+o])
		}
	}
	require.Equal(t, make([]float32, 12), values("h.0.attn.c_attn.bias", 12))
	require.Equal(t, make([]float32, 4), values("ln_f.bias", 4))
	require.Len(t, f.Tensors(), 2+12+2)
	var settings map[string]any
	data, err := os.ReadFile(filepath.Join(out, "config.json"))
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(data, &settings))
	require.Equal(t, map[string]any{"activation_function": "gelu", "architectures": []any{"GPT2LMHeadModel"}, "layer_norm_epsilon": 1e-5, "model_type": "gpt2", "n_embd": 4.0,
		"n_head": 2.0, "n_inner": 16.0, "n_layer": 1.0, "n_positions": 6.0, "tie_word_embeddings": true, "vocab_size": 8.0}, settings)
}

// nano is the folder of the trained checkpoint, and its tensors without a prefix.
func nano(t *testing.T) (dir string, tensors []safetensors.Tensor) {
	t.Helper()
	dir = jittest.Path(t, "testdata/models/nano")
	f, err := safetensors.Open(filepath.Join(dir, "model.safetensors"))
	require.NoError(t, err)
	defer f.Close()
	for _, tensor := range f.Tensors() {
		tensor, err := f.Tensor(tensor.Name)
		require.NoError(t, err)
		tensor.Name = strings.TrimPrefix(tensor.Name, "transformer.")
		tensors = append(tensors, tensor)
	}
	return dir, tensors
}

// turned is a matrix of 16-bit numbers the other way round, element by element.
func turned(x safetensors.Tensor) safetensors.Tensor {
	rows, columns := x.Shape[0], x.Shape[1]
	data := make([]byte, len(x.Data))
	for i := range rows {
		for j := range columns {
			copy(data[2*(j*rows+i):][:2], x.Data[2*(i*columns+j):])
		}
	}
	x.Shape, x.Data = []int{columns, rows}, data
	return x
}

// linear is GPT-2's tensors as nn.Linear has them, with the head, and causal masks as minGPT saves them.
func linear(tensors []safetensors.Tensor, prefix string) (all []safetensors.Tensor) {
	for _, x := range tensors {
		if strings.Contains(x.Name, ".c_") && strings.HasSuffix(x.Name, ".weight") {
			x = turned(x)
		}
		if x.Name == "wte.weight" {
			head := x
			head.Name = strings.Replace(prefix, "transformer.", "", 1) + "lm_head.weight"
			all = append(all, head)
		}
		x.Name = prefix + x.Name
		all = append(all, x)
	}
	return append(all, safetensors.Tensor{Name: prefix + "h.0.attn.bias", DType: lang.U8, Shape: []int{1, 1, 2, 2}, Data: make([]byte, 4)})
}

// earlyMinGPT is the same under the names of minGPT before 2022, with queries, keys and values by themselves.
func earlyMinGPT(tensors []safetensors.Tensor) (all []safetensors.Tensor) {
	names := strings.NewReplacer("wte.weight", "tok_emb.weight", "wpe.weight", "pos_emb", "lm_head", "head", "h.", "blocks.", "ln_1.", "ln1.", "ln_2.", "ln2.",
		"attn.c_proj", "attn.proj", "mlp.c_fc", "mlp.0", "mlp.c_proj", "mlp.2", "attn.bias", "attn.mask")
	for _, x := range linear(tensors, "") {
		if strings.Contains(x.Name, "c_attn") {
			third := len(x.Data) / 3
			for i, part := range []string{"query", "key", "value"} {
				p := x
				p.Name = names.Replace(strings.Replace(x.Name, "c_attn", part, 1))
				p.Shape = slices.Clone(x.Shape)
				p.Shape[0] /= 3
				p.Data = x.Data[i*third:][:third]
				all = append(all, p)
			}
			continue
		}
		if x.Name == "wpe.weight" {
			x.Shape = append([]int{1}, x.Shape...)
		}
		x.Name = names.Replace(x.Name)
		all = append(all, x)
	}
	return all
}

// saveTorch writes a state dict as torch.save does, within a dictionary where one is given: model_args.
func saveTorch(t *testing.T, path string, tensors []safetensors.Tensor, args map[string]int) {
	t.Helper()
	var p, out bytes.Buffer
	w := zip.NewWriter(&out)
	add := func(name string, data []byte) {
		e, err := w.CreateHeader(&zip.FileHeader{Name: "archive/" + name, Method: zip.Store})
		require.NoError(t, err)
		_, err = e.Write(data)
		require.NoError(t, err)
	}
	text := func(s string) {
		p.WriteByte('X')
		_ = binary.Write(&p, binary.LittleEndian, uint32(len(s)))
		p.WriteString(s)
	}
	integer := func(n int) {
		p.WriteByte('J')
		_ = binary.Write(&p, binary.LittleEndian, int32(n))
	}
	p.WriteString("\x80\x02")
	if args != nil {
		p.WriteString("}(")
		text("model_args")
		p.WriteString("}(")
		for name, n := range args {
			text(name)
			integer(n)
		}
		p.WriteString("u")
		text("model")
	}
	p.WriteString("ccollections\nOrderedDict\n)R(")
	class := map[lang.DType]string{lang.BF16: "BFloat16Storage", lang.U8: "ByteStorage"}
	for i, x := range tensors {
		text(x.Name)
		p.WriteString("ctorch._utils\n_rebuild_tensor_v2\n((")
		text("storage")
		p.WriteString("ctorch\n" + class[x.DType] + "\n")
		text(fmt.Sprint(i))
		text("cpu")
		integer(len(x.Data) / x.DType.Size())
		p.WriteString("tQK\x00")
		for _, strides := range []bool{false, true} {
			p.WriteString("(")
			for d, n := range x.Shape {
				if strides {
					n = 1
					for _, inner := range x.Shape[d+1:] {
						n *= inner
					}
				}
				integer(n)
			}
			p.WriteString("t")
		}
		p.WriteString("\x89ccollections\nOrderedDict\n)RtR")
		add(fmt.Sprintf("data/%d", i), x.Data)
	}
	p.WriteString("u")
	if args != nil {
		p.WriteString("u")
	}
	p.WriteString(".")
	add("data.pkl", p.Bytes())
	require.NoError(t, w.Close())
	require.NoError(t, os.WriteFile(path, out.Bytes(), 0o666))
}

// logits are those of a text by a checkpoint in a folder.
func logits(t *testing.T, dir string) []float32 {
	t.Helper()
	ckpt, err := gpt.Open(dir)
	require.NoError(t, err)
	defer ckpt.Close()
	program, problems := jit.Load("gpt.tile", gpt.Source, nil)
	require.Empty(t, problems)
	m, err := gpt.New(program, ckpt, jit.NewCompiler(jittest.Device(t), nil), lang.F32, "")
	require.NoError(t, err)
	defer m.Close()
	out, err := m.Scores([]int32{41, 456, 322, 305, 259})
	require.NoError(t, err)
	return out
}

// A trained checkpoint in each foreign form comes back with the same bits in its logits.
func TestThereAndBack(t *testing.T) {
	dir, tensors := nano(t)
	want := logits(t, dir)
	write := func(path string, all []safetensors.Tensor) { require.NoError(t, safetensors.Write(path, all, nil)) }
	for _, c := range []struct {
		name string
		file string
		save func(path string)
		o    nanogpt.Options
	}{
		{"nanoGPT", "ckpt.pt", func(path string) {
			saveTorch(t, path, linear(tensors, "_orig_mod.transformer."), map[string]int{"n_layer": 3, "n_head": 3, "n_embd": 48, "block_size": 256, "vocab_size": 1024})
		}, nanogpt.Options{Activation: "gelu_new"}},
		{"minGPT", "model.pt", func(path string) { saveTorch(t, path, linear(tensors, "transformer."), nil) }, nanogpt.Options{Heads: 3, Activation: "gelu_new"}},
		{"early minGPT", "early.pt", func(path string) { saveTorch(t, path, earlyMinGPT(tensors), nil) }, nanogpt.Options{Heads: 3, Activation: "gelu_new"}},
		{"early minGPT as safetensors", "early.safetensors", func(path string) { write(path, earlyMinGPT(tensors)) }, nanogpt.Options{Heads: 3, Activation: "gelu_new"}},
		{"safetensors", "x.safetensors", func(path string) { write(path, linear(tensors, "module.transformer.")) }, nanogpt.Options{Heads: 3, Activation: "gelu_new"}},
		{"Hugging Face", "pytorch_model.bin", func(path string) {
			saveTorch(t, path, tensors, nil)
			data, err := os.ReadFile(filepath.Join(dir, "config.json"))
			require.NoError(t, err)
			require.NoError(t, os.WriteFile(filepath.Join(filepath.Dir(path), "config.json"), data, 0o666))
		}, nanogpt.Options{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			from, out := t.TempDir(), filepath.Join(t.TempDir(), "out")
			path := filepath.Join(from, c.file)
			c.save(path)
			if c.file == "ckpt.pt" || c.file == "pytorch_model.bin" {
				path = from // the folder will do
			}
			c.o.Tokenizer = dir
			s, err := nanogpt.Import(path, out, c.o)
			require.NoError(t, err)
			require.Equal(t, &nanogpt.Summary{Layers: 3, Heads: 3, Width: 48, Context: 256, Vocabulary: 1024, Activation: "gelu_new", Tied: true, Tokenizer: dir}, s)
			require.Equal(t, want, logits(t, out))
		})
	}
}

// A head of its own stays one, and rows beyond the tokenizer's stay.
func TestUntiedAndPadded(t *testing.T) {
	dir, tensors := nano(t)
	pad := func(x safetensors.Tensor, with byte) safetensors.Tensor {
		x.Shape = []int{x.Shape[0] + 64, x.Shape[1]}
		x.Data = append(slices.Clone(x.Data), bytes.Repeat([]byte{0, with}, 64*x.Shape[1])...)
		return x
	}
	all := linear(tensors, "transformer.")
	for i := range all {
		switch all[i].Name {
		case "transformer.wte.weight":
			all[i] = pad(all[i], 0)
		case "lm_head.weight":
			all[i] = pad(all[i], 0x40)
		}
	}
	from, out := t.TempDir(), filepath.Join(t.TempDir(), "out")
	path := filepath.Join(from, "model.pt")
	saveTorch(t, path, all, nil)
	s, err := nanogpt.Import(path, out, nanogpt.Options{Heads: 3, Activation: "gelu_new", Tokenizer: dir})
	require.NoError(t, err)
	require.False(t, s.Tied)
	require.Equal(t, 1088, s.Vocabulary)
	want, got := logits(t, dir), logits(t, out)
	for i := range 5 {
		require.Equal(t, want[1024*i:][:1024], got[1088*i:][:1024])
		require.NotZero(t, got[1088*i+1087])
	}
}

// pickledMeta is a meta.pkl as nanoGPT writes it, by protocol 4 of pickle, of eight characters.
const pickledMeta = "\x80\x04\x95{\x00\x00\x00\x00\x00\x00\x00}\x94(\x8c\x0avocab_size\x94K\x08\x8c\x04itos\x94}\x94(K\x00\x8c\x01\x0a\x94K\x01\x8c\x01 \x94K\x02\x8c\x01A\x94K\x03\x8c\x01B\x94K\x04\x8c\x01C\x94K\x05\x8c\x01D\x94K\x06\x8c\x01E\x94K\x07\x8c\x02\xc3\xa9\x94u\x8c\x04stoi\x94}\x94(h\x04K\x00h\x05K\x01h\x06K\x02h\x07K\x03h\x08K\x04h\x09K\x05h\x0aK\x06h\x0bK\x07uu."

// A vocabulary of characters, as nanoGPT prepares texts, becomes a tokenizer.json.
func TestCharacterVocabulary(t *testing.T) {
	data := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(data, "meta.pkl"), []byte(pickledMeta), 0o666))
	out := filepath.Join(t.TempDir(), "out")
	s, err := nanogpt.Import(fixture, out, nanogpt.Options{Activation: "gelu_new", Tokenizer: data})
	require.NoError(t, err)
	require.Equal(t, data, s.Tokenizer)
	ckpt, err := gpt.Open(out)
	require.NoError(t, err)
	defer ckpt.Close()
	require.Equal(t, []int32{0, 1, 2, 3, 7}, ckpt.Tokenizer.Encode("\n ABé"))
	for _, wrong := range []string{"\x80\x02N.", "\x80\x02}.", "\x80\x02}X\x04\x00\x00\x00itos}K\x01X\x01\x00\x00\x00ass."} {
		require.NoError(t, os.WriteFile(filepath.Join(data, "meta.pkl"), []byte(wrong), 0o666))
		_, err = nanogpt.Import(fixture, out+"2", nanogpt.Options{Tokenizer: data})
		require.ErrorContains(t, err, "meta.pkl: required a dictionary with itos, the characters by their ids from 0 on")
	}
	require.NoError(t, os.WriteFile(filepath.Join(data, "meta.pkl"), []byte("\x80\x02cos\nsystem\n."), 0o666))
	_, err = nanogpt.Import(fixture, out+"2", nanogpt.Options{Tokenizer: data})
	require.ErrorContains(t, err, `"os.system"`)
}

func TestImportRefuses(t *testing.T) {
	dir, tensors := nano(t)
	without := func(name string) []safetensors.Tensor {
		return slices.DeleteFunc(linear(tensors, ""), func(x safetensors.Tensor) bool { return x.Name == name })
	}
	other := func(name string, change func(*safetensors.Tensor)) []safetensors.Tensor {
		all := linear(tensors, "")
		i := slices.IndexFunc(all, func(x safetensors.Tensor) bool { return x.Name == name })
		change(&all[i])
		return all
	}
	right := nanogpt.Options{Heads: 3, Activation: "gelu_new"}
	args := map[string]int{"n_layer": 3, "n_head": 3, "n_embd": 48, "block_size": 256, "vocab_size": 1024}
	with := func(key string, n int) map[string]int {
		all := map[string]int{key: n}
		for k, v := range args {
			if k != key {
				all[k] = v
			}
		}
		return all
	}
	for _, c := range []struct {
		tensors []safetensors.Tensor
		args    map[string]int
		o       nanogpt.Options
		want    string
	}{
		{linear(tensors, ""), nil, nanogpt.Options{Activation: "gelu"}, "does not say how many attention heads it has: give --heads"},
		{linear(tensors, ""), nil, nanogpt.Options{Heads: 3}, "does not say which activation it has: give --activation, of nanoGPT gelu, of minGPT gelu_new"},
		{linear(tensors, ""), nil, nanogpt.Options{Heads: 5, Activation: "gelu"}, "the width 48 and 5 heads, required a number that divides it"},
		{linear(tensors, ""), with("n_layer", 4), nanogpt.Options{}, "n_layer is 4, and the tensors have 3"},
		{linear(tensors, ""), with("block_size", 512), nanogpt.Options{}, "block_size is 512, and the tensors have 256"},
		{without("wte.weight"), nil, right, "tensor wte.weight is missing: it is no GPT-2"},
		{without("h.1.ln_1.bias"), nil, right, "tensor h.1.ln_1.bias is missing"},
		{without("h.1.mlp.c_proj.weight"), nil, right, "tensor h.1.mlp.c_proj.weight is missing"},
		{other("h.1.ln_1.bias", func(x *safetensors.Tensor) { x.Name = "h.1.ln_3.bias" }), nil, right, "tensor h.1.ln_1.bias is missing, and 1 more such problems"},
		{other("h.2.mlp.c_fc.weight", func(x *safetensors.Tensor) { *x = turned(*x) }), nil, right, "tensor h.2.mlp.c_fc.weight is bf16[48 192], required [192 48] of floats"},
		{other("ln_f.weight", func(x *safetensors.Tensor) { x.Name = "x.ln_f" }), nil, right, "tensor ln_f.weight is missing"},
		{append(linear(tensors, ""), linear(tensors, "transformer.")[0]), nil, right, "two tensors are"},
		{nil, nil, right, "tensor wte.weight is missing"},
	} {
		from := t.TempDir()
		path, out := filepath.Join(from, "x.pt"), filepath.Join(from, "out")
		saveTorch(t, path, c.tensors, c.args)
		_, err := nanogpt.Import(path, out, c.o)
		require.ErrorContains(t, err, c.want)
		there, err := os.ReadDir(from)
		require.NoError(t, err)
		require.Len(t, there, 1, "nothing is left behind: %v", there)
	}

	from := t.TempDir()
	path := filepath.Join(from, "x.pt")
	saveTorch(t, path, linear(tensors, ""), args)
	_, err := nanogpt.Import(path, from, nanogpt.Options{})
	require.ErrorContains(t, err, "it is there, with x.pt and more in it: remove it or name another")
	_, err = nanogpt.Import(from, filepath.Join(from, "out"), nanogpt.Options{})
	require.ErrorContains(t, err, "has 0 of the files ckpt.pt, model.pt, pytorch_model.bin, model.safetensors, required one")
	_, err = nanogpt.Import(fixture, filepath.Join(from, "out"), nanogpt.Options{Tokenizer: dir})
	require.ErrorContains(t, err, "has 1024 tokens, the model's vocabulary 8: it is another model's")
	_, err = nanogpt.Import(fixture, filepath.Join(from, "out"), nanogpt.Options{Tokenizer: from})
	require.ErrorContains(t, err, "no tokenizer.json either, nor a meta.pkl of nanoGPT")
	_, err = nanogpt.Import(filepath.Join(from, "none.pt"), filepath.Join(from, "out"), nanogpt.Options{})
	require.ErrorIs(t, err, os.ErrNotExist)

	// Data that cannot be read is found while the folder is written, of which nothing stays.
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	at := bytes.Index(data, tensors[0].Data)
	require.Positive(t, at)
	data[at] ^= 1
	require.NoError(t, os.WriteFile(path, data, 0o666))
	_, err = nanogpt.Import(path, filepath.Join(from, "out"), nanogpt.Options{})
	require.ErrorContains(t, err, "is damaged: the sum of its bytes is")
	there, err := os.ReadDir(from)
	require.NoError(t, err)
	require.Len(t, there, 1)
}
