package bench

import (
	"fmt"
	"io"
	"math"
	"strings"
)

// Report writes the table of kernels: ours beside the peer's, in the order of
// the workloads, with the ratio of times (below 1 we are faster) and, at the
// end, its geometric mean over the workloads that both have.
func Report(w io.Writer, device string, all []Workload, ours, peers []Result) {
	mine, other := byName(ours), byName(peers)
	fmt.Fprintf(w, "# Kernels on %s\n", device)
	fmt.Fprint(w, "Medians in µs by the device's clock; the L2 cache is overwritten before each run. The ratio is ours / peer.\n\n")
	fmt.Fprintln(w, "| kernel, M×K×N / M×N / b×h×s×d | ours | peer | ratio | ours TFLOP/s | ours GB/s | compile ms | plan | peer's variant |")
	fmt.Fprintln(w, "|---|---|---|---|---|---|---|---|---|")
	logs, n := 0.0, 0
	for _, work := range all {
		a, okA := mine[work.Name]
		b, okB := other[work.Name]
		if !okA && !okB {
			continue
		}
		row := []string{work.Name, micros(a, okA), micros(b, okB), "", "", "", "", a.Plan, b.Plan}
		if a.Micros > 0 {
			if work.FLOPs > 0 {
				row[4] = fmt.Sprintf("%.0f", work.FLOPs/a.Micros/1e6)
			}
			row[5] = fmt.Sprintf("%.0f", work.Bytes/a.Micros/1e3)
			row[6] = fmt.Sprintf("%.0f", a.CompileMillis)
			if b.Micros > 0 {
				row[3] = fmt.Sprintf("%.2f", a.Micros/b.Micros)
				logs += math.Log(a.Micros / b.Micros)
				n++
			}
		}
		fmt.Fprintf(w, "| %s |\n", strings.Join(row, " | "))
	}
	if n > 0 {
		fmt.Fprintf(w, "\nGeometric mean of %d ratios: %.2f\n", n, math.Exp(logs/float64(n)))
	}
}

func micros(r Result, ok bool) string {
	switch {
	case !ok:
		return "not run"
	case r.Error != "":
		// A table's cell is one line; the rest is in the log.
		line, _, _ := strings.Cut(r.Error, "\n")
		return "failed: " + strings.ReplaceAll(line, "|", "/")
	}
	return fmt.Sprintf("%.1f", r.Micros)
}

func byName(results []Result) map[string]Result {
	m := map[string]Result{}
	for _, r := range results {
		m[r.Name] = r
	}
	return m
}

// ReportModels writes the table of whole models; first are runs that found empty caches.
func ReportModels(w io.Writer, device string, first, later []ModelResult, peers map[string]float64) {
	fmt.Fprintf(w, "\n# Models on %s\n", device)
	fmt.Fprint(w, "One sequence, greedy. The first token counts from the start of the process; compiling is of the prompt and of a step of decoding; cold is with empty caches, ours and the driver's.\n\n")
	fmt.Fprintln(w, "| model | tokens/s | peer eager | peer CUDA graph | prompt ms | first token ms, cold | compiling | first token ms, cached | compiling |")
	fmt.Fprintln(w, "|---|---|---|---|---|---|---|---|---|")
	cold := map[string]ModelResult{}
	for _, r := range first {
		cold[r.Name] = r
	}
	peer := func(name string) string {
		if v, ok := peers[name]; ok {
			return fmt.Sprintf("%.0f", v)
		}
		return "not run"
	}
	for _, r := range later {
		if r.Error != "" {
			line, _, _ := strings.Cut(r.Error, "\n")
			fmt.Fprintf(w, "| %s | failed: %s | | | | | | | |\n", r.Name, strings.ReplaceAll(line, "|", "/"))
			continue
		}
		fresh, compiling := "not run", ""
		if c, ok := cold[r.Name]; ok && c.Error == "" {
			fresh, compiling = fmt.Sprintf("%.0f", c.FirstTokenMillis), fmt.Sprintf("%.0f", c.CompileMillis)
		}
		fmt.Fprintf(w, "| %s | %.0f | %s | %s | %.2f | %s | %s | %.0f | %.0f |\n", r.Name, r.TokensPerSecond,
			peer(r.Name+" eager"), peer(r.Name+" graph"), r.PromptMillis, fresh, compiling, r.FirstTokenMillis, r.CompileMillis)
	}
}
