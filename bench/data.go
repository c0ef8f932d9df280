package bench

import (
	"fmt"
	"math/rand/v2"
	"sync"

	"tilec/jit"
	"tilec/lang"
)

// This file has the data of workloads. A peer makes the same: it is given the patterns, of which every tensor is a repetition.

// pattern is how many random elements there are; longer tensors repeat them. offset is how far into it the next parameter of a kernel begins.
const (
	pattern = 1 << 20
	offset  = 7919
)

// normals are normally distributed numbers, so that weights are as large as inputs and results stay within the range of every type;
// wholes are random bits, of which integers are made.
var (
	normals = sync.OnceValue(func() []float32 {
		random := rand.New(rand.NewPCG(1, 2))
		x := make([]float32, pattern)
		for i := range x {
			x[i] = float32(random.NormFloat64())
		}
		return x
	})
	wholes = sync.OnceValue(func() []uint32 {
		random := rand.New(rand.NewPCG(3, 4))
		x := make([]uint32, pattern)
		for i := range x {
			x[i] = random.Uint32()
		}
		return x
	})
)

// fill writes the data of the parameter number n of a kernel to its tensor.
func fill(device jit.Device, t *jit.Tensor, n int, w Integers) error {
	count := jit.Elements(t.Shape)
	var put func(block []byte, i, element int64)
	period := int64(pattern)
	switch {
	case t.DType.IsFloat():
		x := normals()
		put = func(block []byte, i, element int64) {
			t.DType.PutElementAt(block, i, float64(x[(element+int64(n)*offset)%pattern]))
		}
	case !t.DType.IsInt():
		return fmt.Errorf("no data of type %s", t.DType)
	case w.Step != 0:
		period = max(count, 1)
		put = func(block []byte, i, element int64) {
			if w.Squares {
				element *= element
			}
			t.DType.PutElementAt(block, i, float64(element*w.Step))
		}
	case w.High > w.Low:
		x := wholes()
		put = func(block []byte, i, element int64) {
			t.DType.PutElementAt(block, i, float64(w.Low+int64(x[(element+int64(n)*offset)%pattern])%(w.High-w.Low)))
		}
	default:
		return device.Fill(t.Memory, 0, t.Bytes(), 0)
	}
	period = min(period, count)
	block := make([]byte, t.DType.Bytes(period))
	for i := range period {
		put(block, i, i)
	}
	for at := int64(0); at < t.Bytes(); at += int64(len(block)) {
		if err := device.Write(t.Memory, at, block[:min(int64(len(block)), t.Bytes()-at)]); err != nil {
			return err
		}
	}
	return nil
}

// sampled is how many elements of a result are compared with a peer's.
const sampled = 1024

// sample reads elements of a tensor that lie evenly over all of it, the first and the last among them.
func sample(device jit.Device, t *jit.Tensor) ([]float64, error) {
	count := jit.Elements(t.Shape)
	n := min(count, sampled)
	out := make([]float64, n)
	size := int64(t.DType.Size())
	if t.DType.Packed() || t.DType == lang.Bool {
		return nil, nil
	}
	data := make([]byte, size)
	for i := range n {
		at := int64(0)
		if n > 1 {
			at = i * (count - 1) / (n - 1)
		}
		if err := device.Read(data, t.Memory, t.DType.Bytes(t.Offset)+at*size); err != nil {
			return nil, err
		}
		out[i] = t.DType.ElementAt(data, 0)
	}
	return out, nil
}
