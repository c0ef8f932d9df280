package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"tilec/jit/target"
	"tilec/lang"
	"tilec/typecheck/typed"
)

func (a *app) explainCommand() *cobra.Command {
	targetName, svg := target.Default, ""
	cmd := &cobra.Command{
		Use:   "explain [CODE | FILE.tile [KERNEL | GRAPH] [NAME=VALUE ...]]",
		Short: "Explain an error code, the plan of a kernel, or what became of the calls of a graph",
		Long: `With an error code, explain prints what it means, with a program that fails and one that works; with nothing, it lists the codes.

With a file it explains a graph, the one that generates text where none is named: its launches, what was fused into what
and what that saves in launches, predicted time and bytes, and what stays apart and why. Sizes and element types are those
given, or those of the graph's @sizes.

With a kernel's name it explains the kernel's plan: what it costs, term by term, beside the candidate that came next; where it stands under the machine's
roofline; what was decided of a block of threads, and, where ptxas and nvdisasm are there, what became of that; and what each value that can be pinned
would cost. --svg draws the costs and the roofline.`,
		Example: "  tilec explain E0401\n  tilec explain std/nn.tile softmax M=8192 N=768 T=bf16 --svg softmax.svg\n  tilec explain gpt.tile\n  tilec explain gpt.tile scores S=128 --target sm_80",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 1 && !isSource(args[0]) {
				return fmt.Errorf("give one error code, such as E0401, or a .tile file")
			}
			return nil
		},
		ValidArgsFunction: a.codesAndFiles,
		RunE: func(_ *cobra.Command, args []string) error {
			switch {
			case len(args) > 0 && isSource(args[0]):
				return a.explainFile(source(args[0]), args[1:], targetName, svg)
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
	cmd.Flags().StringVar(&targetName, "target", target.Default, "the machine that a kernel or graph is explained for: "+newestFirst(target.Names()))
	cmd.Flags().StringVar(&svg, "svg", "", "of a kernel: draw its costs and its place under the roofline into this file")
	a.jsonFlag(cmd.Flags(), "print JSON instead of text")
	return cmd
}

// explainFile explains a kernel or a graph of a file.
func (a *app) explainFile(path string, texts []string, targetName, svg string) error {
	machine, err := target.Find(targetName)
	if err != nil {
		return usageError{err}
	}
	name := ""
	if len(texts) > 0 && !strings.Contains(texts[0], "=") {
		name, texts = texts[0], texts[1:]
	}
	args, err := parseArguments(texts)
	if err != nil {
		return err
	}
	program, err := a.load(path)
	if err != nil {
		return err
	}
	if i := slices.IndexFunc(program.Kernels, func(k *typed.Kernel) bool { return k.Name == name }); i >= 0 {
		return a.explainKernel(program.Kernels[i], args, machine, svg)
	}
	if svg != "" {
		return usageError{errors.New("--svg draws a kernel: name one behind the file's name")}
	}
	return a.explainGraph(program, name, args, machine)
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
