package jit_test

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tilec/jit"
	"tilec/jit/bug"
	"tilec/jit/emu"
	"tilec/jit/ir"
	"tilec/jit/pass"
	"tilec/jit/ptx"
	"tilec/jit/target"
)

// Wherever it happens, on whichever goroutine, a failure of the compiler is a *jit.Bug that says where, with the stack.
func TestBugsAreOneType(t *testing.T) {
	panics := pass.Pass{Name: "wrong", Run: func(*ir.Func, *pass.Options) (bool, error) { panic("no") }}
	breaks := pass.Pass{Name: "wrong", Run: func(f *ir.Func, _ *pass.Options) (bool, error) {
		f.Body.Ops[0], f.Body.Ops[1] = f.Body.Ops[1], f.Body.Ops[0]
		return true, nil
	}}
	// endless is cheap, so that it runs again as long as it says that it has changed something.
	endless := pass.Pass{Name: "wrong", Cheap: true, Run: func(*ir.Func, *pass.Options) (bool, error) { return true, nil }}
	sm90, err := target.Find("sm_90a")
	require.NoError(t, err)
	for _, c := range []struct {
		name  string
		extra []pass.Pass
		do    func(w *world) error
		stage string
		// hasIR: the kernel is known as it was before.
		hasIR bool
	}{
		{"a pass panics in Call", []pass.Pass{panics}, func(w *world) error { return w.call("add", jit.Args{"x": []float32{1}, "y": []float32{1}}) }, "pass wrong", true},
		{"a pass panics in a graph", []pass.Pass{panics}, func(w *world) error {
			w.compiler = jit.NewCompiler(w.device, nil)
			return second(w.compiler.BindGraph(w.module.Program.Graphs[0], []jit.Value{jit.TensorValue(w.x)}, jit.Options{}))
		}, "pass wrong", true},
		{"a pass panics in a test", []pass.Pass{panics}, func(w *world) error {
			return second(jit.NewCompiler(w.device, nil).RunTest(w.module.Program.Tests[0], jit.Options{}))
		}, "pass wrong", true},
		{"a pass panics in Lower", []pass.Pass{panics}, func(w *world) error { return second(jit.Lower(w.spec, sm90, nil)) }, "pass wrong", true},
		{"a pass breaks the kernel", []pass.Pass{breaks}, func(w *world) error { return second(jit.Lower(w.spec, sm90, nil)) }, "pass wrong", true},
		{"a pass never ends", []pass.Pass{endless}, func(w *world) error { return second(jit.Lower(w.spec, sm90, nil)) }, "pass wrong", true},
		{"IR that a pass panics on", []pass.Pass{panics}, func(w *world) error {
			f, _, err := jit.BuildIR(w.spec)
			if err != nil {
				return err
			}
			return second(jit.LowerIR(f, sm90, nil, nil, nil))
		}, "pass wrong", true},
		{"a backend without a plan", nil, func(w *world) error {
			l, err := jit.Lower(w.spec, sm90, nil)
			if err != nil {
				return err
			}
			return second(ptx.Compile(l.Func, nil, sm90))
		}, "ptx", false},
		{"a program that the checker cannot have made", nil, func(w *world) error {
			k := *w.kernel("copy")
			k.Body = nil
			return second(w.compiler.BindKernel(&k, []jit.Value{jit.TensorValue(w.x)}, jit.Options{}))
		}, "build", false},
		{"a function of the caller", nil, func(*world) error {
			e, err := jit.OpenEmulator("sm_90a")
			if err != nil {
				return err
			}
			e.OnLaunch = func(string, *emu.Report) { panic("in the caller") }
			m, err := jit.NewCompiler(e, nil).Load("a.tile", []byte(misused))
			if err != nil {
				return err
			}
			return second(m.Call("copy", jit.Args{"x": []float32{1}}))
		}, "run", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := freshWorld(t, "cpu")
			pass.Extra = c.extra
			defer func() { pass.Extra = nil }()
			var err error
			require.NotPanics(t, func() { err = c.do(w) })
			var b *jit.Bug
			require.ErrorAs(t, err, &b)
			assert.Equal(t, c.stage, b.Stage)
			assert.Contains(t, string(b.Stack), "goroutine ")
			assert.Contains(t, err.Error(), "compiler bug: ")
			if c.hasIR {
				_, err := ir.Parse("bug", b.IR)
				assert.NoError(t, err, "the IR before the pass is whole")
				assert.NotEmpty(t, b.Settings)
			}
		})
	}
}

