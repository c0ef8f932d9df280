package bench

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
)

// This file prints runs, and reads what Go's tools for benchmarks read.

// Markdown writes a run as tables: a row a workload, and the ratios by family. Above 1 we are faster.
func (r *Run) Markdown(w io.Writer) {
	fmt.Fprintf(w, "# Kernels on %s\n", r.Device)
	fmt.Fprintln(w, "Medians in us by the device's clock; on a GPU, what the caches held is overwritten before each run. The ratio is the fastest peer's time / ours.")
	for _, name := range sorted(r.Peers) {
		fmt.Fprintf(w, "Peer: %s.\n", r.Peers[name])
	}
	for _, name := range sorted(r.NoPeer) {
		fmt.Fprintf(w, "No %s beside: %s.\n", name, r.NoPeer[name])
	}
	fmt.Fprintln(w, "\n| workload | ours | peer | ratio | TFLOP/s | GB/s | compile ms | plan | the peer's way |")
	fmt.Fprintln(w, "|---|---|---|---|---|---|---|---|---|")
	for _, x := range r.Results {
		row := []string{x.Name, cell(x.Micros, x.Error), "", "", number(x.TFLOPS(), "%.1f"), number(x.GBs(), "%.0f"), number(x.CompileMillis, "%.0f"), x.Plan, ""}
		if b, ok := x.Best(); ok {
			row[2], row[8] = cell(b.Micros, ""), b.Peer+": "+b.Way
		} else if len(x.Beside) > 0 {
			var said []string
			for _, b := range x.Beside {
				why := b.Error
				if b.Differs {
					why = fmt.Sprintf("its result differs by %.2g", b.Difference)
				}
				said = append(said, b.Peer+": "+oneLine(why))
			}
			row[8] = strings.Join(said, "; ")
		}
		if ratio, ok := x.Ratio(); ok {
			row[3] = fmt.Sprintf("%.2f", ratio)
		}
		fmt.Fprintf(w, "| %s |\n", strings.Join(row, " | "))
	}
	r.profiles(w)
	r.ratios(w)
}

// ratios writes the ratios by family.
func (r *Run) ratios(w io.Writer) {
	var all []float64
	rows := ""
	for _, family := range r.families() {
		var ratios []float64
		for _, x := range r.Results {
			if ratio, ok := x.Ratio(); ok && x.Family == family {
				ratios = append(ratios, ratio)
			}
		}
		if len(ratios) == 0 {
			continue
		}
		all = append(all, ratios...)
		mean, least := geometric(ratios)
		rows += fmt.Sprintf("| %s | %d | %.2f | %.2f |\n", family, len(ratios), mean, least)
	}
	if len(all) == 0 {
		return
	}
	mean, least := geometric(all)
	fmt.Fprintf(w, "\n| family | workloads | geometric mean of the ratios | least |\n|---|---|---|---|\n%s| all | %d | %.2f | %.2f |\n", rows, len(all), mean, least)
}

// profiles writes what the profiler counted.
func (r *Run) profiles(w io.Writer) {
	for _, x := range r.Results {
		if len(x.Profile) == 0 {
			continue
		}
		fmt.Fprintf(w, "\n| %s | |\n|---|---|\n", x.Name)
		for _, name := range sorted(x.Profile) {
			fmt.Fprintf(w, "| %s | %s |\n", name, x.Profile[name])
		}
	}
}

func cell(us float64, problem string) string {
	if problem != "" {
		return "failed: " + oneLine(problem)
	}
	return number(us, "%.1f")
}

// number is a number in a cell of a table, nothing where there is none.
func number(x float64, format string) string {
	if x == 0 {
		return ""
	}
	return fmt.Sprintf(format, x)
}

// oneLine is the first line of a text, for a cell of a table.
func oneLine(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	return strings.ReplaceAll(line, "|", "/")
}

func sorted(m map[string]string) []string {
	names := make([]string, 0, len(m))
	for name := range m {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// goPrefix begins the names of benchmarks. Of "Benchmark/linear_bias/bf16/8192x768x2304" the rest is the workload's name, with a / for each
// space, and "/peer=torch" behind it where that is a peer's time.
const (
	goPrefix = "Benchmark/"
	goPeer   = "/peer="
)

// Go writes a run in the format of Go's benchmarks, which benchstat reads.
func (r *Run) Go(w io.Writer) {
	fmt.Fprintf(w, "goos: tilec\npkg: tilec/bench\ncpu: %s\n", r.Device)
	for _, x := range r.Results {
		name := goPrefix + strings.ReplaceAll(x.Name, " ", "/")
		if x.Error != "" || x.Micros <= 0 {
			continue
		}
		fmt.Fprintf(w, "%s %d %.1f ns/op", name, max(x.Runs, 1), x.Micros*1e3)
		if v := x.GBs(); v > 0 {
			fmt.Fprintf(w, " %.1f GB/s", v)
		}
		if v := x.TFLOPS(); v > 0 {
			fmt.Fprintf(w, " %.2f TFLOP/s", v)
		}
		fmt.Fprintln(w)
		for _, b := range x.Beside {
			if b.Micros > 0 {
				fmt.Fprintf(w, "%s%s%s 1 %.1f ns/op\n", name, goPeer, b.Peer, b.Micros*1e3)
			}
		}
	}
}

// readGo reads what Go wrote; of several lines for one name, the median counts.
func readGo(text []byte) (*Run, error) {
	r := &Run{}
	times := map[string][]float64{}
	var order []string
	for lines := bufio.NewScanner(bytes.NewReader(text)); lines.Scan(); {
		line := lines.Text()
		if device, ok := strings.CutPrefix(line, "cpu: "); ok {
			r.Device = device
		}
		fields := strings.Fields(line)
		if len(fields) < 4 || !strings.HasPrefix(fields[0], goPrefix) {
			continue
		}
		unit := slices.Index(fields, "ns/op")
		if unit < 3 {
			return nil, fmt.Errorf("%s has no ns/op", fields[0])
		}
		ns, err := strconv.ParseFloat(fields[unit-1], 64)
		if err != nil || !(ns > 0) {
			return nil, fmt.Errorf("%s: the time is %q, must be a number above 0", fields[0], fields[unit-1])
		}
		if times[fields[0]] == nil {
			order = append(order, fields[0])
		}
		times[fields[0]] = append(times[fields[0]], ns/1e3)
	}
	if len(order) == 0 {
		return nil, fmt.Errorf("it is neither JSON nor Go's benchmark format: give what `tilec bench run` printed with --json or --format go")
	}
	for _, name := range order {
		slices.Sort(times[name])
		us := times[name][len(times[name])/2]
		name, peer, beside := strings.Cut(strings.TrimPrefix(name, goPrefix), goPeer)
		name = strings.ReplaceAll(name, "/", " ")
		i := slices.IndexFunc(r.Results, func(x Result) bool { return x.Name == name })
		if i < 0 {
			i = len(r.Results)
			r.Results = append(r.Results, Result{Name: name})
		}
		if beside {
			r.Results[i].Beside = append(r.Results[i].Beside, Beside{Peer: peer, Micros: us})
			continue
		}
		r.Results[i].Micros, r.Results[i].Runs = us, len(times[goPrefix+strings.ReplaceAll(name, " ", "/")])
	}
	return r, nil
}
