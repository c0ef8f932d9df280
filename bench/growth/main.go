// Growth measures how the work of the compiler's front end, and of the language server, grows with the size of a program: it
// makes programs of three sizes, parses, checks and formats them and shows their errors, or talks about them as an editor does,
// and prints what each size took.
//
//	go run ./bench/growth [-run REGEX]
//
// The test beside it counts the statements that are executed, and the bytes that are allocated.
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"runtime/coverage"
	"slices"
	"time"

	"tilec/lang"
	"tilec/parser"
	"tilec/typecheck"
	"tilec/typecheck/load"
)

func main() {
	only := flag.String("run", "", "measure the programs whose names match")
	counters := flag.String("counters", "", "write what was counted into a folder for each size below this one (needs go build -cover -covermode=atomic)")
	part := flag.String("part", "0/1", "measure one of so many parts of the programs: 0/2 is every other one")
	flag.Parse()
	var which, of int
	if _, err := fmt.Sscanf(*part, "%d/%d", &which, &of); err != nil || of < 1 {
		check(fmt.Errorf("-part is %q, and must be as 0/2", *part))
	}
	match := regexp.MustCompile(*only)
	for i, p := range all() {
		if i%of != which || !match.MatchString(p.name) {
			continue
		}
		fmt.Printf("%-40s", p.name)
		frontEnd("const A = 1\n", nil) // what is made once is made before anything is measured
		if p.asks != "" {
			asked(p, p.text(1), p.imported(1))
		}
		for _, n := range p.sizes() {
			text, files := p.text(n), p.imported(n)
			if *counters != "" {
				check(coverage.ClearCounters())
			}
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			start := time.Now()
			errors := p.work(text, files)
			took := time.Since(start)
			runtime.ReadMemStats(&after)
			bytes := after.TotalAlloc - before.TotalAlloc
			if *counters != "" {
				dir := filepath.Join(*counters, fmt.Sprintf("%d.%d.%d", i, n, bytes))
				check(os.MkdirAll(dir, 0o777))
				check(coverage.WriteMetaDir(dir))
				check(coverage.WriteCountersDir(dir))
			}
			fmt.Printf(" | %6d: %8.2f ms %8.1f MB %4d errors", n, took.Seconds()*1000, float64(bytes)/(1<<20), errors)
		}
		fmt.Println()
	}
}

// all are the programs that are measured.
func all() []program { return slices.Concat(programs, importing, edited) }

// sizes are those at which a program is measured: few parts, for what does not grow, and so many and twice as many.
func (p program) sizes() [3]int {
	n := p.least * 3 / 2
	if p.few == 0 {
		p.few = max(1, n/8)
	}
	return [3]int{p.few, n, 2 * n}
}

// imported are the files that the program imports, by name.
func (p program) imported(n int) map[string]string {
	if p.files == nil {
		return nil
	}
	return p.files(n)
}

// work does what is measured, and gives the number of errors.
func (p program) work(text string, files map[string]string) int {
	if p.asks != "" {
		return asked(p, text, files)
	}
	return frontEnd(text, files)
}

// frontEnd does all that `tilec check` and `tilec fmt` do with a text, and gives the number of its errors.
func frontEnd(text string, files map[string]string) int {
	loader := &load.Loader{Open: func(name string) ([]byte, bool) {
		text, ok := files[name]
		return []byte(text), ok
	}}
	m, syntax := parser.Parse(lang.NewSource("a.tile", text))
	_, ds := typecheck.Check(m, loader.Import)
	ds = append(ds, syntax...).Sort()
	check(lang.Render(io.Discard, ds, lang.RenderOptions{}))
	if _, err := parser.Format(lang.NewSource("a.tile", text)); len(syntax) == 0 {
		check(err)
	}
	return len(ds)
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "growth:", err)
		os.Exit(1)
	}
}
