package emu

import (
	"fmt"
	"io"
	"path"
	"slices"
	"sort"
	"text/tabwriter"
)

// Print writes the figures of a launch for a person: instructions by class,
// traffic, and the accesses with the most passes, by source line.
func (r *Report) Print(w io.Writer, kernel string) {
	fmt.Fprintf(w, "%s: %d blocks of %d threads, %d bytes of shared memory, %d registers declared\n",
		kernel, r.Blocks, r.Threads, r.Shared, r.Registers)
	fmt.Fprintf(w, "  %d warp instructions, %d thread instructions", r.WarpInstructions, r.ThreadInstructions)
	if r.WarpInstructions > 0 {
		fmt.Fprintf(w, " (%.1f lanes active)", float64(r.ThreadInstructions)/float64(r.WarpInstructions))
	}
	fmt.Fprintln(w)
	o := r.Occupancy
	fmt.Fprintf(w, "  occupancy: %d of %d warps (%.0f%%), %d", o.Blocks*o.Warps, o.MostWarps, 100*float64(o.Blocks*o.Warps)/float64(o.MostWarps), o.Blocks)
	if o.MostBlocks > o.Blocks {
		fmt.Fprintf(w, " to %d", o.MostBlocks)
	}
	fmt.Fprintf(w, " blocks a multiprocessor, limited by %s; a thread has ", o.Limit)
	if !o.Assembled {
		fmt.Fprint(w, "at most ")
	}
	fmt.Fprintf(w, "%d registers\n", o.Registers)
	classes := slices.Clone(r.Classes)
	sort.SliceStable(classes, func(i, j int) bool { return classes[i].Warps > classes[j].Warps })
	for _, c := range classes {
		fmt.Fprintf(w, "  %6.2f%%  %s\n", 100*float64(c.Warps)/float64(r.WarpInstructions), c.Class)
	}
	fmt.Fprintf(w, "  global memory: %d bytes read, %d written; shared memory: %d read, %d written\n",
		r.GlobalRead, r.GlobalWritten, r.SharedRead, r.SharedWritten)
	if len(r.Accesses) == 0 {
		return
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "  line\tinstruction\trequests\tbytes\tpasses\tof the least")
	for _, a := range gatherAccesses(r.Accesses) {
		unit := "sectors"
		if a.Space == "shared" {
			unit = "wavefronts"
		}
		n := a.Sectors + a.Wavefronts
		fmt.Fprintf(t, "  %s:%d\t%s\t%d\t%d\t%d %s\t%.2f x\n", path.Base(a.File), a.Line, a.Instruction, a.Requests, a.Bytes, n, unit, float64(n)/float64(max(a.Ideal, 1)))
	}
	t.Flush()
}

// gatherAccesses adds up the equal instructions of a source line, those with the
// most bytes first.
func gatherAccesses(all []Access) []Access {
	type key struct {
		file, instruction, space string
		line                     int
	}
	at := map[key]int{}
	var sums []Access
	for _, a := range all {
		k := key{a.File, a.Instruction, a.Space, a.Line}
		i, ok := at[k]
		if !ok {
			at[k] = len(sums)
			sums = append(sums, a)
			continue
		}
		s := &sums[i]
		s.Requests += a.Requests
		s.Bytes += a.Bytes
		s.Sectors += a.Sectors
		s.Wavefronts += a.Wavefronts
		s.Ideal += a.Ideal
	}
	sort.SliceStable(sums, func(i, j int) bool { return sums[i].Bytes > sums[j].Bytes })
	return sums
}
