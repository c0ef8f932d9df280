package main

import (
	"archive/zip"
	"encoding/binary"
	"encoding/hex"
	"flag"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"tilec/gpt/safetensors"
	"tilec/jit/ir"
	"tilec/jit/pass"
	"tilec/lang"
)

var update = flag.Bool("update", false, "write what the commands print into the scripts' golden files")

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"tilec": main, "tilec-wrong": wrongMain})
}

// wrongMain is tilec with a pass that is wrong, in the way that the variable TILEC_WRONG names.
func wrongMain() {
	wrong, ok := wrongPasses[os.Getenv("TILEC_WRONG")]
	if !ok {
		panic("TILEC_WRONG names no wrong pass")
	}
	pass.Extra = []pass.Pass{{Name: "wrong", Doc: "is wrong", Run: func(f *ir.Func, _ *pass.Options) (bool, error) { return wrong(f), nil }}}
	main()
}

// wrongPasses change a kernel as no pass should, and report whether they did.
var wrongPasses = map[string]func(f *ir.Func) bool{
	"panics": func(f *ir.Func) bool { panic("no such thing in " + f.Name) },
	// It uses a value before it is computed.
	"breaks": func(f *ir.Func) bool {
		ops := f.Body.Ops
		ops[0], ops[len(ops)-1] = ops[len(ops)-1], ops[0]
		return true
	},
	// It computes something else: a difference for each sum of two.
	"miscompiles": func(f *ir.Func) bool {
		changed := false
		f.Walk(func(op *ir.Op) bool {
			if op.Code == lang.OpAdd && op.Results[0].Type.DType.IsFloat() {
				op.Code, changed = lang.OpSub, true
			}
			return true
		})
		return changed
	},
}

// TestScripts runs the command as users do: each script has its files, its
// command lines and what they must print. Beside what testscript offers:
//
//	nano DIR                 copies the nano checkpoint
//	llama DIR                writes a random checkpoint of a tiny Llama, with nano's tokenizer
//	replace FILE OLD NEW     replaces a text, once, by one of the same length
//	resize FILE N|+N         cuts a file to N bytes, or appends N bytes
//	bytes FILE HEX           writes a file of these bytes
//	mv-only PATTERN NEW      renames the one file or folder that matches
//	zip FILE MEMBER...       packs files, as numpy.savez does
//	until FILE PATTERN       waits until a file matches, as a command in the background writes it
//	shown PAGE BEGINNING     compares what the last command printed with the text block of a page that begins so
func TestScripts(t *testing.T) {
	models, err := filepath.Abs("../../testdata/models")
	if err != nil {
		t.Fatal(err)
	}
	torch, err := filepath.Abs("../../gpt/torch/testdata")
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir:           "testdata/script",
		UpdateScripts: *update,
		Setup: func(env *testscript.Env) error {
			env.Setenv("MODELS", models)
			env.Setenv("TORCH", torch)
			env.Setenv("CUTILE_LOGS", "")
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"nano":    copyNano,
			"llama":   writeLlama,
			"replace": replaceText,
			"resize":  resizeFile,
			"bytes":   writeBytes,
			"mv-only": moveOnly,
			"until":   until,
			"zip":     zipFiles,
			"shown":   shown,
		},
	})
}

func copyNano(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, neg, args, 1, "nano DIR")
	dir := ts.MkAbs(args[0])
	ts.Check(os.MkdirAll(dir, 0o777))
	for _, name := range []string{"config.json", "merges.txt", "model.safetensors", "vocab.json"} {
		data, err := os.ReadFile(filepath.Join(ts.Getenv("MODELS"), "nano", name))
		ts.Check(err)
		ts.Check(os.WriteFile(filepath.Join(dir, name), data, 0o666))
	}
}

