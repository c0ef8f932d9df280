package emu

import (
	"sort"

	"tilec/jit/emu/number"
	"tilec/jit/emu/syntax"
)

// A class groups instructions by what executes them.
type class uint8

const (
	classInteger class = iota
	classLogic
	classFloat
	classSpecial
	classConvert
	classCompare
	classMove
	classLoad
	classStore
	classAtomic
	classAsync
	classMatrix
	classWarp
	classBarrier
	classControl
	classCount
)

var classNames = [classCount]string{
	"integer", "logic", "float", "special function", "convert", "compare", "move", "load", "store",
	"atomic", "asynchronous copy", "matrix", "warp", "barrier", "control",
}

// A Report is what a launch did.
type Report struct {
	Findings []Finding
	// Blocks is how many blocks ran, and Threads the threads of each.
	Blocks, Threads int
	// WarpInstructions and ThreadInstructions count executed instructions; a thread
	// that is predicated off does not count as executing.
	WarpInstructions, ThreadInstructions int64
	Classes                              []ClassCount
	// Lines are what the lines of the sources cost, in the order of their files' names and their numbers; what no line is known of has "" and 0.
	Lines []LineCount
	// Accesses are the instructions that touch global or shared memory, in program order.
	Accesses []Access
	// Bytes moved, by the program's own request.
	GlobalRead, GlobalWritten, SharedRead, SharedWritten int64
	// Registers is how many 32-bit registers the kernel declares; Shared the bytes of shared memory of a block.
	Registers, Shared int
	Occupancy         Occupancy
}

// A ClassCount is how often instructions of a class were executed.
type ClassCount struct {
	Class          string
	Warps, Threads int64
}

// A LineCount is how often instructions of a line of a source were executed.
type LineCount struct {
	File           string
	Line           int
	Warps, Threads int64
}

// An Access is what an instruction that touches memory did.
type Access struct {
	Instruction string
	PTXLine     int
	File        string
	Line        int
	Space       string // "global" or "shared"
	Requests    int64  // warp instructions
	Bytes       int64
	// Sectors is how many sectors of 32 bytes of global memory the requests touched,
	// and Wavefronts how many passes the banks of shared memory needed; Ideal is the
	// least that the bytes need.
	Sectors, Wavefronts, Ideal int64
}

// A siteCount counts one instruction in one worker.
type siteCount struct {
	warps, threads uint64
	global, shared accessCount
}

type accessCount struct{ requests, bytes, units, ideal uint64 }

const sectorSize, bankWidth, banks = 32, 4, 32

// traffic counts a request of size bytes a lane for the figures of cost.
func (w *warp) traffic(a address, size int) {
	if !w.block.launch.options.Profile {
		return
	}
	var sizes [warpSize]int
	for m := w.active; m != 0; m &= m - 1 {
		sizes[first(m)] = size
	}
	w.trafficOf(a, &sizes)
}

// trafficOf counts a request of sizes[lane] bytes of each active lane; a lane that moves nothing touches nothing.
func (w *warp) trafficOf(a address, sizes *[warpSize]int) {
	if !w.block.launch.options.Profile {
		return
	}
	lanes, bytes, most := uint32(0), 0, 0
	for m := w.active; m != 0; m &= m - 1 {
		lane := first(m)
		if sizes[lane] > 0 {
			lanes |= 1 << lane
			w.addresses[lane] = a.in(w, lane)
			bytes += sizes[lane]
			most = max(most, sizes[lane])
		}
	}
	if lanes == 0 {
		return
	}
	s, _ := resolve(a.space, w.addresses[first(lanes)])
	c := &w.block.counts[w.in.site.index]
	switch s {
	case syntax.SpaceGlobal:
		c.global.add(bytes, sectors(&w.addresses, lanes, sizes), sectorSize)
	case syntax.SpaceShared, syntax.SpaceCluster:
		c.shared.add(bytes, wavefronts(&w.addresses, lanes, most), bankWidth*banks)
	}
}

func (c *accessCount) add(bytes, units, unit int) {
	c.requests++
	c.bytes += uint64(bytes)
	c.units += uint64(units)
	c.ideal += uint64((bytes + unit - 1) / unit)
}

