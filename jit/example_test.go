package jit_test

import (
	"errors"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"tilec/jit"
	"tilec/lang"
)

const softmax = `
/// Softmax over the last dimension.
kernel softmax<T: float>(x: T[M, N]) -> y: T[M, N]
    grid i in M by BM
{
    axis j in N
    let v = x[i, j] as f32
    let e = exp(v - max(v, over j))
    y[i, j] = (e / sum(e, over j)) as T
}
`

// A kernel is called on arrays in the host's memory, on the GPU where there is
// one and on the CPU otherwise.
func Example() {
	device, err := jit.OpenDevice("cpu") // or "auto"
	if err != nil {
		log.Fatal(err)
	}
	defer device.Close()
	module, err := jit.NewCompiler(device, nil).Load("softmax.tile", []byte(softmax))
	if err != nil {
		log.Fatal(err)
	}
	out, err := module.Call("softmax", jit.Args{"x": jit.ArrayOf([]float32{0, 0, 0, 0, 1, 2}, 2, 3)})
	if err != nil {
		log.Fatal(err)
	}
	y, err := jit.Slice[float32](out["y"])
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%v %.3f\n", out["y"], y)
	// Output: f32[2, 3] [0.333 0.333 0.333 0.090 0.245 0.665]
}

// README shows this one.
func ExampleCompiler_LoadFile() {
	defer inFolder("norm.tile", `
kernel normalize<T: float>(x: T[M, N]) -> y: T[M, N]
    grid i in M by BM
{
    axis j in N
    let v = x[i, j] as f32
    y[i, j] = (v * rsqrt(sum(v * v, over j))) as T
}
`)()
	device, err := jit.OpenDevice("auto") // the GPU, or the CPU without one
	check(err)
	module, err := jit.NewCompiler(device, nil).LoadFile("norm.tile")
	check(err)
	out, err := module.Call("normalize", jit.Args{"x": jit.ArrayOf([]float32{3, 4}, 1, 2)})
	check(err)
	y, err := jit.Slice[float32](out["y"])
	check(err)
	fmt.Println(y)
	// Output: [0.6 0.8]
}

// Types that Go has no numbers of are converted; tile extents may be pinned.
func ExampleConverted() {
	module := loadExample(softmax)
	out, err := module.Call("softmax", jit.Args{
		"x":  jit.Converted(lang.BF16, []float64{1, 1, 1, 1}, 1, 4),
		"BM": 1,
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(out["y"], out["y"].Floats())
	// Output: bf16[1, 4] [0.25 0.25 0.25 0.25]
}

// A Launch is compiled once and run as often as wanted; its tensors stay on
// the device.
func ExampleFunction_Bind() {
	module := loadExample(`
kernel decay(rate: f32, inout x: f32[N])
    grid i in N by B
{
    x[i] = x[i] * rate
}
`)
	f, err := module.Function("decay")
	if err != nil {
		log.Fatal(err)
	}
	launch, err := f.Bind(jit.Args{"x": []float32{16, 32, 64}, "rate": 0.5})
	if err != nil {
		log.Fatal(err)
	}
	defer launch.Close()
	for range 3 {
		if err := launch.Run(); err != nil {
			log.Fatal(err)
		}
	}
	x, err := launch.Read("x")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(x.Floats())
	// Output: [2 4 8]
}

// A tensor that is on the device already is used where it lies.
func ExampleUpload() {
	module := loadExample(softmax)
	memory, err := jit.Upload(module.Device(), jit.Bytes([]float32{5, 5}), 4)
	if err != nil {
		log.Fatal(err)
	}
	defer module.Device().Free(memory)
	out, err := module.Call("softmax", jit.Args{"x": &jit.Tensor{DType: lang.F32, Shape: []int64{1, 2}, Memory: memory}})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(out["y"].Floats())
	// Output: [0.5 0.5]
}

// A graph calls kernels; structs are Args of their fields.
func ExampleModule_Call_graph() {
	module := loadExample(`
import "std/nn"

struct Layer {
    weight: f32[K, N]
    bias: f32[N]
}

graph layer(x: f32[M, K], w: Layer) -> y: f32[M, N] {
    y = linear_bias(x, w.weight, w.bias)
}
`)
	out, err := module.Call("layer", jit.Args{
		"x": jit.ArrayOf([]float32{1, 2}, 1, 2),
		"w": jit.Args{
			"weight": jit.ArrayOf([]float32{1, 0, 0, 1}, 2, 2),
			"bias":   []float32{10, 20},
		},
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(out["y"].Floats())
	// Output: [11 22]
}

// Errors have types: those of a source and of a call tell their code and place.
func Example_errors() {
	compiler := jit.NewCompiler(jit.OpenCPU(), nil)
	_, err := compiler.Load("bad.tile", []byte("kernel k(x: f32[N]) -> y: f32[N]\n    grid i in N by B\n{\n    y[i] = x[j]\n}\n"))
	var ds lang.Diagnostics
	if errors.As(err, &ds) {
		for _, d := range ds {
			line, column := d.At.Source.Position(d.At.Start)
			fmt.Printf("%s at %d:%d: %s\n", d.Code, line, column, d.Message)
		}
	}
	module := loadExample(softmax)
	_, err = module.Call("softmax", jit.Args{"x": []float32{1, 2, 3}})
	var d *lang.Diagnostic
	if errors.As(err, &d) {
		fmt.Printf("%s: %s\n", d.Code, d.Message)
	}
	_, err = module.Call("sofmax", nil)
	var unknown *jit.NameError
	if errors.As(err, &unknown) {
		fmt.Println(unknown)
	}
	// Output:
	// E0201 at 4:14: unknown name j
	// E0902: x of softmax has the shape [M, N], 2 dimensions, but the argument has 1: [3]
	// there is no kernel or graph sofmax: did you mean softmax?
}

func loadExample(source string) *jit.Module {
	module, err := jit.NewCompiler(jit.OpenCPU(), nil).Load("example.tile", []byte(source))
	if err != nil {
		log.Fatal(err)
	}
	return module
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

// inFolder makes a folder with one file the current one; what it gives goes back.
func inFolder(name, text string) func() {
	dir, err := os.MkdirTemp("", "tilec")
	check(err)
	was, err := os.Getwd()
	check(err)
	check(os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666))
	check(os.Chdir(dir))
	return func() {
		check(os.Chdir(was))
		check(os.RemoveAll(dir))
	}
}
