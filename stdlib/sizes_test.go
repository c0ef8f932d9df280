package stdlib_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tilec/jit"
)

// Every kernel says its typical sizes and element types, all of them, so that tools can look at it with no launch at hand.
func TestEveryKernelHasItsSizes(t *testing.T) {
	program, problems := jit.Load("stdlib_test.tile", []byte(source), nil)
	require.Empty(t, problems)
	require.NotEmpty(t, program.Kernels)
	for _, k := range program.Kernels {
		_, err := jit.Specialise(k, jit.Options{})
		assert.NoError(t, err)
	}
}
