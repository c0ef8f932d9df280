package emu_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tilec/jit/cuda"
	"tilec/jit/emu"
)

// A program is a small PTX kernel k with its inputs and what must come out. It is
// assembled by ptxas where there is one, run on the emulator, and compared with a GPU.
type program struct {
	name          string
	text          string
	grid, block   [3]int
	cluster       [3]int
	shared        int
	args          []*argument
	want          map[string][]byte
	broken        []brokenProgram
	profile       bool
	unpredictable bool // the results differ from run to run or by device
}

// A brokenProgram is a variant: lines marked //- name are left out, and lines marked //+ name are put in.
type brokenProgram struct {
	name  string
	finds emu.Kind
}

// An argument is a parameter of the kernel.
type argument struct {
	name  string
	kind  string // in, out, inout, scalar, map
	elem  string
	data  []byte // of in, inout and scalar; its length counts for out
	of    string // of map: the parameter with the tensor
	shape emu.TensorMap
}

const header = ".version 8.4\n.target sm_90a\n.address_size 64\n"

func (p *program) variant(name string) string {
	var b strings.Builder
	b.WriteString(header)
	for line := range strings.Lines(p.text) {
		words := strings.Split(line, "//")
		line, added, wanted := strings.TrimRight(words[0], "\n")+"\n", false, false
		for _, mark := range words[1:] {
			kind, of, _ := strings.Cut(strings.TrimSpace(mark), " ")
			switch {
			case kind == "-" && of == name:
				line = "\n"
			case kind == "+":
				added, wanted = true, wanted || of == name
			}
		}
		if added && !wanted {
			line = "\n"
		}
		b.WriteString(line)
	}
	return b.String()
}

// run executes a text on the emulator and gives the outputs.
func (p *program) run(t *testing.T, text string, seed int64) (*emu.Report, map[string][]byte) {
	t.Helper()
	module, err := emu.Parse(text)
	require.NoError(t, err)
	memory := emu.NewMemory()
	address := map[string]uint64{}
	options := emu.Options{Cluster: p.cluster, Seed: seed, Profile: p.profile, MaxSteps: 1 << 22, TensorMaps: map[string]*emu.TensorMap{}}
	entry := module.Kernels["k"]
	require.NotNil(t, entry)
	params := make([]byte, entry.ParamSize)
	for i, a := range p.args {
		at := params[entry.Params[i].Offset:]
		switch a.kind {
		case "scalar":
			copy(at, a.data)
			continue
		case "map":
			m := a.shape
			m.Address = address[a.of]
			options.TensorMaps[entry.Params[i].Name] = &m
			continue
		}
		base, err := memory.Alloc(int64(len(a.data)))
		require.NoError(t, err)
		address[a.name] = base
		if a.kind != "out" {
			require.NoError(t, memory.Write(base, a.data))
		}
		binary.LittleEndian.PutUint64(at, base)
	}
	report, err := emu.Launch(module, "k", p.grid, p.block, p.shared, params, memory, options)
	require.NoError(t, err)
	out := map[string][]byte{}
	for _, a := range p.args {
		if a.kind == "out" || a.kind == "inout" {
			out[a.name] = make([]byte, len(a.data))
			require.NoError(t, memory.Read(out[a.name], address[a.name]))
		}
	}
	return report, out
}

var seeds = []int64{0, 1, 2, 3}

// check runs a program and its broken variants.
func (p *program) check(t *testing.T) {
	t.Parallel()
	text := p.variant("")
	assemble(t, text)
	for _, seed := range seeds {
		report, out := p.run(t, text, seed)
		for _, f := range report.Findings {
			t.Errorf("seed %d: %s", seed, f)
		}
		for name, want := range p.want {
			p.compare(t, fmt.Sprintf("%s with seed %d", name, seed), name, want, out[name])
		}
		if seed == 0 {
			p.replay(t, out)
		}
	}
	for _, b := range p.broken {
		text := p.variant(b.name)
		require.NotEqual(t, p.variant(""), text, "no line is marked with %s", b.name)
		assemble(t, text)
		for _, seed := range seeds {
			report, _ := p.run(t, text, seed)
			kinds := []emu.Kind{}
			for _, f := range report.Findings {
				kinds = append(kinds, f.Kind)
			}
			assert.Contains(t, kinds, b.finds, "without %s, seed %d: %v", b.name, seed, report.Findings)
		}
	}
}

func (p *program) compare(t *testing.T, what, name string, want, have []byte) {
	t.Helper()
	if bytes.Equal(want, have) {
		return
	}
	i := slices.IndexFunc(p.args, func(a *argument) bool { return a.name == name })
	size := elemSizes[p.args[i].elem]
	shown := 0
	for at := 0; at+size <= len(want) && shown < 5; at += size {
		if !bytes.Equal(want[at:at+size], have[at:at+size]) {
			t.Errorf("%s[%d] is %s, want %s", what, at/size, show(have[at:at+size]), show(want[at:at+size]))
			shown++
		}
	}
}

