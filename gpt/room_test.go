package gpt_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tilec/gpt"
	"tilec/jit"
	"tilec/lang"
)

// cramped is the CPU with little memory.
type cramped struct {
	jit.Device
	free   int64
	allocs int
}

func (c *cramped) Room() (free, total int64, err error) { return c.free, 8 << 30, nil }

func (c *cramped) Name() string { return "a small one" }

func (c *cramped) Alloc(n int64) (*jit.Memory, error) {
	c.allocs++
	return c.Device.Alloc(n)
}

// A model that does not fit is refused before anything of it is on the device, and one that just fits is not.
func TestModelThatDoesNotFit(t *testing.T) {
	// tile-small: weights of 281,984 elements, and a cache of keys and values for 256 positions of 4 layers of 64.
	const weights, cache = 281_984, 2 * 4 * 256 * 64
	for _, c := range []struct {
		dtype lang.DType
		size  int64
		want  string
	}{
		{lang.F32, 4, "the model is too large: it takes 1.1 MiB for its weights and 512 KiB for what it keeps of a text, and a small one has 1.6 MiB free of 8.0 GiB: " +
			"use --dtype bf16, which takes half of f32, or take a smaller model or a device with more memory"},
		{lang.BF16, 2, "551 KiB for its weights and 256 KiB for what it keeps of a text, and a small one has 807 KiB free of 8.0 GiB: take a smaller model or a device with more memory"},
	} {
		ckpt, err := gpt.Random("tile-small", 1)
		require.NoError(t, err)
		d := &cramped{Device: jit.OpenCPU(), free: c.size*(weights+cache) - 1}
		_, err = newModel(t, ckpt, d, c.dtype)
		require.ErrorContains(t, err, c.want)
		var memory *jit.MemoryError
		require.ErrorAs(t, err, &memory)
		assert.Equal(t, &jit.MemoryError{Need: d.free + 1, Have: 8 << 30, Free: d.free}, memory)
		assert.Zero(t, d.allocs)
		d.free++
		_, err = newModel(t, ckpt, d, c.dtype)
		require.NoError(t, err)
		assert.Positive(t, d.allocs)
	}
}

// Loading tells of every byte, once.
func TestLoadingIsTold(t *testing.T) {
	ckpt, err := gpt.Random("nano", 1)
	require.NoError(t, err)
	var told []int64
	ckpt.Loading = func(done, total int64) {
		require.Equal(t, int64(4*146_352), total)
		told = append(told, done)
	}
	_, err = newModel(t, ckpt, jit.OpenCPU(), lang.F32)
	require.NoError(t, err)
	assert.Len(t, told, 1+len(ckpt.Tensors.Tensors()))
	assert.IsIncreasing(t, told)
	assert.Equal(t, int64(4*146_352), told[len(told)-1])
}
