package main

import (
	"fmt"
	"math"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sync/errgroup"

	"tilec/jit/target"
)

// figure is one of a machine's figures that spaces can be fitted to.
type figure struct {
	name string
	of   func(*target.Machine) *float64
}

// figures are those that may change the order of plans, but for what was measured by itself: the bandwidth of the memory, the rates of products.
var figures = []figure{
	{"L2", func(m *target.Machine) *float64 { return &m.L2 }},
	{"L2Boxes", func(m *target.Machine) *float64 { return &m.L2Boxes }},
	{"OneWarpgroup", func(m *target.Machine) *float64 { return &m.OneWarpgroup }},
	{"MmaSync32", func(m *target.Machine) *float64 { return &m.MmaSync32 }},
	{"RoundedBytesPerClock", func(m *target.Machine) *float64 { return &m.RoundedBytesPerClock }},
	{"SharedBytesPerClock", func(m *target.Machine) *float64 { return &m.SharedBytesPerClock }},
	{"LoadLatency", func(m *target.Machine) *float64 { return &m.LoadLatency }},
	{"StepOverhead", func(m *target.Machine) *float64 { return &m.StepOverhead }},
	{"BlockOverhead", func(m *target.Machine) *float64 { return &m.BlockOverhead }},
	{"DispatchTime", func(m *target.Machine) *float64 { return &m.DispatchTime }},
	{"TurnTime", func(m *target.Machine) *float64 { return &m.TurnTime }},
	{"TurnoverTime", func(m *target.Machine) *float64 { return &m.TurnoverTime }},
	{"Lanes", func(m *target.Machine) *float64 { return &m.Lanes }},
}

// verdict is how well a model has spaces: the spread is the root of the mean of the variances of log(predicted / measured) of each, mean and least those of
// the time of the fastest plan as a part of that of the plan which the model would choose of those that were measured.
type verdict struct {
	spaces              int
	spread, mean, least float64
}

// judge holds a machine's figures to the spaces.
func (m *measured) judge(t target.Machine) verdict {
	variances, parts := make([]float64, len(m.spaces)), make([]float64, len(m.spaces))
	var g errgroup.Group
	g.SetLimit(runtime.GOMAXPROCS(0))
	for i, s := range m.spaces {
		g.Go(func() error {
			variances[i], parts[i] = s.judge(t)
			return nil
		})
	}
	_ = g.Wait() // none fails
	v := verdict{spaces: len(m.spaces), least: 1}
	for i := range m.spaces {
		v.spread += variances[i] / float64(v.spaces)
		v.mean += math.Log(parts[i]) / float64(v.spaces)
		v.least = min(v.least, parts[i])
	}
	v.spread, v.mean = math.Sqrt(v.spread), math.Exp(v.mean)
	return v
}

func (s *space) judge(t target.Machine) (variance, part float64) {
	least, chosen, fastest := math.Inf(1), 0.0, math.Inf(1)
	var logs []float64
	mean := 0.0
	for _, r := range s.rows {
		seconds := 0.0
		for _, l := range r.launches {
			n, err := l.PredictedOn(t)
			if err != nil {
				n = l.Plan.Time // with these figures there is no such plan
			}
			seconds += n
		}
		if seconds < least {
			least, chosen = seconds, r.Micros
		}
		fastest = min(fastest, r.Micros)
		logs = append(logs, math.Log(seconds*1e6/r.Micros))
		mean += logs[len(logs)-1] / float64(len(s.rows))
	}
	for _, x := range logs {
		variance += (x - mean) * (x - mean) / float64(len(logs))
	}
	return variance, fastest / chosen
}

// worth is by what part the spread has to get smaller for a figure to be changed: what is a hair better is noise.
const worth = 0.005

// fit changes one figure after the other, by up to a third at a time and a factor of two in all, as long as the spread gets smaller.
func (m *measured) fit(t target.Machine) (fitted target.Machine, changes []string) {
	fitted = t
	spread := m.judge(t).spread
	for better := true; better; {
		better = false
		for _, f := range figures {
			was := *f.of(&t)
			for _, step := range []float64{1.33, 0.75, 1.1, 0.9} {
				other := fitted
				value := f.of(&other)
				*value *= step
				if *value > 2*was || *value < was/2 {
					continue
				}
				if n := m.judge(other).spread; n < spread*(1-worth) {
					fitted, spread, better = other, n, true
					break
				}
			}
		}
	}
	for _, f := range figures {
		if was, is := *f.of(&t), *f.of(&fitted); was != is {
			changes = append(changes, fmt.Sprintf("%s: %.4g, %.4g fits better", f.name, was, is))
		}
	}
	return fitted, changes
}

// change gives figures of a machine other values: NAME=VALUE each, with spaces between.
func change(t *target.Machine, text string) error {
	for _, word := range strings.Fields(text) {
		name, value, _ := strings.Cut(word, "=")
		n, err := strconv.ParseFloat(value, 64)
		i := slices.IndexFunc(figures, func(f figure) bool { return f.name == name })
		switch {
		case i < 0:
			var names []string
			for _, f := range figures {
				names = append(names, f.name)
			}
			return fmt.Errorf("there is no figure %s to change: there are %s", name, strings.Join(names, ", "))
		case err != nil || !(n > 0):
			return fmt.Errorf("%s is %q, must be a number above 0", name, value)
		}
		*figures[i].of(t) = n
	}
	return nil
}