func show(b []byte) string { return "0x" + hex.EncodeToString(reversed(b)) }

// assemble checks with ptxas that a text is legal PTX.
func assemble(t *testing.T, text string) {
	t.Helper()
	assembler, err := cuda.FindAssembler()
	if errors.Is(err, cuda.ErrNoAssembler) && os.Getenv(cuda.AssemblerVariable) == "" {
		return
	}
	require.NoError(t, err)
	_, _, err = assembler.Compile(context.Background(), []byte(text), "sm_90a", cuda.CompileOptions{})
	require.NoError(t, err)
}

// replay compares the emulator's results with those of a GPU.
func (p *program) replay(t *testing.T, out map[string][]byte) {
	if p.unpredictable {
		return
	}
	job := &emu.DeviceJob{Text: p.variant(""), Grid: p.grid, Block: p.block, Cluster: p.cluster, Shared: p.shared}
	index := map[string]int{}
	keys, results := make([]string, len(p.args)), make([][]byte, len(p.args))
	for i, a := range p.args {
		index[a.name] = i
		switch a.kind {
		case "scalar":
			job.Args = append(job.Args, emu.DeviceArg{Scalar: a.data})
		case "map":
			m := a.shape
			job.Args = append(job.Args, emu.DeviceArg{Of: index[a.of], Map: &cuda.TensorMapDesc{
				Type: cuda.TensorType(m.Type), Dims: m.Dims, Strides: m.Strides, Box: m.Box,
				Steps: m.Steps, Swizzle: cuda.Swizzle(m.Swizzle), NaNFill: m.NaNFill,
			}})
		default:
			job.Args = append(job.Args, emu.DeviceArg{Array: a.data})
		}
		if a.kind == "out" || a.kind == "inout" {
			keys[i], results[i] = a.name, out[a.name]
		}
	}
	emu.Replay(t, p.name, job, keys, results, emu.Same)
}

var elemSizes = map[string]int{
	"u8": 1, "s8": 1, "u16": 2, "u32": 4, "s32": 4, "u64": 8, "s64": 8, "f16": 2, "bf16": 2, "f32": 4, "f64": 8,
}

// encode writes a number as an element.
func encode(elem string, v float64) []byte {
	var b [8]byte
	if v != v { // the one that fills boxes
		return bytes.Repeat([]byte{0xf7, 0x7f}, elemSizes[elem]/2)
	}
	switch elem {
	case "f16":
		binary.LittleEndian.PutUint16(b[:], halfBits(v))
	case "bf16":
		binary.LittleEndian.PutUint16(b[:], uint16(math.Float32bits(float32(v))>>16))
	case "f32":
		binary.LittleEndian.PutUint32(b[:], math.Float32bits(float32(v)))
	case "f64":
		binary.LittleEndian.PutUint64(b[:], math.Float64bits(v))
	default:
		binary.LittleEndian.PutUint64(b[:], uint64(int64(v)))
	}
	return b[:elemSizes[elem]]
}

// halfBits is a number that f16 holds exactly, as its bits.
func halfBits(v float64) uint16 {
	b := math.Float64bits(v)
	sign := uint16(b >> 48 & 0x8000)
	if v == 0 {
		return sign
	}
	exp := int(b>>52&0x7ff) - 1023
	if exp < -14 {
		return sign | uint16(math.Abs(v)*(1<<24))
	}
	return sign | uint16(exp+15)<<10 | uint16(b>>42&0x3ff)
}

// numbers reads a list: 1 2 3, 4*0 for four zeros, 0..7 for a range, seq N, mod M N
// for N numbers around zero with M values, and nan.
func numbers(t *testing.T, fields []string) []float64 {
	t.Helper()
	atoi := func(s string) int {
		n, err := strconv.Atoi(s)
		require.NoError(t, err)
		return n
	}
	var all []float64
	switch {
	case len(fields) == 2 && fields[0] == "seq":
		for i := range atoi(fields[1]) {
			all = append(all, float64(i))
		}
	case len(fields) == 3 && fields[0] == "mod":
		m := atoi(fields[1])
		for i := range atoi(fields[2]) {
			all = append(all, float64((i*7+i/m*3)%m-m/2))
		}
	default:
		for _, f := range fields {
			times := 1
			if n, v, ok := strings.Cut(f, "*"); ok {
				times, f = atoi(n), v
			}
			for range times {
				if from, to, ok := strings.Cut(f, ".."); ok {
					for i := atoi(from); i <= atoi(to); i++ {
						all = append(all, float64(i))
					}
					continue
				}
				v, err := strconv.ParseFloat(f, 64)
				require.NoError(t, err)
				all = append(all, v)
			}
		}
	}
	return all
}

func array(t *testing.T, elem string, fields []string) []byte {
	require.Contains(t, elemSizes, elem)
	var b []byte
	for _, v := range numbers(t, fields) {
		b = append(b, encode(elem, v)...)
	}
	return b
}

