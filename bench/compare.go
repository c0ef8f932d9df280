package bench

import (
	"fmt"
	"io"
)

// Compare writes how two runs of the same workloads differ: the time before, the time after, and how many times as fast it became. noise is by which
// part of a time a difference has to be larger to be called one. It gives how many workloads became slower.
func Compare(w io.Writer, before, after *Run, noise float64) (slower int) {
	fmt.Fprintf(w, "| workload, us | before | after | before / after | |\n|---|---|---|---|---|\n")
	var ratios []float64
	for _, x := range after.Results {
		old, ok := before.Find(x.Name)
		if !ok || old.Micros <= 0 || x.Micros <= 0 {
			continue
		}
		ratio := old.Micros / x.Micros
		ratios = append(ratios, ratio)
		word := ""
		switch {
		case x.Micros > old.Micros*(1+noise):
			word = "slower"
			slower++
		case old.Micros > x.Micros*(1+noise):
			word = "faster"
		}
		fmt.Fprintf(w, "| %s | %.1f | %.1f | %.3f | %s |\n", x.Name, old.Micros, x.Micros, ratio, word)
	}
	if len(ratios) == 0 {
		fmt.Fprintln(w, "\nThe runs have no workload in common that both timed.")
		return 0
	}
	mean, least := geometric(ratios)
	fmt.Fprintf(w, "\n%d workloads: geometric mean %.3f, least %.3f; %d slower by more than %g %%.\n", len(ratios), mean, least, slower, 100*noise)
	if before.Device != after.Device {
		fmt.Fprintf(w, "The devices differ: %s, and %s.\n", before.Device, after.Device)
	}
	return slower
}