func writeLlama(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, neg, args, 1, "llama DIR")
	copyNano(ts, false, args)
	dir := ts.MkAbs(args[0])
	ts.Check(os.WriteFile(filepath.Join(dir, "config.json"), []byte(`{"model_type": "llama", "num_hidden_layers": 1, "hidden_size": 16, "intermediate_size": 24,
"num_attention_heads": 4, "num_key_value_heads": 2, "vocab_size": 1024, "max_position_embeddings": 64, "tie_word_embeddings": true}`), 0o666))
	random := rand.New(rand.NewPCG(1, 2))
	var tensors []safetensors.Tensor
	shapes := map[string][]int{
		"embed_tokens": {1024, 16}, "norm": {16}, "layers.0.input_layernorm": {16}, "layers.0.post_attention_layernorm": {16},
		"layers.0.self_attn.q_proj": {16, 16}, "layers.0.self_attn.k_proj": {8, 16}, "layers.0.self_attn.v_proj": {8, 16}, "layers.0.self_attn.o_proj": {16, 16},
		"layers.0.mlp.gate_proj": {24, 16}, "layers.0.mlp.up_proj": {24, 16}, "layers.0.mlp.down_proj": {16, 24},
	}
	// In the order of names: the text that the model writes is the same in every run.
	for _, name := range slices.Sorted(maps.Keys(shapes)) {
		shape := shapes[name]
		n := 1
		for _, d := range shape {
			n *= d
		}
		x := safetensors.Tensor{Name: "model." + name + ".weight", DType: lang.BF16, Shape: shape}
		for range n {
			x.Data = binary.LittleEndian.AppendUint16(x.Data, lang.BF16Bits(float32(random.NormFloat64())))
		}
		tensors = append(tensors, x)
	}
	ts.Check(safetensors.Write(filepath.Join(dir, "model.safetensors"), tensors, nil))
}

func replaceText(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, neg, args, 3, "replace FILE OLD NEW")
	path := ts.MkAbs(args[0])
	data, err := os.ReadFile(path)
	ts.Check(err)
	if !strings.Contains(string(data), args[1]) || len(args[1]) != len(args[2]) {
		ts.Fatalf("%s must contain %q, as long as %q", args[0], args[1], args[2])
	}
	ts.Check(os.WriteFile(path, []byte(strings.Replace(string(data), args[1], args[2], 1)), 0o666))
}

func resizeFile(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, neg, args, 2, "resize FILE N|+N")
	path := ts.MkAbs(args[0])
	info, err := os.Stat(path)
	ts.Check(err)
	n, err := strconv.ParseInt(args[1], 10, 64)
	ts.Check(err)
	if strings.HasPrefix(args[1], "+") {
		n += info.Size()
	}
	ts.Check(os.Truncate(path, n))
}

func writeBytes(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, neg, args, 2, "bytes FILE HEX")
	data, err := hex.DecodeString(args[1])
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), data, 0o666))
}

func zipFiles(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: zip FILE MEMBER...")
	}
	f, err := os.Create(ts.MkAbs(args[0]))
	ts.Check(err)
	defer f.Close()
	z := zip.NewWriter(f)
	for _, name := range args[1:] {
		w, err := z.CreateHeader(&zip.FileHeader{Name: filepath.Base(name), Method: zip.Store})
		ts.Check(err)
		data, err := os.ReadFile(ts.MkAbs(name))
		ts.Check(err)
		_, err = w.Write(data)
		ts.Check(err)
	}
	ts.Check(z.Close())
}

func until(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, neg, args, 2, "until FILE PATTERN")
	pattern, err := regexp.Compile("(?m)" + args[1])
	ts.Check(err)
	var data []byte
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		if data, err = os.ReadFile(ts.MkAbs(args[0])); err == nil && pattern.Match(data) {
			return
		}
	}
	ts.Fatalf("after a minute %s does not match %q: %s", args[0], args[1], data)
}

func moveOnly(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, neg, args, 2, "mv-only PATTERN NEW")
	found, err := filepath.Glob(ts.MkAbs(args[0]))
	ts.Check(err)
	if len(found) != 1 {
		ts.Fatalf("%s matches %d files: %v", args[0], len(found), found)
	}
	ts.Check(os.Rename(found[0], ts.MkAbs(args[1])))
}

func usage(ts *testscript.TestScript, neg bool, args []string, n int, text string) {
	if neg || len(args) != n {
		ts.Fatalf("usage: %s", text)
	}
}
