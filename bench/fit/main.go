// Command fit holds the planner's model to plans that were measured, and fits its figures to them. It needs no GPU:
//
//	go run ./bench/fit                 how well the model orders what was measured, and what figures would do better
//	go run ./bench/fit -set 'TurnTime=4e-7'    how well it would with other figures
//	go run ./bench/fit -table WORD     each plan of workloads with a word in their name: measured, predicted, and of what
//
// What counts is the order of a kernel's plans, not the time of one: of each space the spread of predicted / measured is what is made small. A third of the
// workloads, chosen by their names alone, is held out: figures that do not help there too have learned the others by heart.
package main

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"text/tabwriter"

	"tilec/jit/target"
)

func main() {
	file := flag.String("spaces", "bench/spaces_h200.jsonl", "what was measured")
	code := flag.String("target", target.Default, "the machine whose figures are fitted")
	table := flag.String("table", "", "show each plan of workloads with this in their name, and fit nothing")
	set := flag.String("set", "", "figures to hold the model to instead of fitting them, as in 'Lanes=96 TurnTime=4e-7'")
	flag.Parse()
	if err := run(*file, *code, *table, *set); err != nil {
		fmt.Fprintln(os.Stderr, "fit:", err)
		os.Exit(1)
	}
}

func run(file, code, word, set string) error {
	machine, err := target.Find(code)
	if err != nil {
		return err
	}
	m, err := read(file, code, word)
	if err != nil {
		return err
	}
	fmt.Printf("%d plans of %d spaces were measured; pins of %d lead to other plans today\n", m.plans, len(m.spaces), m.lost)
	if word != "" {
		m.print()
		return nil
	}
	learned, held := m.split()
	before, beforeHeld := learned.judge(machine), held.judge(machine)
	fitted, changes := machine, []string(nil)
	if set != "" {
		err = change(&fitted, set)
	} else {
		fitted, changes = learned.fit(machine)
	}
	if err != nil {
		return err
	}
	after, afterHeld := learned.judge(fitted), held.judge(fitted)
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "\t\tspaces\tspread\tfastest / chosen\tleast")
	for _, line := range []struct {
		which, how string
		verdict
	}{{"learned from", "as it is", before}, {"", "changed", after}, {"held out", "as it is", beforeHeld}, {"", "changed", afterHeld}} {
		fmt.Fprintf(w, "%s\t%s\t%d\t%.4f\t%.4f\t%.3f\n", line.which, line.how, line.spaces, line.spread, line.mean, line.least)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	fmt.Println()
	for _, c := range changes {
		fmt.Println(c)
	}
	return nil
}

// print writes each plan with its prediction and what that is made of.
func (m *measured) print() {
	for _, s := range m.spaces {
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
}
