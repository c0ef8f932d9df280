package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"tilec/lang"
)

func (a *app) explainCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "explain [CODE]",
		Short:   "Explain an error code, with a program that fails and one that works; without one, list the codes",
		Example: "  tilec explain E0401",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 1 {
				return fmt.Errorf("give one error code, such as E0401")
			}
			return nil
		},
		ValidArgsFunction: errorCodes,
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				for _, c := range lang.Codes() {
					row, _ := lang.CodeInfo(c)
					fmt.Fprintf(a.stdout, "%s: %s\n", c, row.Title)
				}
				return nil
			}
			return a.explain(args[0])
		},
	}
}

func (a *app) explain(name string) error {
	code := lang.Code(strings.ToUpper(name))
	row, ok := lang.CodeInfo(code)
	if !ok {
		return fmt.Errorf("unknown error code %q: a code is an E, or a W of a warning, and four digits, as in the brackets of error[E0101]", name)
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
