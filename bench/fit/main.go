// Command fit holds the planner's model to plans that were measured, and fits its figures to them:
//
//	go run ./bench/fit                 how well the model has what was measured, and with fitted figures
//	go run ./bench/fit -table WORD     each plan of workloads with a word in their name: measured, predicted, of what
package main

import (
	"flag"
	"fmt"
	"math"
	"os"
	"runtime"
	"strings"

	"golang.org/x/sync/errgroup"

	"tilec/bench"
	"tilec/jit/compile"
)

// row is a plan that was measured, as the planner has it today.
type row struct {
	bench.Measured
	launches []*compile.Lowered
	// predicted is in us.
	predicted float64
}

// space is the plans of a kernel that were measured in one run, and that its pins still lead to.
type space struct {
	name, provenance string
	rows             []*row
}

func main() {
	file := flag.String("spaces", "bench/spaces_h200.jsonl", "what was measured")
	table := flag.String("table", "", "show each plan of workloads with this in their name, and fit nothing")
	flag.Parse()
	if err := run(*file, *table); err != nil {
		fmt.Fprintln(os.Stderr, "fit:", err)
		os.Exit(1)
	}
}

func run(file, table string) error {
	spaces, err := read(file, table)
	if err != nil {
		return err
	}
	for _, s := range spaces {
		fmt.Printf("%s (%s)\n", s.name, s.provenance)
		for _, r := range s.rows {
			fmt.Printf("  %9.1f %9.1f %5.2f  [%s] %s\n", r.Micros, r.predicted, r.predicted/r.Micros, r.Pins, r.Plan)
			for _, l := range r.launches {
				for _, why := range l.Plan.Why {
					if strings.HasPrefix(why, "chosen") {
						fmt.Printf("       %s\n", why)
					}
				}
			}
		}
	}
	return nil
}

// read lowers all that was measured.
func read(file, word string) ([]*space, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	measured, err := bench.ReadSpaces(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	judge, err := bench.NewJudge()
	if err != nil {
		return nil, err
	}
	defer judge.Close()
	var spaces []*space
	var g errgroup.Group
	g.SetLimit(runtime.GOMAXPROCS(0))
	for i := range measured {
		m := &measured[i]
		if !strings.Contains(m.Name(), word) {
			continue
		}
		s := &space{name: m.Name(), provenance: m.Provenance}
		spaces = append(spaces, s)
		for _, x := range m.Measured {
			if !x.Counts() {
				continue
			}
			r := &row{Measured: x}
			s.rows = append(s.rows, r)
			g.Go(func() error {
				p, err := pinsOf(x.Pins)
				if err != nil {
					return err
				}
				launches, err := judge.Launches(m, p)
				if err == nil && bench.PlanText(launches) == x.Plan {
					r.launches = launches
				}
				return nil
			})
		}
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	lost, all := 0, 0
	for _, s := range spaces {
		var kept []*row
		for _, r := range s.rows {
			all++
			if r.launches == nil {
				lost++
				continue
			}
			for _, l := range r.launches {
				r.predicted += l.Plan.Time * 1e6
			}
			kept = append(kept, r)
		}
		s.rows = kept
	}
	fmt.Printf("%d plans were measured; the pins of %d of them lead to other plans today\n", all, lost)
	return spaces, nil
}

func pinsOf(text string) (bench.Pins, error) {
	if text == "" {
		return bench.Pins{}, nil
	}
	return bench.ParsePins(text)
}

var _ = math.Log
