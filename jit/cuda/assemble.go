package cuda

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
)

// The driver compiles PTX but does not hand the machine code out: its linker does,
// but treats PTX as relocatable, which costs wgmma its pipelining. So machine code
// to keep comes from ptxas where it is installed, and elsewhere the driver's own
// cache of compiled PTX has to do.

// AssemblerVariable names the environment variable with the path of ptxas.
const AssemblerVariable = "TILEC_PTXAS"

// ErrNoAssembler is wrapped by the error of [FindAssembler] where there is no ptxas.
var ErrNoAssembler = errors.New("no ptxas")

// An Assembler is NVIDIA's ptxas, which makes a cubin of PTX ahead of time.
type Assembler struct {
	Path    string
	version string
}

// Version is ptxas's own: "V12.4.131", for instance.
func (a *Assembler) Version() string { return a.version }

// versions are those of the programs that this process has asked for theirs, by path, as a string.
var versions sync.Map

// FindAssembler looks for ptxas at [AssemblerVariable] and then in PATH.
func FindAssembler() (*Assembler, error) {
	name := os.Getenv(AssemblerVariable)
	if name == "" {
		name = "ptxas"
	}
	path, err := exec.LookPath(name)
	if err != nil {
		return nil, fmt.Errorf("%w: %w; put it in PATH or set %s", ErrNoAssembler, err, AssemblerVariable)
	}
	version, known := versions.Load(path)
	if !known {
		out, err := exec.Command(path, "--version").CombinedOutput()
		if err != nil {
			return nil, fmt.Errorf("%w: %s --version: %w: %s", ErrNoAssembler, path, err, bytes.TrimSpace(out))
		}
		version, _ = versions.LoadOrStore(path, assemblerVersion(string(out)))
	}
	return &Assembler{Path: path, version: version.(string)}, nil
}

// assemblerVersion finds the version in what ptxas prints about itself; failing
// that, it is all of it, which still tells versions apart.
func assemblerVersion(text string) string {
	for field := range strings.FieldsFuncSeq(text, func(r rune) bool { return r == ' ' || r == ',' || r == '\n' }) {
		if len(field) > 1 && field[0] == 'V' && field[1] >= '0' && field[1] <= '9' {
			return field
		}
	}
	return strings.TrimSpace(text)
}

// sourceName is what ptxas calls the module in its messages.
const sourceName = "module.ptx"

// Compile makes a cubin for a target, as in "sm_90a". The log is what ptxas
// printed; when it fails, the error has it too.
func (a *Assembler) Compile(ctx context.Context, ptx []byte, target string, opts CompileOptions) (cubin []byte, log string, err error) {
	if err := opts.check(); err != nil {
		return nil, "", err
	}
	dir, err := os.MkdirTemp("", "tilec-ptxas-")
	if err != nil {
		return nil, "", fmt.Errorf("cannot run ptxas: %w", err)
	}
	defer os.RemoveAll(dir)
	if err := os.WriteFile(filepath.Join(dir, sourceName), ptx, 0o600); err != nil {
		return nil, "", fmt.Errorf("cannot run ptxas: %w", err)
	}
	const output = "module.cubin"
	path, err := filepath.Abs(a.Path) // it runs in another directory
	if err != nil {
		return nil, "", fmt.Errorf("cannot run ptxas: %w", err)
	}
	cmd := exec.CommandContext(ctx, path, append(opts.flags(target), "-o", output, sourceName)...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	log = strings.TrimSpace(string(out))
	if err != nil {
		return nil, log, fmt.Errorf("ptxas for %s: %w: %s", target, err, log)
	}
	cubin, err = os.ReadFile(filepath.Join(dir, output))
	if err != nil {
		return nil, log, fmt.Errorf("ptxas for %s left no cubin: %w", target, err)
	}
	return cubin, log, nil
}

// flags are the options as ptxas takes them.
func (o CompileOptions) flags(target string) []string {
	flags := []string{"-arch=" + target}
	if o.OptLevel > 0 {
		flags = append(flags, "-O"+strconv.Itoa(o.OptLevel))
	}
	if o.MaxRegisters > 0 {
		flags = append(flags, "-maxrregcount="+strconv.Itoa(o.MaxRegisters))
	}
	if o.Debug {
		flags = append(flags, "-g")
	}
	if o.LineInfo {
		flags = append(flags, "-lineinfo")
	}
	if o.Verbose {
		flags = append(flags, "-v")
	}
	return flags
}

// PTXCompiler makes machine code of PTX ahead of loading: an [Assembler] or a [DriverCompiler].
type PTXCompiler interface {
	// Compile makes a cubin for a target, as in "sm_90a". The log is what the compiler said.
	Compile(ctx context.Context, ptx []byte, target string, opts CompileOptions) (cubin []byte, log string, err error)
	// Version tells compilers apart, for keys of caches.
	Version() string
}
