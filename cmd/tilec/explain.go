package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"tilec/jit/target"
	"tilec/lang"
)

func (a *app) explainCommand() *cobra.Command {
	targetName := target.Default
	cmd := &cobra.Command{
		Use:   "explain [CODE | FILE.tile [GRAPH] [NAME=VALUE ...]]",
		Short: "Explain an error code, or what became of the calls of a graph",
		Long: `With an error code, explain prints what it means, with a program that fails and one that works; with nothing, it lists the codes.

With a file it explains a graph, the one that generates text where none is named: its launches, what was fused into what
and what that saves in launches, predicted time and bytes, and what stays apart and why. Sizes and element types are those
given, or those of the graph's @sizes.`,
		Example: "  tilec explain E0401\n  tilec explain gpt.tile\n  tilec explain gpt.tile scores S=128 --target sm_80",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 1 && !isSource(args[0]) {
				return fmt.Errorf("give one error code, such as E0401, or a .tile file")
			}
			return nil
		},
		ValidArgsFunction: codesAndFiles,
		RunE: func(_ *cobra.Command, args []string) error {
			switch {
			case len(args) > 0 && isSource(args[0]):
				return a.explainGraph(source(args[0]), args[1:], targetName)
			case len(args) > 0:
				return a.explain(args[0])
			}
			if a.json {
				var pages []codePage
				for _, c := range lang.Codes() {
					row, _ := lang.CodeInfo(c)
					pages = append(pages, codePage{Code: c, Title: row.Title})
				}
				return a.printJSON(pages)
			}
			for _, c := range lang.Codes() {
				row, _ := lang.CodeInfo(c)
				fmt.Fprintf(a.stdout, "%s: %s\n", c, row.Title)
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&targetName, "target", target.Default, "the machine that a graph is explained for: "+newestFirst(target.Names()))
	a.jsonFlag(cmd.Flags(), "print JSON instead of text")
	return cmd
}

// isSource reports the name of a source, and no error code.
func isSource(name string) bool { return strings.HasSuffix(name, ".tile") }

func (a *app) explain(name string) error {
	code := lang.Code(strings.ToUpper(name))
	row, ok := lang.CodeInfo(code)
	if !ok {
		return fmt.Errorf("unknown error code %q: a code is an E, or a W of a warning, and four digits, as in the brackets of error[E0101]", name)
	}
	if a.json {
		return a.printJSON(codePage{code, row.Title, strings.TrimSpace(row.Doc), row.Fails, row.Works})
	}
	fmt.Fprintf(a.stdout, "%s: %s\n\n%s\n", code, row.Title, strings.TrimSpace(row.Doc))
	example := func(title, text string) {
		if text == "" {
			return
		}
		fmt.Fprintf(a.stdout, "\n%s:\n\n", title)
		for _, line := range strings.Split(strings.TrimRight(text, "\n"), "\n") {
			fmt.Fprintf(a.stdout, "    %s\n", strings.ToValidUTF8(abbreviate(line), "\ufffd"))
		}
	}
	fails := "This fails"
	if code[0] == 'W' {
		fails = "This is warned of"
	}
	example(fails, row.Fails)
	example("This works", row.Works)
	return nil
}

// abbreviate shortens a line that is too long for a screen; the example of deep nesting has one.
func abbreviate(line string) string {
	const limit = 120
	runes := []rune(line)
	if len(runes) <= limit {
		return line
	}
	return string(runes[:limit/2]) + " ... " + string(runes[len(runes)-limit/2:])
}
