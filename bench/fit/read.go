package main

import (
	"fmt"
	"hash/fnv"
	"maps"
	"os"
	"runtime"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"tilec/bench"
	"tilec/jit/compile"
)

// row is a plan that was measured, as the planner has it today. Its prediction is in us.
type row struct {
	bench.Measured
	launches  []*compile.Lowered
	predicted float64
}

// space is the plans of a kernel that were measured in one run.
type space struct {
	name, provenance string
	rows             []*row
}

// measured is spaces, of how many plans, and how many of these cannot be had any more.
type measured struct {
	spaces      []*space
	plans, lost int
}

// read plans all that was measured anew: with the pins of then, or, where these lead to another plan today, with all of the plan pinned.
func read(file, code, word string) (*measured, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	all, err := bench.ReadSpaces(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	judge, err := bench.NewJudge()
	if err != nil {
		return nil, err
	}
	defer judge.Close()
	m := &measured{}
	var g errgroup.Group
	g.SetLimit(runtime.GOMAXPROCS(0))
	for i := range all {
		from := &all[i]
		if from.Target != code || !strings.Contains(from.Name(), word) {
			continue
		}
		s := &space{name: from.Name(), provenance: from.Provenance}
		m.spaces = append(m.spaces, s)
		for _, x := range from.Measured {
			if !x.Counts() {
				continue
			}
			r := &row{Measured: x}
			s.rows = append(s.rows, r)
			g.Go(func() (err error) {
				r.launches, err = planned(judge, from, x)
				return err
			})
		}
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	for _, s := range m.spaces {
		m.plans += len(s.rows)
		s.rows = slices.DeleteFunc(s.rows, func(r *row) bool { return r.launches == nil })
		m.lost -= len(s.rows)
		for _, r := range s.rows {
			for _, l := range r.launches {
				r.predicted += l.Plan.Time * 1e6
			}
		}
	}
	m.lost += m.plans
	return m, nil
}

// planned is the launches of a plan that was measured, nil where there is no such plan any more.
func planned(judge *bench.Judge, s *bench.Space, x bench.Measured) ([]*compile.Lowered, error) {
	p := bench.Pins{Numbers: map[string]int64{}}
	if x.Pins != "" {
		var err error
		if p, err = bench.ParsePins(x.Pins); err != nil {
			return nil, fmt.Errorf("%s: %w", s.Name(), err)
		}
	}
	launches, err := judge.Launches(s, p)
	if err != nil {
		return nil, nil // it could be pinned then
	}
	if len(launches) == 1 && bench.PlanText(launches) != x.Plan {
		pins, ok := launches[0].PinsFor(x.Plan)
		if !ok {
			return nil, nil
		}
		maps.Copy(pins, p.Numbers)
		if launches, err = judge.Launches(s, bench.Pins{Numbers: pins}); err != nil {
			return nil, nil
		}
	}
	if modelled(bench.PlanText(launches)) != modelled(x.Plan) {
		return nil, nil
	}
	return launches, nil
}

// modelled is a plan without the settings that the model does not see.
func modelled(plan string) string {
	return strings.Join(slices.DeleteFunc(strings.Fields(plan), func(word string) bool {
		name, _, _ := strings.Cut(strings.TrimSuffix(word, ";"), "=")
		return slices.Contains([]string{"phases", "longest", "overlap", "deferred", "moments", "relayout", "producer", "cut"}, name)
	}), " ")
}

// split gives the spaces to learn from, and those of a third of the workloads, which are held out.
func (m *measured) split() (learned, held *measured) {
	learned, held = &measured{}, &measured{}
	for _, s := range m.distinct() {
		h := fnv.New32a()
		h.Write([]byte(s.name))
		to := learned
		if h.Sum32()%3 == 0 {
			to = held
		}
		to.spaces = append(to.spaces, s)
	}
	return learned, held
}

// distinct is the spaces with each plan once that the model tells apart, as fast as it was with any form, and at least two of them.
func (m *measured) distinct() (all []*space) {
	for _, s := range m.spaces {
		d := &space{name: s.name, provenance: s.provenance}
		at := map[string]int{}
		for _, r := range s.rows {
			key := modelled(r.Plan)
			n, ok := at[key]
			switch {
			case !ok:
				at[key] = len(d.rows)
				d.rows = append(d.rows, r)
			case r.Micros < d.rows[n].Micros:
				d.rows[n] = r
			}
		}
		if len(d.rows) > 1 {
			all = append(all, d)
		}
	}
	return all
}