// sectors counts the different sectors that a request touches.
func sectors(addresses *[warpSize]uint64, active uint32, sizes *[warpSize]int) int {
	var seen [warpSize * 3]uint64
	n := 0
	for m := active; m != 0; m &= m - 1 {
		a, size := addresses[first(m)], sizes[first(m)]
	sector:
		for s := a / sectorSize; s <= (a+uint64(size)-1)/sectorSize; s++ {
			for i := n - 1; i >= 0; i-- {
				if seen[i] == s {
					continue sector
				}
			}
			if n < len(seen) {
				seen[n] = s
				n++
			}
		}
	}
	return n
}

// wavefronts counts the passes that a request to shared memory needs: a pass
// serves each bank one word, which any number of lanes may read. Requests of 8
// bytes a lane go in two halves of the warp, of 16 in four quarters.
func wavefronts(addresses *[warpSize]uint64, active uint32, size int) int {
	group := warpSize
	if size > bankWidth {
		group = warpSize * bankWidth / size
	}
	total := 0
	for from := 0; from < warpSize; from += group {
		part := active & (uint32(number.Mask(group)) << from)
		if part == 0 {
			continue
		}
		var words [banks][warpSize]uint64
		var used [banks]int
		most := 1
		for m := part; m != 0; m &= m - 1 {
			a := addresses[first(m)]
		word:
			for at := a / bankWidth; at <= (a+uint64(size)-1)/bankWidth; at++ {
				bank := at % banks
				for _, have := range words[bank][:used[bank]] {
					if have == at {
						continue word
					}
				}
				if used[bank] < warpSize {
					words[bank][used[bank]] = at
					used[bank]++
					most = max(most, used[bank])
				}
			}
		}
		total += most
	}
	return total
}

// fill turns the counts of all workers into the figures of the report.
func (r *Report) fill(k *Kernel, counts []siteCount) {
	var classes [classCount]ClassCount
	type place struct {
		file string
		line int
	}
	lines := map[place]LineCount{}
	for i := range counts {
		c, s := &counts[i], k.code[i].site
		r.WarpInstructions += int64(c.warps)
		r.ThreadInstructions += int64(c.threads)
		classes[s.class].Warps += int64(c.warps)
		classes[s.class].Threads += int64(c.threads)
		at := place{k.module.Files[s.file], s.line}
		n := lines[at]
		lines[at] = LineCount{at.file, at.line, n.Warps + int64(c.warps), n.Threads + int64(c.threads)}
		r.access(k, s, "global", c.global, &r.GlobalRead, &r.GlobalWritten)
		r.access(k, s, "shared", c.shared, &r.SharedRead, &r.SharedWritten)
	}
	for _, n := range lines {
		if n.Warps > 0 {
			r.Lines = append(r.Lines, n)
		}
	}
	sort.Slice(r.Lines, func(i, j int) bool {
		a, b := r.Lines[i], r.Lines[j]
		return a.File < b.File || a.File == b.File && a.Line < b.Line
	})
	for i, c := range classes {
		if c.Warps > 0 {
			c.Class = classNames[i]
			r.Classes = append(r.Classes, c)
		}
	}
}

func (r *Report) access(k *Kernel, s *site, space string, c accessCount, read, written *int64) {
	if c.requests == 0 {
		return
	}
	a := Access{
		Instruction: s.text, PTXLine: s.ptxLine, File: k.module.Files[s.file], Line: s.line, Space: space,
		Requests: int64(c.requests), Bytes: int64(c.bytes), Ideal: int64(c.ideal),
	}
	if space == "global" {
		a.Sectors = int64(c.units)
	} else {
		a.Wavefronts = int64(c.units)
	}
	r.Accesses = append(r.Accesses, a)
	reads, writes := s.class == classLoad, s.class == classStore
	switch s.class {
	case classAsync: // from global to shared memory
		reads, writes = space == "global", space == "shared"
		if toGlobal(s.text) {
			reads, writes = writes, reads
		}
	case classAtomic:
		reads, writes = true, true
	case classMatrix:
		reads, writes = s.text[0] == 'l', s.text[0] == 's' // ldmatrix, stmatrix
	}
	if reads {
		*read += a.Bytes
	}
	if writes {
		*written += a.Bytes
	}
}

func (c *siteCount) add(o *siteCount) {
	c.warps += o.warps
	c.threads += o.threads
	c.global.sum(&o.global)
	c.shared.sum(&o.shared)
}

func (c *accessCount) sum(o *accessCount) {
	c.requests += o.requests
	c.bytes += o.bytes
	c.units += o.units
	c.ideal += o.ideal
}
