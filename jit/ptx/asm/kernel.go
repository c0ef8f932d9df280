package asm

import (
	"fmt"
	"strings"
)

// Kernel is what stands around the code of a kernel: its name, what a launch gives it and how it is launched.
type Kernel struct {
	// About is for whoever reads the text, a line each.
	About []string
	// Target is as in "sm_90a".
	Target string
	Name   string
	// Shared is the symbol of the block's dynamic shared memory; none where it has none.
	Shared Symbol
	Params []Param
	// Threads is the size of a block, Occupancy how many blocks a multiprocessor should have room for, Cluster how many
	// blocks go together: 0 or 1 for each alone.
	Threads, Occupancy, Cluster int
}

// Param is a parameter of a kernel.
type Param struct {
	// Type is as in ".u64"; a tensor map has none.
	Type string
	Name Symbol
}

// sharedAlign is where shared memory begins: where the longest pattern of a swizzle does.
const sharedAlign = 1024

// Module is the text of a module with one kernel, whose code is the entry section, then the sections, then the body.
func (a *Builder) Module(k Kernel, sections ...Code) string {
	var b strings.Builder
	for _, l := range k.About {
		fmt.Fprintf(&b, "// %s\n", l)
	}
	fmt.Fprintf(&b, ".version %d.%d\n.target %s\n.address_size 64\n\n", a.Version/10, a.Version%10, k.Target)
	if k.Shared != "" {
		fmt.Fprintf(&b, ".extern .shared .align %d .b8 %s[];\n\n", sharedAlign, k.Shared)
	}
	fmt.Fprintf(&b, ".visible .entry %s(", k.Name)
	for i, p := range k.Params {
		if i > 0 {
			b.WriteString(",")
		}
		if p.Type == "" {
			fmt.Fprintf(&b, "\n    .param .align 64 .b8 %s[128]", p.Name)
		} else {
			fmt.Fprintf(&b, "\n    .param %-5s %s", p.Type, p.Name)
		}
	}
	// Exactly so many threads, not at most: of a block whose shape the assembler knows, what all lanes of a warp have stays in uniform registers. With .maxntid ptxas
	// 13.0 kept descriptors of wgmma in each thread's own, beside branches on a thread's number.
	fmt.Fprintf(&b, "\n)\n.reqntid %d, 1, 1\n.minnctapersm %d\n", k.Threads, max(k.Occupancy, 1))
	if k.Cluster > 1 {
		fmt.Fprintf(&b, ".reqnctapercluster %d, 1, 1\n", k.Cluster)
	}
	b.WriteString("{\n" + a.Declarations() + "\n" + a.entry.String() + "\n")
	for _, s := range sections {
		b.WriteString(s.String())
	}
	b.WriteString(a.Body().String() + "}\n")
	for i, f := range a.Files {
		fmt.Fprintf(&b, ".file %d %q\n", i+1, f.Path)
	}
	return b.String()
}
