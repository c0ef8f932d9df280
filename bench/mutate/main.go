// Mutate measures how good the tests are: it puts faults into the compiler, one
// at a time, and counts those that the test suite notices.
//
//	go run ./bench/mutate                    every fault; writes bench/mutate/RESULTS.md
//	go run ./bench/mutate -run 'ptx-|race'   those whose ID or class matches
//	go run ./bench/mutate -resume            only those without a result that holds
//	go run ./bench/mutate -check             whether every fault still applies
//
// It works on a copy of what is committed, where most faults share one build of
// the tests: see together. A result holds only while the fault
// and the function that it changes are as they were: see standing. A fault that
// no longer applies counts as nothing and is reported, so that the list follows
// the sources.
package main

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "mutate:", err)
		os.Exit(1)
	}
}

func run() error {
	pattern := flag.String("run", "", "only faults whose ID or class matches this regular expression")
	jobs := flag.Int("jobs", 1, "faults to test side by side")
	resume := flag.Bool("resume", false, "keep the results that hold")
	again := flag.Bool("again", false, "with -resume, test again those that were missed")
	every := flag.Bool("all", false, "test every package, not only those of the fault's folder")
	trust := flag.Bool("trust", false, "take for granted that every package passes without a fault")
	put := flag.String("apply", "", "only put the fault of this ID into the working tree and print its file, to look at what it does")
	check := flag.Bool("check", false, "only report the faults that no longer apply")
	results := flag.String("results", filepath.Join(self, "results.jsonl"), "where results are kept, one JSON object a line")
	report := flag.String("report", filepath.Join(self, "RESULTS.md"), "where the report goes")
	flag.Parse()

	match, err := regexp.Compile(*pattern)
	if err != nil {
		return err
	}
	if *check {
		return staleFaults(".")
	}
	if *put != "" {
		return applyHere(*put)
	}
	kept, err := readResults(*results)
	if err != nil {
		return err
	}
	todo := toRun(faults(), kept, ".", selection{match, *resume, *again})
	if err := judgeAll(todo, *jobs, *every, *trust, kept, *results); err != nil {
		return err
	}
	return os.WriteFile(*report, []byte(markdown(faults(), kept, ".")), 0o644)
}

// selection says which faults of the list to run: those whose ID or class matches; with
// resume only those without a result that holds, and with again those missed too.
type selection struct {
	match         *regexp.Regexp
	resume, again bool
}

// toRun are the faults of a list that are selected, for the sources under a root.
func toRun(list []Fault, kept map[string]Result, root string, s selection) []Fault {
	var todo []Fault
	for _, f := range list {
		if !s.match.MatchString(f.ID) && !s.match.MatchString(f.Class) {
			continue
		}
		if r, why := standing(&f, kept, root); s.resume && why == "" && !(s.again && r.Verdict == missed) {
			continue
		}
		todo = append(todo, f)
	}
	return todo
}

// staleFaults reports the faults that do not apply under a root.
func staleFaults(root string) error {
	n := 0
	for _, f := range faults() {
		if err := f.stale(root); err != nil {
			fmt.Printf("%s: %v\n", f.ID, err)
			n++
		}
	}
	if n > 0 {
		return fmt.Errorf("%d of %d faults no longer apply", n, len(faults()))
	}
	return nil
}

// applyHere puts a fault into the working tree.
func applyHere(id string) error {
	for _, f := range faults() {
		if f.ID != id {
			continue
		}
		source, err := os.ReadFile(f.File)
		if err != nil {
			return err
		}
		changed, _, err := f.apply(string(source))
		if err != nil {
			return err
		}
		fmt.Println(f.File)
		return os.WriteFile(f.File, []byte(changed), 0o644)
	}
	return fmt.Errorf("no fault of the list is called %q", id)
}

