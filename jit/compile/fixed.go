package compile

import (
	"cmp"
	"fmt"
	"maps"
	"strings"

	"tilec/lang"
	"tilec/typecheck/typed"
)

// This file is about extents that no plan changes, as what the kernel gives or says depends on them: 64 where nothing is said. A block of such
// extents may be more than a machine has room for.

// blameFixed finds, where no pin is at fault, smaller extents for axes whose extent the language gives: of one axis, or of all of them.
func (p *planning) blameFixed(d *lang.Diagnostic, k *typed.Kernel, ps *pins, live map[string]int64) {
	var fixed []*typed.Axis
	for _, a := range k.Axes {
		if _, pinned := ps.held[parameter(a)]; a.Extent > 1 && !pinned {
			fixed = append(fixed, a)
		}
	}
	for n := len(fixed); n > 0; n-- { // the last one first, which has neighbours in memory and most choices
		a := fixed[n-1]
		if value, ok := p.nearest(parameter(a), a.Extent, live); ok {
			d.Fix = smaller(fixed[n-1:n], map[string]int64{parameter(a): value})
			return
		}
	}
	if len(fixed) < 2 {
		return
	}
	values := map[string]int64{}
	for _, a := range fixed {
		values[parameter(a)] = a.Extent
	}
	for range maxTries {
		pins := maps.Clone(live)
		if pins == nil {
			pins = map[string]int64{}
		}
		for name, value := range values {
			values[name] = max(value/2, 1)
			pins[name] = values[name]
		}
		if _, err := p.fit(pins); err == nil {
			d.Fix = smaller(fixed, values)
			return
		}
	}
}

// smaller says which extents of axes would fit, and why they are what they are.
func smaller(axes []*typed.Axis, values map[string]int64) *lang.Fix {
	fits, are := make([]string, len(axes)), make([]string, len(axes))
	for i, a := range axes {
		name := parameter(a)
		fits[i] = fmt.Sprintf("`tune %s = %d`", name, values[name])
		if a.Tile == "" {
			fits[i] = fmt.Sprintf("`by %d` for axis %s", values[name], a.Name)
		}
		are[i] = fmt.Sprintf("%s = %d", name, a.Extent)
	}
	return &lang.Fix{Message: fmt.Sprintf("give smaller extents than %s, which no plan changes, for what the kernel gives or says depends on them: %s would fit",
		strings.Join(are, ", "), strings.Join(fits, ", "))}
}

// parameter is the name under which an axis's extent is chosen.
func parameter(a *typed.Axis) string { return cmp.Or(a.Tile, a.Name) }
