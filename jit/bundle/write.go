package bundle

import (
	"context"
	"encoding/json"
	"path/filepath"

	"tilec/jit/compile"
	"tilec/jit/cuda"
	"tilec/jit/file"
	"tilec/jit/spec"
	"tilec/jit/target"
)

// Bundle is a manifest with the contents of its files.
type Bundle struct {
	Manifest
	// Code is the files of the launches by name.
	Code map[string][]byte

	machine   target.Machine
	assembler *cuda.Assembler
}

// New makes a bundle without kernels, of PTX or, by an assembler, of machine code. The compiler is its version.
func New(compiler, source string, machine target.Machine, assembler *cuda.Assembler) *Bundle {
	b := &Bundle{Manifest: Manifest{Format: FormatVersion, Compiler: compiler, Source: source, Target: machine.Name, Form: "ptx", Kernels: []Kernel{}}, Code: map[string][]byte{}, machine: machine, assembler: assembler}
	if assembler != nil {
		b.Form = "cubin"
	}
	return b
}

// Add adds a kernel that was lowered: launches and lowered are its parts in order. The error is a *Refusal where no manifest can say
// how to launch the kernel; the bundle is then as it was.
func (b *Bundle) Add(s *spec.Spec, launches []*spec.Spec, lowered []*compile.Lowered) error {
	k := About(s)
	code := map[string][]byte{}
	for i, launch := range launches {
		made, err := launchOf(launch, lowered[i])
		if err != nil {
			return err
		}
		text := []byte(lowered[i].Code.PTX.Text)
		if b.assembler != nil {
			if text, _, err = b.assembler.Compile(context.Background(), text, b.machine.Name, cuda.CompileOptions{LineInfo: true}); err != nil {
				return err
			}
		}
		made.File = made.Entry + "." + b.Form
		code[made.File] = text
		k.Launches = append(k.Launches, made)
	}
	b.Kernels = append(b.Kernels, k)
	for name, text := range code {
		b.Code[name] = text
	}
	return nil
}

// Write writes the bundle to a folder that is not there yet, or empty: all of it, or nothing.
func (b *Bundle) Write(dir string) error {
	manifest, err := json.MarshalIndent(&b.Manifest, "", "  ")
	if err != nil {
		return err
	}
	return file.WriteFolder(dir, func(dir string) error {
		files := map[string][]byte{ManifestName: append(manifest, '\n'), HeaderName: []byte(Header(&b.Manifest))}
		for name, data := range b.Code {
			files[name] = data
		}
		for name, data := range files {
			if err := file.WriteBytes(filepath.Join(dir, name), data); err != nil {
				return err
			}
		}
		return nil
	})
}
