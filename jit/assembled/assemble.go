package assembled

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"

	"tilec/jit/cuda"
	"tilec/jit/target"
)

// Tools are the assembler and, beside it or in the PATH, nvdisasm.
type Tools struct {
	Assembler    *cuda.Assembler
	disassembler string
}

// ErrNoTools is wrapped by the error of [Find] where there is no ptxas or no nvdisasm.
var ErrNoTools = errors.New("no ptxas and nvdisasm")

// Find looks for ptxas as the compiler does (cuda.AssemblerVariable, then the PATH), and for nvdisasm beside it and in the PATH.
func Find() (*Tools, error) {
	a, err := cuda.FindAssembler()
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNoTools, err)
	}
	for _, name := range []string{filepath.Join(filepath.Dir(a.Path), "nvdisasm"), "nvdisasm"} {
		if path, err := exec.LookPath(name); err == nil {
			path, err = filepath.Abs(path)
			return &Tools{a, path}, err
		}
	}
	return nil, fmt.Errorf("%w: nvdisasm is neither beside %s nor in the PATH", ErrNoTools, a.Path)
}

// Code is what the assembler made of a module with one kernel.
type Code struct {
	*Kernel
	// Registers are of a thread; Spilled the bytes of a thread that are stored and loaded for want of them; Stack its bytes of stack.
	Registers, Spilled, Stack int
	// Static is the shared memory that the module declares, in bytes, beside what a launch asks for.
	Static int
	// Text is what nvdisasm prints, with the places in the sources that the PTX names.
	Text string
	// Warnings are the assembler's, such as that products wait for one another (C7510 and its like).
	Warnings []string
}

var (
	registersUsed = regexp.MustCompile(`Used (\d+) registers`)
	spillStores   = regexp.MustCompile(`(\d+) bytes spill stores`)
	spillLoads    = regexp.MustCompile(`(\d+) bytes spill loads`)
	stackFrame    = regexp.MustCompile(`(\d+) bytes stack frame`)
	staticShared  = regexp.MustCompile(`(\d+) bytes smem`)
	warning       = regexp.MustCompile(`\(C7\d+\)`)
)

// Assemble makes machine code of PTX for a target, as in "sm_90a", and reads it.
func (t *Tools) Assemble(ctx context.Context, ptx, target string) (*Code, error) {
	cubin, log, err := t.Assembler.Compile(ctx, []byte(ptx), target, cuda.CompileOptions{Verbose: true, LineInfo: true})
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "tilec-sass-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "module.cubin")
	if err := os.WriteFile(file, cubin, 0o600); err != nil {
		return nil, err
	}
	text, err := exec.CommandContext(ctx, t.disassembler, "-c", "-ndf", "-g", file).Output()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", t.disassembler, err)
	}
	kernels, err := Parse(string(text))
	if err != nil {
		return nil, err
	}
	if len(kernels) != 1 {
		return nil, fmt.Errorf("the module has %d kernels, must have one", len(kernels))
	}
	c := &Code{Kernel: kernels[0], Text: string(text), Registers: number(registersUsed, log), Spilled: number(spillStores, log) + number(spillLoads, log),
		Stack: number(stackFrame, log), Static: number(staticShared, log)}
	for _, line := range strings.Split(log, "\n") {
		if warning.MatchString(line) {
			c.Warnings = append(c.Warnings, strings.TrimSpace(line))
		}
	}
	return c, nil
}

// What registers are given in: to a warp in units of registerUnit, and to warps in groups, one of each quarter of a multiprocessor.
const (
	registerUnit = 256
	quarters     = 4
)

// Residency is how many blocks of so many threads and bytes of shared memory a multiprocessor holds at once, by the
// rules of the CUDA occupancy calculator for compute capability 8.0 and later.
func (c *Code) Residency(m target.Machine, threads, shared int) int {
	warps := (threads + 31) / 32
	perWarp := (c.Registers*32 + registerUnit - 1) / registerUnit * registerUnit
	blocks := min(m.ThreadsPerSM/32/warps, m.BlocksPerSM)
	if perWarp > 0 {
		blocks = min(blocks, m.RegistersPerSM/quarters/perWarp*quarters/warps)
	}
	return min(blocks, (m.SharedPerBlock+target.SharedReserved)/(shared+c.Static+target.SharedReserved))
}