// judgeAll judges faults, most of them in one build, and keeps the results.
func judgeAll(todo []Fault, jobs int, every, trust bool, kept map[string]Result, path string) error {
	if len(todo) == 0 {
		return nil
	}
	temp, err := os.MkdirTemp("", "mutate")
	if err != nil {
		return err
	}
	defer os.RemoveAll(temp)
	alone, err := copyTree(".", filepath.Join(temp, "alone"))
	if err != nil {
		return err
	}
	shared, err := copyTree(".", filepath.Join(temp, "together"))
	if err != nil {
		return err
	}
	shared.origin = alone.root
	if err := shared.together(todo); err != nil {
		return err
	}
	// Tests that fail without a fault tell nothing.
	needed := map[string]bool{}
	for i := range todo {
		for _, p := range packagesFor(&todo[i], shared.packages, every) {
			needed[p] = true
		}
		first, _, _ := strings.Cut(likeliest(&todo[i], kept), " ") // may be of none of them
		needed[first] = true
	}
	var sound []string
	for _, p := range shared.packages {
		if !needed[p] {
			continue
		}
		if trust {
			sound = append(sound, p)
		} else if out, ok := shared.test(p, "", ""); ok {
			sound = append(sound, p)
		} else {
			fmt.Printf("left out: %s fails without a fault: %s %s\n", p, failedTest(out), message(out))
		}
	}
	shared.packages, shared.every = sound, every
	alone.packages, alone.every = sound, every
	// In an order that is always the same and mixed, so that what is known early is a fair sample.
	rand.New(rand.NewPCG(1, 2)).Shuffle(len(todo), func(i, j int) { todo[i], todo[j] = todo[j], todo[i] })
	var lock sync.Mutex
	var failed error
	n := 0
	var slow []Fault
	judge := func(t *tree, f Fault, firstOnly bool) {
		lock.Lock()
		first := likeliest(&f, kept)
		lock.Unlock()
		r := t.judge(&f, first, firstOnly)
		lock.Lock()
		defer lock.Unlock()
		if firstOnly && r.Verdict == missed {
			slow = append(slow, f)
			return
		}
		n++
		fmt.Printf("%d/%d %-28s %-14s %5.0f s  %s\n", n, len(todo), f.ID, r.Verdict, r.Seconds, r.By)
		kept[f.ID] = r
		if err := writeResults(path, kept); err != nil {
			failed = err
		}
	}
	// First the likeliest test of each, which is soon done; then whole packages; then what needs a build of its own.
	together := func(list []Fault, firstOnly bool) {
		queue := make(chan Fault)
		var done sync.WaitGroup
		for range max(jobs, 1) {
			done.Go(func() {
				for f := range queue {
					judge(shared, f, firstOnly)
				}
			})
		}
		for _, f := range list {
			queue <- f
		}
		close(queue)
		done.Wait()
	}
	var rest, single []Fault
	for _, f := range todo {
		if shared.put[f.ID] {
			rest = append(rest, f)
		} else {
			single = append(single, f)
		}
	}
	together(rest, true)
	together(slow, false)
	for _, f := range single {
		judge(alone, f, false)
	}
	return failed
}

func readResults(path string) (map[string]Result, error) {
	kept := map[string]Result{}
	data, err := os.ReadFile(path)
	if os.IsNotExist(err) {
		return kept, nil
	}
	if err != nil {
		return nil, err
	}
	d := json.NewDecoder(bytes.NewReader(data))
	for d.More() {
		var r Result
		if err := d.Decode(&r); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		kept[r.ID] = r
	}
	return kept, nil
}

// writeResults writes the results of the faults in the list, in its order.
func writeResults(path string, kept map[string]Result) error {
	var b bytes.Buffer
	for _, f := range faults() {
		if r, ok := kept[f.ID]; ok {
			line, err := json.Marshal(r)
			if err != nil {
				return err
			}
			b.Write(append(line, '\n'))
		}
	}
	return os.WriteFile(path, b.Bytes(), 0o644)
}
