package bench

import (
	"fmt"
	"io"
	"strings"
)

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
