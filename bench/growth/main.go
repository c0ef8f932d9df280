// Growth measures how the work of the compiler's front end grows with the size of a program: it makes programs of n, 2n
// and 4n parts, parses, checks and formats them and shows their errors, and prints what each size took.
//
//	go run ./bench/growth [-run REGEX] [-times 5]
//
// The test beside it counts the statements that the front end executes, and the bytes that it allocates.
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
	"time"

	"tilec/lang"
	"tilec/parser"
	"tilec/typecheck"
)

func main() {
	only := flag.String("run", "", "measure the programs whose names match")
	times := flag.Int("times", 3, "how many sizes: n, 2n, 4n ...")
	counters := flag.String("counters", "", "write what was counted into a folder for each size below this one (needs go build -cover -covermode=atomic)")
	flag.Parse()
	match := regexp.MustCompile(*only)
	frontEnd("const A = 1\n") // what is made once is made before anything is measured
	for i, p := range programs {
		if !match.MatchString(p.name) {
			continue
		}
		fmt.Printf("%-36s", p.name)
		for n := range *times {
			n = p.least << n
			text := p.text(n)
			if *counters != "" {
				check(coverage.ClearCounters())
			}
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			start := time.Now()
			errors := frontEnd(text)
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

// frontEnd does all that `tilec check` and `tilec fmt` do with a text, and gives the number of its errors.
func frontEnd(text string) int {
	m, syntax := parser.Parse(lang.NewSource("a.tile", text))
	_, ds := typecheck.Check(m, nil)
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
