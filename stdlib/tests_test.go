package stdlib_test

import (
	"bytes"
	"io/fs"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tilec/jit"
	"tilec/jit/jittest"
	"tilec/stdlib"
)

// TestSources runs the test blocks of every file of the library on the device under test. Every file has some, and no
// kernel of the library pays for filling an output.
func TestSources(t *testing.T) {
	files, err := fs.Glob(stdlib.FS, "*.tile")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, name := range files {
		text, err := stdlib.FS.ReadFile(name)
		require.NoError(t, err)
		program, ds := jit.Load("std/"+name, text, nil)
		require.Empty(t, ds)
		require.NotEmpty(t, program.Tests, name)
		var launches bytes.Buffer
		logs, err := jit.ParseLogs("launch", &launches)
		require.NoError(t, err)
		compiler := jit.NewCompiler(jittest.Device(t), logs)
		for _, test := range program.Tests {
			t.Run(name+"/"+test.Name, func(t *testing.T) {
				failures, err := compiler.RunTest(test, jit.Options{})
				require.NoError(t, err)
				for _, f := range failures {
					line, _ := f.Check.At.Position()
					t.Errorf("line %d: %s\n%s", line, f.Check.At.Text(), strings.Join(f.Text(), "\n"))
				}
			})
		}
		require.NotEmpty(t, launches.String(), name)
		require.NotContains(t, launches.String(), "with zeros", name)
	}
}