var tensorElems = map[string]emu.TensorType{
	"u8": emu.TensorUint8, "u16": emu.TensorUint16, "u32": emu.TensorUint32, "s32": emu.TensorInt32, "u64": emu.TensorUint64,
	"s64": emu.TensorInt64, "f16": emu.TensorFloat16, "f32": emu.TensorFloat32, "f64": emu.TensorFloat64, "bf16": emu.TensorBFloat16,
}

func integers[T uint32 | uint64](t *testing.T, list string) []T {
	var all []T
	for _, s := range strings.Split(list, ",") {
		n, err := strconv.ParseUint(s, 10, 64)
		require.NoError(t, err)
		all = append(all, T(n))
	}
	return all
}

func triple(t *testing.T, fields []string) [3]int {
	d := [3]int{1, 1, 1}
	for i, f := range fields {
		n, err := strconv.Atoi(f)
		require.NoError(t, err)
		d[i] = n
	}
	return d
}

// readProgram reads a program from a txtar file: directives, the PTX, and the results wanted.
func readProgram(t *testing.T, path string) *program {
	archive, err := txtar.ParseFile(path)
	require.NoError(t, err)
	p := &program{
		name: strings.TrimSuffix(filepath.Base(path), ".txtar"),
		grid: [3]int{1, 1, 1}, block: [3]int{32, 1, 1}, want: map[string][]byte{},
	}
	elems := map[string]string{}
	for line := range strings.Lines(string(archive.Comment)) {
		f := strings.Fields(line)
		if len(f) == 0 || f[0] == "#" {
			continue
		}
		switch f[0] {
		case "grid":
			p.grid = triple(t, f[1:])
		case "block":
			p.block = triple(t, f[1:])
		case "cluster":
			p.cluster = triple(t, f[1:])
		case "shared":
			p.shared = triple(t, f[1:])[0]
		case "unpredictable":
			p.unpredictable = true
		case "in", "inout", "scalar":
			p.args = append(p.args, &argument{name: f[1], kind: f[0], elem: f[2], data: array(t, f[2], f[3:])})
			elems[f[1]] = f[2]
		case "out":
			p.args = append(p.args, &argument{name: f[1], kind: f[0], elem: f[2], data: make([]byte, elemSizes[f[2]]*triple(t, f[3:])[0])})
			elems[f[1]] = f[2]
		case "map":
			a := &argument{name: f[1], kind: "map", of: f[2], elem: f[3], shape: emu.TensorMap{Type: tensorElems[f[3]]}}
			for i := 4; i < len(f); i += 2 {
				switch f[i] {
				case "dims":
					a.shape.Dims = integers[uint64](t, f[i+1])
				case "strides":
					a.shape.Strides = integers[uint64](t, f[i+1])
				case "box":
					a.shape.Box = integers[uint32](t, f[i+1])
				case "steps":
					a.shape.Steps = integers[uint32](t, f[i+1])
				case "swizzle":
					a.shape.Swizzle = map[string]emu.Swizzle{"32": emu.Swizzle32, "64": emu.Swizzle64, "128": emu.Swizzle128}[f[i+1]]
				case "fill":
					a.shape.NaNFill = f[i+1] == "nan"
				default:
					t.Fatalf("%s: a map has no %s", path, f[i])
				}
			}
			p.args = append(p.args, a)
		case "without", "with":
			p.broken = append(p.broken, brokenProgram{f[1], emu.Kind(strings.Join(f[3:], " "))})
		default:
			t.Fatalf("%s: %s is no directive", path, f[0])
		}
	}
	for _, file := range archive.Files {
		if name, ok := strings.CutPrefix(file.Name, "want "); ok {
			p.want[name] = array(t, elems[name], strings.Fields(string(file.Data)))
			continue
		}
		require.Equal(t, "ptx", file.Name)
		p.text = string(file.Data)
	}
	return p
}

// Bulk copies count in the figures of cost: in one program 2 copies come and 1 goes, boxes by their rows.
func TestBulkTraffic(t *testing.T) {
	p := readProgram(t, filepath.Join(emu.Testdata(), "hints.txtar"))
	p.profile = true
	report, _ := p.run(t, p.variant(""), 0)
	assert.EqualValues(t, 256, report.GlobalRead)
	assert.EqualValues(t, 256, report.SharedWritten)
	assert.EqualValues(t, 256, report.SharedRead)
	assert.EqualValues(t, 256, report.GlobalWritten)
	for _, a := range report.Accesses {
		if a.Space == "global" {
			assert.Equal(t, a.Bytes/32, a.Sectors, a.Instruction)
		}
	}
}

func TestPrograms(t *testing.T) {
	paths, err := filepath.Glob(filepath.Join(emu.Testdata(), "*.txtar"))
	require.NoError(t, err)
	require.NotEmpty(t, paths)
	for _, path := range paths {
		p := readProgram(t, path)
		t.Run(p.name, func(t *testing.T) { p.check(t) })
	}
}

func reversed(b []byte) []byte {
	b = slices.Clone(b)
	slices.Reverse(b)
	return b
}