// The passes before the one that fails have been run in the IR that is reported, and it has not.
func TestBugHasTheIRBeforeThePass(t *testing.T) {
	defer func() { pass.Extra = nil }()
	w := freshWorld(t, "cpu")
	target, err := target.Find("cpu")
	require.NoError(t, err)
	forms, err := jit.Forms(w.spec, target)
	require.NoError(t, err)
	seen := ""
	pass.Extra = []pass.Pass{{Name: "wrong", Run: func(f *ir.Func, _ *pass.Options) (bool, error) {
		seen = f.String()
		f.Body.Ops = nil
		panic("half way")
	}}}
	_, err = jit.Lower(w.spec, target, nil)
	var b *jit.Bug
	require.ErrorAs(t, err, &b)
	assert.Equal(t, seen, b.IR)
	assert.NotEqual(t, forms[0].Func.String(), b.IR, "the passes before have run")
}

func TestBundle(t *testing.T) {
	dir := t.TempDir()
	e := bug.New("pass fold", "cannot be: %w", io.ErrUnexpectedEOF)
	e.Kernel, e.IR = "k", "kernel @k {\nbody:\n}\n"
	e.Sources = []bug.Source{{Path: filepath.Join(dir, "a", "main.tile"), Text: "main"}, {Path: "std/nn.tile", Text: "library"}}
	e.Set("target", "cpu")
	assert.ErrorIs(t, e, io.ErrUnexpectedEOF)
	assert.EqualError(t, e, "compiler bug: k: pass fold: cannot be: unexpected EOF")
	b := bug.Bundle{Version: "1", Build: "x", Args: []string{"run"}, Sources: []bug.Source{{Path: filepath.Join(dir, "other.tile"), Text: "other"}, {Path: "std/nn.tile", Text: "again"}}}
	path, err := b.Save(e, dir)
	require.NoError(t, err)
	for name, want := range map[string]string{
		"sources/a/main.tile": "main", "sources/other.tile": "other", "sources/std/nn.tile": "library",
		"kernel.ir": "// stage: pass fold\n// target: cpu\nkernel @k {\nbody:\n}\n",
	} {
		got, err := os.ReadFile(filepath.Join(path, filepath.FromSlash(name)))
		require.NoError(t, err)
		assert.Equal(t, want, string(got))
	}
	report, err := os.ReadFile(filepath.Join(path, "report.txt"))
	require.NoError(t, err)
	assert.Contains(t, string(report), "compiler bug: k: pass fold: cannot be: unexpected EOF")
	assert.Contains(t, string(report), "bug_test.go")

	// Names that would lead out of the folder stay in it, and what cannot be written leaves nothing behind.
	e.Sources = []bug.Source{{Path: "std/../../../out.tile", Text: "x"}}
	path, err = b.Save(e, dir)
	require.NoError(t, err)
	assert.FileExists(t, filepath.Join(path, "sources", "out.tile"))
	e.Sources = []bug.Source{{Path: "std/x", Text: "x"}, {Path: "std/x/y", Text: "y"}}
	before, err := os.ReadDir(dir)
	require.NoError(t, err)
	_, err = b.Save(e, dir)
	require.Error(t, err)
	after, err := os.ReadDir(dir)
	require.NoError(t, err)
	assert.Len(t, after, len(before))
	_, err = b.Save(e, filepath.Join(dir, "none"))
	assert.True(t, errors.Is(err, os.ErrNotExist))
}
