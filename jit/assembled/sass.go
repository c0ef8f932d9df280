// Package assembled says what NVIDIA's assembler makes of a kernel: registers, spills, how many blocks share a multiprocessor, and
// how many instructions loops and elements take. It reads what ptxas and nvdisasm print, so it needs no GPU.
package assembled

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// Instruction is one instruction of machine code.
type Instruction struct {
	// Predicate guards it: "@P0", "@!UP1"; "" where it is always executed.
	Predicate string
	// Op is the operation with its modifiers, "LDG.E.128.CONSTANT", Operands the rest.
	Op, Operands string
	// Target is the place in Kernel.Instructions that a branch goes to, -1 where it has none.
	Target int
}

// Is reports an operation of one of the families: LDG of "LDG.E.128".
func (i *Instruction) Is(families ...string) bool {
	family, _, _ := strings.Cut(i.Op, ".")
	for _, f := range families {
		if f == family {
			return true
		}
	}
	return false
}

// Matrix reports a product on the matrix unit.
func (i *Instruction) Matrix() bool {
	return i.Is("HGMMA", "QGMMA", "IGMMA", "BGMMA", "HMMA", "IMMA", "DMMA")
}

// shape finds the extents of a product in the name of its operation: rows, columns and depth of "HGMMA.64x128x16.F32.BF16" and of
// "HMMA.16816.F32.BF16".
var (
	wideShape = regexp.MustCompile(`\.(\d+)x(\d+)x(\d+)`)
	warpShape = regexp.MustCompile(`\.(16)(8)(4|8|16|32)(\.|$)|\.(8)(8)(4|16)(\.|$)`)
)

// MultiplyAdds is how many multiplications with an addition each a warp does by a product on the matrix unit; 0 for all else.
func (i *Instruction) MultiplyAdds() int {
	if !i.Matrix() {
		return 0
	}
	warps, m := 4, wideShape.FindStringSubmatch(i.Op) // a warpgroup does it together
	if m == nil {
		warps, m = 1, warpShape.FindStringSubmatch(i.Op)
	}
	n := 1
	for _, text := range m {
		if extent, err := strconv.Atoi(text); err == nil {
			n *= extent
		}
	}
	if m == nil {
		return 0
	}
	return n / warps
}

// AllWarps reports a barrier that all warps of a block arrive at, or all that compute: the one with the number 0.
func (i *Instruction) AllWarps() bool {
	first, _, _ := strings.Cut(i.Operands, ",")
	return strings.HasPrefix(i.Op, "BAR.SYNC") && strings.TrimSpace(first) == "0x0"
}

// FencesGPU reports a fence at which a thread waits until the whole GPU sees what it wrote before.
func (i *Instruction) FencesGPU() bool {
	return i.Is("MEMBAR") && strings.Contains(i.Op, ".GPU")
}

// GlobalBytes is how many bytes an access of global memory has, 0 for all else. Copies to shared memory by the TMA have none.
func (i *Instruction) GlobalBytes() int {
	if !i.Is("LDG", "STG", "LDGSTS") {
		return 0
	}
	for _, modifier := range strings.Split(i.Op, ".")[1:] {
		switch modifier {
		case "U8", "S8":
			return 1
		case "U16", "S16":
			return 2
		case "64":
			return 8
		case "128":
			return 16
		}
	}
	return 4
}

// Kernel is the machine code of one kernel.
type Kernel struct {
	Name         string
	Instructions []Instruction
}

var (
	sectionLine     = regexp.MustCompile(`^\.text\.(\S+):`)
	labelLine       = regexp.MustCompile(`^(\.L_\w+|\$\S+):`)
	instructionLine = regexp.MustCompile(`/\*[0-9a-f]{4,}\*/\s+(.*?)\s*;`)
	branchTarget    = regexp.MustCompile("`\\((\\S+?)\\)")
)

// Parse reads what `nvdisasm -c` prints. Padding is left out.
func Parse(text string) ([]*Kernel, error) {
	var kernels []*Kernel
	var now *Kernel
	var targets []string
	labels := map[string]int{}
	resolve := func() error {
		for n, name := range targets {
			if name == "" {
				continue
			}
			to, ok := labels[name]
			if !ok {
				return fmt.Errorf("machine code of %s: a branch goes to %s, which is nowhere", now.Name, name)
			}
			now.Instructions[n].Target = to
		}
		return nil
	}
	for _, line := range strings.Split(text, "\n") {
		trimmed := strings.TrimSpace(line)
		if m := sectionLine.FindStringSubmatch(trimmed); m != nil {
			if now != nil {
				if err := resolve(); err != nil {
					return nil, err
				}
			}
			now, targets, labels = &Kernel{Name: m[1]}, nil, map[string]int{}
			kernels = append(kernels, now)
			continue
		}
		if now == nil {
			continue
		}
		if m := labelLine.FindStringSubmatch(trimmed); m != nil {
			labels[m[1]] = len(now.Instructions)
			continue
		}
		m := instructionLine.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		i := Instruction{Target: -1}
		rest := m[1]
		if strings.HasPrefix(rest, "@") {
			i.Predicate, rest, _ = strings.Cut(rest, " ")
		}
		i.Op, i.Operands, _ = strings.Cut(strings.TrimSpace(rest), " ")
		if i.Op == "NOP" {
			continue
		}
		target := ""
		if i.Is("BRA") {
			t := branchTarget.FindStringSubmatch(i.Operands)
			if t == nil {
				return nil, fmt.Errorf("machine code of %s: a branch to %q cannot be read", now.Name, i.Operands)
			}
			target = t[1]
		}
		now.Instructions = append(now.Instructions, i)
		targets = append(targets, target)
	}
	if now == nil {
		return nil, fmt.Errorf("the machine code has no kernel")
	}
	return kernels, resolve()
}

// number is the first number behind a word in a text, 0 where there is none.
func number(pattern *regexp.Regexp, text string) int {
	m := pattern.FindStringSubmatch(text)
	if m == nil {
		return 0
	}
	n, _ := strconv.Atoi(m[1])
	return n
}
