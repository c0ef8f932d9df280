package ir

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestCloneIsDeep(t *testing.T) {
	texts := map[string]string{"everything": everything}
	for _, file := range kernelFiles(t) {
		texts[filepath.Base(file)] = readFile(t, file)
	}
	for name, text := range texts {
		f, err := parse(name, text)
		require.NoError(t, err)
		before := f.String()
		c := Clone(f)
		assert.Equal(t, before, c.String(), name)
		assert.Equal(t, Verify(f) == nil, Verify(c) == nil, name)

		// Change everything in the copy that can be changed; the original stays.
		for _, d := range c.Dims {
			d.Name, d.Value = "changed", 1
		}
		for _, x := range c.Tensors {
			x.Name = "changed"
		}
		for _, a := range c.Axes {
			a.Name, a.Extent = "changed", 1
			for i := range a.Choices {
				a.Choices[i] = 1
			}
		}
		c.Walk(func(op *Op) bool {
			for i := range op.Args {
				op.Args[i] = c.NewValue(op.Args[i].Type, nil)
			}
			for _, r := range op.Results {
				r.Name = "changed"
			}
			for i := range op.Checked {
				op.Checked[i] = !op.Checked[i]
			}
			for _, b := range op.Blocks {
				b.Yield = nil
			}
			return true
		})
		for h := range c.Hints {
			c.Hints[h] = 77
		}
		assert.Equal(t, before, f.String(), name)
	}
}

func TestCopyOpTakesFreshValues(t *testing.T) {
	f, err := Parse("linear", readFile(t, "testdata/linear_gelu.tir"))
	require.NoError(t, err)
	for _, op := range f.Body.Ops {
		if len(op.Blocks) == 0 {
			continue
		}
		k := op.Axis
		loop := f.AddAxis(*k)
		assert.Equal(t, "k.1", loop.Name)
		c := f.CopyOp(op, &Mapping{Axes: map[*Axis]*Axis{k: loop}})
		f.Body.Ops = append(f.Body.Ops, c)
		break
	}
	assert.NoError(t, Verify(f))
}
