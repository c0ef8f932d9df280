package main

import "strings"

// suites gives, by the folder of a fault, the packages to test: those whose tests
// are about what the folder does, the likeliest to notice first. "stdlib@emu" is
// the standard library's tests with the emulator as the device under test.
var suites = []struct {
	folder   string
	packages string
}{
	{"jit/ptx/asm/", "jit/ptx/asm jit/ptx jit/conformance@emu jit@emu stdlib@emu jit/conformance jit jit/fuzz"},
	{"jit/ptx/elem/", "jit/ptx/elem jit/ptx jit/conformance@emu jit@emu stdlib@emu jit/conformance jit jit/fuzz"},
	{"jit/layout/", "jit/layout jit/ptx jit/conformance@emu jit@emu stdlib@emu jit/conformance jit jit/fuzz"},
	{"jit/block/", "jit/block jit/block/interp jit/ptx jit/conformance@emu jit@emu stdlib@emu jit/conformance jit jit/fuzz"},
	{"jit/ptx/", "jit/ptx jit/conformance@emu jit@emu stdlib@emu jit/conformance jit jit/fuzz"},
	{"jit/pass/", "jit/pass jit/conformance jit jit/conformance@emu jit@emu jit/fuzz stdlib"},
	{"jit/ir/", "jit/ir jit/ir/eval jit/pass jit/cpu jit/conformance jit jit/conformance@emu jit@emu jit/fuzz"},
	{"jit/cpu/", "jit/cpu jit/pass jit/conformance jit jit/fuzz stdlib"},
	{"jit/plan/", "jit/plan jit/conformance jit jit/conformance@emu jit@emu jit/fuzz stdlib"},
	{"jit/cache/", "jit/cache cmd/tilec"},
	{"jit/emu/", "jit/emu jit/conformance@emu jit@emu jit/ptx"},
	{"jit/graph/", "jit/graph jit/conformance jit gpt jit/conformance@emu jit@emu stdlib jit/fuzz stdlib@emu cmd/tilec"},
	{"jit/", "jit/conformance jit gpt jit/conformance@emu jit@emu stdlib jit/fuzz stdlib@emu cmd/tilec"},
	{"lang/", "lang jit/ir/eval typecheck jit/conformance jit"},
	{"typecheck/size/", "typecheck/size typecheck jit/conformance jit"},
	{"typecheck/blocks/", "typecheck/blocks typecheck jit/conformance jit jit/fuzz stdlib"},
	{"typecheck/", "typecheck jit/conformance jit jit/fuzz stdlib"},
	{"stdlib/", "stdlib gpt"},
	{"gpt/", "gpt cmd/tilec"},
	{"cmd/tilec/", "cmd/tilec"},
}

// packagesFor lists the packages to test for a fault, in order; sound is every
// package whose tests pass without a fault. With every, all of them are tested.
func packagesFor(f *Fault, sound []string, every bool) []string {
	var order []string
	known, listed := map[string]bool{}, map[string]bool{}
	for _, p := range sound {
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
	if every {
		for _, p := range sound {
			put(p)
		}
	}
	return order
}
