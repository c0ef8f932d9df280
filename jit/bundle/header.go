package bundle

import (
	_ "embed"
	"fmt"
	"strings"
)

// types are the C structs of which a header has values.
//
//go:embed types.h
var types string

// kinds are the C names of the kinds.
var kinds = map[string]string{KindTensor: "TILEC_TENSOR", KindScalar: "TILEC_SCALAR", KindConstant: "TILEC_CONSTANT", KindScratch: "TILEC_SCRATCH", KindTensorMap: "TILEC_TENSOR_MAP"}

// Header is the manifest as C.
func Header(m *Manifest) string {
	var b strings.Builder
	fmt.Fprintf(&b, "/* Kernels of %s for %s, by tilec %s. %s says the same. */\n", comment(m.Source), m.Target, m.Compiler, ManifestName)
	b.WriteString(types)
	for _, k := range m.Kernels {
		for i, l := range k.Launches {
			writeLaunch(&b, &k, i, &l)
		}
	}
	return b.String()
}

func writeLaunch(b *strings.Builder, k *Kernel, number int, l *Launch) {
	name := "tilec_" + l.Entry
	place := map[string]int{}
	var params, parts strings.Builder
	for i, p := range l.Parameters {
		place[p.Name] = i
		mapping := "0"
		if p.Map != nil {
			tf32 := 0
			if p.Map.TF32 {
				tf32 = 1
			}
			mapping = fmt.Sprintf("&%s_map_%d", name, i)
			fmt.Fprintf(&parts, "static const struct tilec_tensor_map %s_map_%d = {%d, %d, %d, %d, {%s}, {%s}, {%s}, %d};\n",
				name, i, place[p.Map.Tensor], p.Map.ElementBytes, p.Map.Swizzle, len(p.Map.Dims), list(p.Map.Dims), list(p.Map.Strides), list(p.Map.Box), tf32)
		}
		shape := "0"
		if len(p.Shape) > 0 {
			shape = fmt.Sprintf("%s_shape_%d", name, i)
			fmt.Fprintf(&parts, "static const int64_t %s[] = {%s};\n", shape, list(p.Shape))
		}
		zero := 0
		if p.Zero {
			zero = 1
		}
		fmt.Fprintf(&params, "    {%q, %s, %d, %q, %q, %d, %s, %d, %d, %d, %d, %s},\n", p.Name, kinds[p.Kind], p.Size, p.Mode, p.DType, len(p.Shape), shape, p.Bytes, p.Align, zero, p.Value, mapping)
	}
	fmt.Fprintf(b, "\n/* launch %d of %d of %s */\n%s", number+1, len(k.Launches), comment(k.Name), parts.String())
	parameters := "0"
	if len(l.Parameters) > 0 {
		parameters = name + "_parameters"
		fmt.Fprintf(b, "static const struct tilec_parameter %s[] = {\n%s};\n", parameters, params.String())
	}
	fmt.Fprintf(b, "static const struct tilec_kernel %s = {%q, %q, {%s}, {%s}, {%s}, %d, %d, %s};\n",
		name, l.File, l.Entry, list(l.Grid[:]), list(l.Block[:]), list(l.Cluster[:]), l.Shared, len(l.Parameters), parameters)
}

// list is the elements of an initialiser; C has none without elements.
func list[T int64 | uint64 | uint32](values []T) string {
	words := make([]string, len(values))
	for i, v := range values {
		words[i] = fmt.Sprint(v)
	}
	if len(words) == 0 {
		return "0"
	}
	return strings.Join(words, ", ")
}

// comment makes a text one that cannot end a C comment.
func comment(text string) string { return strings.ReplaceAll(text, "*/", "* /") }
