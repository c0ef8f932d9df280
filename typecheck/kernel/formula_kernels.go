package kernel

import (
	"fmt"
	"maps"
	"slices"

	"tilec/lang"
	"tilec/typecheck/typed"
)

// This file makes a kernel of each part of a formula.

// partKernel is the kernel of a part of a formula, its n-th: its parameters are those that its lines use, and what
// parts before it have stored is an input.
func partKernel(k *typed.Kernel, p *formulaPart, n int) *typed.Kernel {
	one := *k
	one.Name = fmt.Sprintf("%s.%d", k.Name, n+1)
	one.Params, one.Outputs, one.Axes, one.Parts = nil, nil, nil, nil
	one.Body, one.Fixed, one.Assumes, one.Divisors = &typed.Body{}, nil, nil, nil
	names := freeNames(p.body)
	for _, q := range slices.Concat(k.Params, k.Outputs) {
		switch {
		case !names[q.Name]:
		case q.Mode == lang.InOut && !p.stores(q.Name), p.given[q.Name]:
			input := *q
			input.Mode = lang.In
			one.Params = append(one.Params, &input)
		case q.Mode == lang.Out:
			one.Outputs = append(one.Outputs, q)
		default:
			one.Params = append(one.Params, q)
		}
	}
	return &one
}

// stores reports a tensor that a line of the part writes.
func (p *formulaPart) stores(name string) bool {
	return slices.ContainsFunc(p.lines, func(l *formulaLine) bool { return l.stores[name] })
}

// include adds what the part of a formula declares and stores to what is known of the whole.
func (b *bodyChecker) include(part *bodyChecker) {
	b.Kernel.Axes = append(b.Kernel.Axes, part.Kernel.Axes...)
	maps.Copy(b.tiles, part.tiles)
	maps.Copy(b.stored, part.stored)
	b.storeFailed = b.storeFailed || part.storeFailed
}

// pinAs gives a part of a formula those pins of the whole that are about its own axes.
func pinAs(k, whole *typed.Kernel) {
	k.Splits, k.Targets = nil, nil
	for _, s := range whole.Splits {
		if slices.Contains(k.Axes, s.Axis) {
			k.Splits = append(k.Splits, s)
		}
	}
	others := whole.PinsBeside(k)
	for _, t := range whole.Targets {
		t.Pins = slices.DeleteFunc(slices.Clone(t.Pins), func(p typed.Pin) bool { return others[p.Name] })
		k.Targets = append(k.Targets, t)
	}
}
