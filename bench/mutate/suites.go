package main

import "strings"

// suites gives, by the folder of a fault, the packages to test, the likeliest
// to notice first. Every package of the repository comes after them.
var suites = []struct {
	folder   string
	packages string
}{
	{"jit/ptx/", "jit/ptx jit jit/fuzz jit/emu stdlib cmd/tilec gpt"},
	{"jit/pass/", "jit/pass jit jit/ptx jit/fuzz stdlib gpt cmd/tilec"},
	{"jit/ir/", "jit/ir jit/ir/eval jit/pass jit/cpu jit jit/ptx jit/fuzz stdlib gpt"},
	{"jit/cpu/", "jit/cpu jit/pass jit jit/fuzz stdlib gpt jit/ptx"},
	{"jit/plan/", "jit/plan jit stdlib jit/fuzz gpt cmd/tilec"},
	{"jit/", "jit gpt stdlib jit/fuzz cmd/tilec jit/ptx"},
	{"typecheck/", "typecheck cmd/tilec jit stdlib jit/fuzz gpt"},
	{"stdlib/", "stdlib gpt jit"},
	{"gpt/", "gpt cmd/tilec"},
}

// packagesFor lists the packages to test for a fault, in order; all is every package with tests.
func packagesFor(f *Fault, all []string) []string {
	var order []string
	known, listed := map[string]bool{}, map[string]bool{}
	for _, p := range all {
		known[p] = true
	}
	put := func(p string) {
		if known[p] && !listed[p] {
			listed[p] = true
			order = append(order, p)
		}
	}
	for _, s := range suites {
		if strings.HasPrefix(f.File, s.folder) {
			for _, p := range strings.Fields(s.packages) {
				put(p)
			}
			break
		}
	}
	for _, p := range all {
		put(p)
	}
	return order
}
