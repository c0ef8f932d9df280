// Package plan decides what the source leaves open: tile extents, warps,
// pipeline stages, which long axes are streamed. A plan is data; applying it
// to a kernel fills in the extents that the backends read.
package plan

import (
	"fmt"
	"sort"
	"strings"

	"tilec/jit/ir"
	"tilec/jit/target"
	"tilec/lang"
)

// Plan is the choice for one kernel on one target. It can be stored, compared and printed.
type Plan struct {
	// Target is the name of the target that the plan is for.
	Target string `json:"target"`
	// Extents gives, by axis name, the elements that a block (grid axes) or a step (loop axes) handles at once.
	Extents map[string]int64 `json:"extents,omitempty"`
	// Chunks gives, by axis name, the elements at once of a Whole axis that is too long for a block
	// and is streamed: the pass `stream` makes a loop of each operation that consumes the axis.
	Chunks map[string]int64 `json:"chunks,omitempty"`
	// Split gives, by axis name, over how many blocks of a cluster the planner spreads a Whole axis that is streamed:
	// each streams a part, and what they have is joined. Those that the source pins are the axes' own (ir.Axis.Split).
	Split map[string]int64 `json:"split,omitempty"`
	// Warps is the number of warps of a thread block; 0 on the CPU.
	Warps int `json:"warps,omitempty"`
	// Stages is the depth of the load pipeline of loops that feed contractions; 1 is none, 0 on the CPU.
	Stages int `json:"stages,omitempty"`
	// Occupancy is the thread blocks that share a multiprocessor, where it is pinned, and Cluster those of a
	// cluster; 0 where nothing is asked.
	Occupancy int `json:"occupancy,omitempty"`
	Cluster   int `json:"cluster,omitempty"`
	// Private is up to how many elements a tensor has that blocks change by atomics in shared memory first, where it is
	// pinned, and 0 where nothing is asked; 1 is none.
	Private int `json:"private,omitempty"`
	// Relayout is whether operands are laid out anew before the launch, where it is pinned, and 0 where nothing is asked; 1 is
	// that they are not.
	Relayout int `json:"relayout,omitempty"`
	// Cut is in how many launches the kernel is cut, where it is pinned, and 0 where nothing is asked.
	Cut int `json:"cut,omitempty"`
	// Online is 2 where a softmax goes through its scores once, with the largest so far, and where it is pinned; 0 where it does not.
	Online int `json:"online,omitempty"`
	// Ranges is how many ranges that are read from memory a block has side by side, and 0 where it has one.
	Ranges int64 `json:"ranges,omitempty"`
	// Forms is, by the names of lang.Forms, which of several forms the code has; what is best is decided where nothing is said.
	Forms map[string]int64 `json:"forms,omitempty"`
	// Producer is the warps of a block beside those that compute which only copy, where it is pinned; 0 where it is not.
	Producer int `json:"producer,omitempty"`
	// Persist is with how many teams of warps blocks stay and go through tiles of the grid; 0 where a block has one.
	Persist int `json:"persist,omitempty"`
	// Resident is the thread blocks of a multiprocessor that the prediction rests on, where the code is held to it: the
	// assembler is told, and keeps to the registers that so many have. 0 where it is not.
	Resident int `json:"resident,omitempty"`
	// Wgmma is which products are by wgmma, where it is pinned: block.WgmmaNever or block.WgmmaAlways; 0 where nothing is asked.
	Wgmma int `json:"wgmma,omitempty"`
	// Once names the tensors that the launch reads once: what else the L2 holds is to stay in their place.
	Once []string `json:"once,omitempty"`
	// Why explains the choice, a line each.
	Why []string `json:"why,omitempty"`

	// Time is what the planner predicts for a launch, in seconds.
	Time float64 `json:"-"`
	// Estimate is that prediction in parts, and Next that of the candidate that came next; nil where there is none.
	Estimate *Estimate `json:"-"`
	Next     *Estimate `json:"-"`

	// shared is the estimate of the shared memory of a block, in bytes.
	shared int64
}

// SharedError says that a plan's code needs more shared memory than a block may have.
type SharedError struct {
	// Need and Have are bytes.
	Need, Have int
	// Buffers is what takes them, a line each.
	Buffers []string
}

// Error is the bytes that are needed and those that there are.
func (e *SharedError) Error() string {
	return fmt.Sprintf("the plan needs %d bytes of shared memory, the limit is %d a block: %s", e.Need, e.Have, strings.Join(e.Buffers, ", "))
}

// Tighter is the target with so much less shared memory that this plan is not chosen for it: the plan's code needs so many
// bytes of shared memory a block and may have fewer, so the planner's estimates are that much too low.
func (p *Plan) Tighter(t target.Machine, need, have int) target.Machine {
	for fits := true; fits && t.SharedPerBlock > 0; fits = p.shared <= t.SharedShare(p.Occupancy)-sharedReserve {
		t.SharedPerBlock = min(t.SharedPerBlock*have/need, t.SharedPerBlock-1024)
	}
	return t
}

// Apply sets the extents of f's axes from the plan. Every grid and loop axis
// must have one, there or, like the loops that the pass `stream` made, already.
func (p *Plan) Apply(f *ir.Func) error {
	for _, a := range f.Axes {
		switch {
		case a.Scalar:
			a.Extent = 1
		case a.Kind == ir.Whole:
			a.Extent = a.Len
		default:
			e, ok := p.Extents[a.Name]
			if !ok {
				e = a.Extent
			}
			if e <= 0 {
				return fmt.Errorf("plan for %s gives no extent for axis %s", f.Name, a.Name)
			}
			a.Extent = e
		}
	}
	return nil
}

// Setting is what the plan has of a setting that can be pinned; 0 where it leaves it open. Over how many blocks axes are
// split is said of each axis: see Split.
func (p *Plan) Setting(name string) int64 {
	switch name {
	case "warps":
		return int64(p.Warps)
	case "stages":
		return int64(p.Stages)
	case "occupancy":
		return int64(p.Occupancy)
	case "cluster":
		return int64(p.Cluster)
	case "private":
		return int64(p.Private)
	case "relayout":
		return int64(p.Relayout)
	case "cut":
		return int64(p.Cut)
	case "online":
		return int64(p.Online)
	case "ranges":
		return p.Ranges
	case "producer":
		return int64(p.Producer)
	case "persist":
		return int64(p.Persist)
	case "wgmma":
		return int64(p.Wgmma)
	}
	return p.Forms[name]
}

// String is the plan on one line, the same for equal plans.
func (p *Plan) String() string {
	var words []string
	add := func(label string, m map[string]int64) {
		names := make([]string, 0, len(m))
		for n := range m {
			names = append(names, n)
		}
		sort.Strings(names)
		for _, n := range names {
			words = append(words, fmt.Sprintf("%s%s=%d", label, n, m[n]))
		}
	}
	add("", p.Extents)
	add("stream ", p.Chunks)
	add("split ", p.Split)
	for _, name := range lang.PlanSettings() {
		if n := p.Setting(name); n > 0 {
			words = append(words, fmt.Sprintf("%s=%d", name, n))
		}
	}
	return p.Target + ": " + strings.Join(words, " ")
}
