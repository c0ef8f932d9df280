package parser

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
	"github.com/stretchr/testify/require"

	"tilec/lang"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// TestTrees prints the tree of each source in testdata/trees and compares it
// with the `.tree` that follows the source in the archive.
func TestTrees(t *testing.T) {
	paths, err := filepath.Glob("testdata/trees/*.txtar")
	require.NoError(t, err)
	require.NotEmpty(t, paths)
	for _, path := range paths {
		t.Run(filepath.Base(path), func(t *testing.T) {
			archive, err := txtar.ParseFile(path)
			require.NoError(t, err)
			out := &txtar.Archive{Comment: archive.Comment}
			for _, f := range archive.Files {
				if filepath.Ext(f.Name) != ".tile" {
					continue
				}
				mod, diags := Parse(lang.NewSource(f.Name, string(f.Data)))
				require.NoError(t, diags.Err())
				var tree bytes.Buffer
				require.NoError(t, Print(&tree, mod))
				name := f.Name[:len(f.Name)-len(".tile")] + ".tree"
				out.Files = append(out.Files, f, txtar.File{Name: name, Data: tree.Bytes()})
			}
			if *update {
				require.NoError(t, os.WriteFile(path, txtar.Format(out), 0o644))
				return
			}
			require.Equal(t, string(txtar.Format(archive)), string(txtar.Format(out)))
		})
	}
}

// TestRendered compares how the errors of testdata/rendered/*.tile are shown.
func TestRendered(t *testing.T) {
	paths, err := filepath.Glob("testdata/rendered/*.tile")
	require.NoError(t, err)
	require.NotEmpty(t, paths)
	for _, path := range paths {
		t.Run(filepath.Base(path), func(t *testing.T) {
			text, err := os.ReadFile(path)
			require.NoError(t, err)
			_, diags := Parse(lang.NewSource(filepath.Base(path), string(text)))
			var out bytes.Buffer
			require.NoError(t, lang.Render(&out, diags, lang.RenderOptions{}))
			golden := path + ".golden"
			if *update {
				require.NoError(t, os.WriteFile(golden, out.Bytes(), 0o644))
			}
			want, err := os.ReadFile(golden)
			require.NoError(t, err)
			require.Equal(t, string(want), out.String())
		})
	}
}
