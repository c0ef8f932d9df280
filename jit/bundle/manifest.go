// Package bundle writes compiled kernels for programs that launch them without this compiler: a file a launch, a JSON manifest that
// says what each launch takes, and a C header that says the same.
package bundle

// ManifestName and HeaderName are the files beside the kernels.
const (
	ManifestName = "manifest.json"
	HeaderName   = "kernels.h"
)

// FormatVersion is that of the manifest; one that means something else gets another.
const FormatVersion = 1

// Manifest is all that a launch of the kernels needs.
type Manifest struct {
	Format int `json:"format"`
	// Compiler is the version of tilec, Source the file that the kernels are of.
	Compiler string `json:"compiler"`
	Source   string `json:"source"`
	// Target is the machine that the kernels are compiled for, Form "ptx" or "cubin".
	Target  string   `json:"target"`
	Form    string   `json:"form"`
	Kernels []Kernel `json:"kernels"`
	// LeftOut are kernels that the bundle lacks.
	LeftOut []LeftOut `json:"left_out,omitempty"`
}

// LeftOut is a kernel with what keeps it out of the bundle.
type LeftOut struct {
	Name   string `json:"name"`
	Reason string `json:"reason"`
}

// Kernel is a compiled kernel for the sizes of its tensors. It is launched as its parts, in order.
type Kernel struct {
	Name string `json:"name"`
	// Sizes, Types and Constants are what the kernel was compiled for, by name.
	Sizes     map[string]int64  `json:"sizes,omitempty"`
	Types     map[string]string `json:"types,omitempty"`
	Constants map[string]string `json:"constants,omitempty"`
	Launches  []Launch          `json:"launches"`
}

// Launch is one launch.
type Launch struct {
	// File is beside the manifest; Entry is the name of the function in it.
	File  string `json:"file"`
	Entry string `json:"entry"`
	// Grid counts blocks, Block threads, Cluster the blocks of a cluster (1 for none).
	Grid    [3]int64 `json:"grid"`
	Block   [3]int64 `json:"block"`
	Cluster [3]int64 `json:"cluster"`
	// Axes say what the grid is made of: the product of the blocks of each axis, times the split of an axis over a cluster, made a
	// multiple of the cluster.
	Axes []Axis `json:"axes,omitempty"`
	// Most is how many blocks the launch has at most: they go through the tiles of the grid, however many they are. 0 where each
	// block has one tile.
	Most int64 `json:"most,omitempty"`
	// Shared is the dynamic shared memory of a block, in bytes.
	Shared     int64       `json:"shared"`
	Parameters []Parameter `json:"parameters"`
}

// Axis is one of the grid: so many positions, extent of them a block.
type Axis struct {
	Name   string `json:"name"`
	Size   int64  `json:"size"`
	Extent int64  `json:"extent"`
}

// The kinds of parameter.
const (
	// KindTensor is the address of a tensor's first element, whose elements lie row-major without gaps.
	KindTensor = "tensor"
	// KindScalar is a value of the dtype that the caller chooses.
	KindScalar = "scalar"
	// KindConstant is a value that the manifest gives: a size, a stride, the number of the first block.
	KindConstant = "constant"
	// KindScratch is the address of memory that holds nothing before and after the launch.
	KindScratch = "scratch"
	// KindTensorMap is a CUtensorMap of 128 bytes, which the host makes by cuTensorMapEncodeTiled.
	KindTensorMap = "tensor_map"
)

// Parameter is one of a launch, in order.
type Parameter struct {
	Name string `json:"name"`
	Kind string `json:"kind"`
	// Size is that of the parameter itself, in bytes.
	Size int64 `json:"size"`
	// Mode of a tensor is "in", "out" or "inout".
	Mode  string  `json:"mode,omitempty"`
	DType string  `json:"dtype,omitempty"`
	Shape []int64 `json:"shape,omitempty"`
	// Bytes is the memory behind the address of a tensor or of scratch memory, of which Align divides the address.
	Bytes int64 `json:"bytes,omitempty"`
	Align int64 `json:"align,omitempty"`
	// Zero: the host sets all bytes of the tensor to 0 before the launch.
	Zero bool `json:"zero,omitempty"`
	// Value is that of a constant.
	Value int64      `json:"value,omitempty"`
	Map   *TensorMap `json:"map,omitempty"`
}

// TensorMap is what cuTensorMapEncodeTiled takes for one, the fastest dimension first: no interleaving, elements beyond the
// tensor are zeros, element strides of 1.
type TensorMap struct {
	// Tensor is the parameter whose memory is mapped.
	Tensor string `json:"tensor"`
	// ElementBytes chooses the type where TF32 does not: CU_TENSOR_MAP_DATA_TYPE_UINT8, 16, 32 or 64.
	ElementBytes int64 `json:"element_bytes"`
	// Dims and Box count elements; Strides are bytes, of all dimensions but the first.
	Dims    []uint64 `json:"dims"`
	Strides []uint64 `json:"strides"`
	Box     []uint32 `json:"box"`
	// Swizzle is the span in bytes: 32, 64 or 128.
	Swizzle int64 `json:"swizzle"`
	// TF32: the type is CU_TENSOR_MAP_DATA_TYPE_TFLOAT32, which rounds what is copied.
	TF32 bool `json:"tf32,omitempty"`
}
