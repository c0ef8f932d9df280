package pass

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Places of a window stay a block's own where it reads what it has stored at others; sums that are added to what is there do not.
func TestTapsReadTheirOwn(t *testing.T) {
	const stored = "  store %dw[%0, %1, %2] = %8\n"
	for _, c := range []struct {
		name, instead string
		changed       bool
	}{
		{"added", "  %9 = load %dw[%0, %1, %2] : f32{r, c, o}\n  %10 = add %8, %9 : f32{r, c, o}\n  store %dw[%0, %1, %2] = %10\n", true},
		{"mirrored", stored + "  %9 = const 2 : i32\n  %10 = sub %9, %1 : i32{r}\n  %11 = load %dw[%0, %10, %2] : f32{r, c, o}\n  store %dw[%0, %1, %2] = %11\n", false},
	} {
		text := strings.NewReplacer(stored, c.instead, "tensor %dw : out", "tensor %dw : inout").Replace(taps.Before)
		f := parse(t, text)
		changed, err := taps.Run(f, &Options{Matrix: true})
		require.NoError(t, err, c.name)
		assert.Equal(t, c.changed, changed, c.name)
	}
}
