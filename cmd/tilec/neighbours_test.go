package main

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tilec/jit"
	"tilec/jit/backend"
)

// Windows, shifts and records of sizes whose rows words of 16, 8 and 4 bytes fill, and of others, by threads that have several elements and by threads that have one.
func TestNeighboursInMemory(t *testing.T) {
	const tests, vision, science, serving, images = "testdata/tests/windows", "bench/beyond/vision", "bench/beyond/science", "bench/beyond/serving", "bench/beyond/images"
	cases := []struct{ file, kernel, sizes, pins string }{
		{tests, "fir", "M=3 N=96", "BM=2 BN=64 warps=1"}, {tests, "fir", "M=2 N=33", "BN=32"}, {tests, "fir", "M=5 N=1028", "BM=2 BN=256"},
		{tests, "blur", "H=10 W=64", "BH=8 BW=64 warps=1"}, {tests, "blur", "H=5 W=7", ""}, {tests, "blur", "H=3 W=4", "BH=4 BW=32"},
		{tests, "erode", "H=9 W=160", "BH=8 BW=64 warps=1"}, {tests, "erode", "H=20 W=30", ""}, {tests, "erode", "H=70 W=16", "BH=64 BW=8"},
		{tests, "halve", "M=3 N=64", "BM=2 BN=64 warps=1"}, {tests, "halve", "M=3 N=65", ""},
		{tests, "neighbours", "M=3 N=256", "BN=256 warps=2"}, {tests, "neighbours", "M=3 N=30", ""},
		{tests, "complex", "N=1000", "B=256"}, {tests, "complex", "N=1001", "B=256"},
		{tests, "turn", "M=3 N=256 T=f32", "BN=128"}, {tests, "turn", "M=3 N=128 T=bf16", "BN=128"}, {tests, "turn", "M=2 N=130 T=u8", "BN=128"}, {tests, "turn", "M=2 N=64 T=f64", ""},
		{tests, "weighted", "N=512", "B=512"}, {tests, "weighted", "N=515", "B=512"},
		{tests, "looked_up", "V=20 N=300 at=randint(-2,22)", "B=128"}, {tests, "swapped", "N=600", "B=512"}, {tests, "bounded", "M=9 N=64 most=randint(0,9)", "BM=8 BN=64 warps=1"}, {tests, "past", "M=2 P=50", "BM=2 warps=2"}, {tests, "past", "M=1 P=6", "BM=1 warps=1"}, {tests, "complex", "N=0", ""}, {tests, "fir", "M=2 N=0", ""}, {tests, "halve", "M=0 N=64", ""},
		{vision, "depthwise7", "B=2 C=3 H=9 W=16 T=bf16", "BH=8 BV=16 warps=1"}, {vision, "blur", "H=20 W=64", "BH=8 BW=64 warps=1"}, {vision, "bilateral", "H=10 W=32 ss=2 sr=1", "BH=8 BW=32 warps=1"},
		{vision, "fir", "B=2 L=512 K=64", "BT=512"}, {vision, "sobel", "H=10 W=64", "BH=8 BW=64 warps=1"}, {vision, "rgb_to_yuv", "B=2 H=3 W=128", "BV=128"},
		{vision, "rgb_to_grey", "H=3 W=512", "BV=512"}, {vision, "colour_matrix", "H=4 W=128", ""}, {vision, "blend", "P=1030", "BP=512"}, {vision, "iou", "N=20 M=64", ""},
		{science, "moving", "M=3 N=256", "BM=2 BN=128"}, {science, "heat", "H=5 W=128 dt=0.1", "BW=128 warps=1"}, {science, "wave8", "N=10 M=11 L=32 v2=0.1", ""},
		{science, "jacobi3", "N=5 M=4 L=32 h2=0.1", ""}, {science, "butterfly", "B=2 N=64 h=8", ""},
		{serving, "conv_step", "B=3 C=128 T=bf16", "BC=128"}, {images, "normalise", "B=2 H=3 W=128", "BW=128"},
	}
	a := &app{sources: map[string][]byte{}}
	onDevices(t, func(t *testing.T, _ string, device backend.Device) {
		for _, c := range cases {
			for _, pins := range []string{"", c.pins} {
				name := fmt.Sprint(c.kernel, " ", c.sizes, " ", pins)
				p, err := a.load("../../" + c.file + ".tile")
				require.NoError(t, err)
				f, err := jit.FindFunction(p, c.kernel)
				require.NoError(t, err)
				args, err := parseArguments(strings.Fields(c.sizes + " " + pins))
				require.NoError(t, err, name)
				w, err := witnessed(f, jit.NewCompiler(device, nil), args, 1)
				require.NoError(t, err, name)
				assert.Nil(t, w.First, "%s: %v", name, w.First)
				if c.pins == "" {
					break
				}
			}
		}
	})
}
