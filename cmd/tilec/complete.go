package main

import (
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"tilec/bench"
	"tilec/gpt"
	"tilec/jit"
	"tilec/jit/pass"
	"tilec/jit/target"
	"tilec/lang"
)

// What the shell completes: cobra writes the scripts (`tilec completion bash`), which ask here.

// complete is what a flag or an argument may be.
type complete = func(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective)

// oneOf completes fixed words.
func oneOf(words ...string) complete {
	return func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return words, cobra.ShellCompDirectiveNoFileComp
	}
}

// sourceFiles completes .tile files: those on disk are the shell's matter, unless an embedded one is meant.
func sourceFiles(_ *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
	var inside []string
	for _, name := range embeddedNames() {
		if typed != "" && strings.HasPrefix(name, typed) {
			inside = append(inside, name)
		}
	}
	if _, err := os.Stat(typed); len(inside) > 0 && err != nil {
		return inside, cobra.ShellCompDirectiveDefault
	}
	return []string{"tile"}, cobra.ShellCompDirectiveFilterFileExt
}

// functionOf completes what `tilec run` takes: a file, a kernel or graph of it, its arguments.
func (a *app) functionOf(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
	if len(args) == 0 {
		return sourceFiles(cmd, args, typed)
	}
	text, err := a.readSource(args[0])
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	program, _ := jit.Load(args[0], text, nil) // what there is of it, whatever its errors
	if len(args) == 1 {
		own, imported := jit.FunctionNames(program)
		return append(own, imported...), cobra.ShellCompDirectiveNoFileComp
	}
	f, err := jit.FindFunction(program, args[1])
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	return assignments(f.Names(), args[2:]), cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
}

// assignments are the names that are not given yet, as NAME=.
func assignments(names, given []string) []string {
	var open []string
	for _, n := range names {
		if !slices.ContainsFunc(given, func(g string) bool { return strings.HasPrefix(g, n+"=") }) {
			open = append(open, n+"=")
		}
	}
	return open
}

// completeFlags tells cobra what the flags take that a command has.
func completeFlags(cmd *cobra.Command) {
	devices := []string{"auto", "cpu", "cuda", "emu"}
	for _, t := range target.Names() {
		if t != "cpu" {
			devices = append(devices, "emu:"+t)
		}
	}
	stages := make([]string, len(emissions))
	for i, e := range emissions {
		stages[i] = e.name + "\t" + e.about
	}
	passes := []string{"all"}
	for _, p := range pass.Passes() {
		passes = append(passes, p.Name+"\t"+p.Doc)
	}
	peers := peerWords
	if cmd.Name() == "run" {
		peers = bench.PeerNames()
	}
	for flag, f := range map[string]complete{
		"device": oneOf(devices...), "precision": oneOf(lang.Precisions()...), "dtype": oneOf(typeNames(modelDTypes)...), "weights": oneOf(typeNames(gpt.WeightTypes)...),
		"random-weights": oneOf(gpt.Sizes()...), "emit": oneOf(stages...), "target": oneOf(target.Names()...), "dump-after": oneOf(passes...),
		"size": oneOf(gpt.Sizes()...), "peer": oneOf(peers...), "format": oneOf(benchFormats...),
	} {
		if cmd.Flags().Lookup(flag) == nil {
			continue
		}
		if err := cmd.RegisterFlagCompletionFunc(flag, f); err != nil {
			panic(err) // registered twice: a mistake of ours
		}
	}
}

// errorCodes completes the codes of errors.
func errorCodes(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	var codes []string
	for _, c := range lang.Codes() {
		row, _ := lang.CodeInfo(c)
		codes = append(codes, string(c)+"\t"+row.Title)
	}
	return codes, cobra.ShellCompDirectiveNoFileComp
}

// codesAndFiles completes the codes of errors, and the names of sources behind what begins no code.
func (a *app) codesAndFiles(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
	switch {
	case len(args) > 0 && isSource(args[0]):
		return a.functionOf(cmd, args, typed)
	case len(args) > 0:
		return nil, cobra.ShellCompDirectiveNoFileComp
	case typed == "" || strings.ContainsRune("EWew", rune(typed[0])):
		return errorCodes(cmd, args, typed)
	}
	return sourceFiles(cmd, args, typed)
}
