package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

// benchCommand is `tilec bench`, with a command of its own for each thing that is timed, or done with times.
func (a *app) benchCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "bench",
		Short: "Time kernels and language models, beside peers on the same machine",
		Long: `Bench times the compiler's kernels: list shows the workloads, run times them, beside PyTorch, Triton or CuPy where python3 has these,
compare and verify judge what was timed, pins times what pins make of them, and spaces judges the planner by that. bench gpt times a language model.`,
		Example: "  tilec bench list attention\n  tilec bench run attention --peer torch --json >run.json\n  tilec bench verify run.json\n  tilec bench gpt",
	}
	commands := []*cobra.Command{a.benchListCommand(), a.benchRunCommand(), a.benchCompareCommand(), a.benchVerifyCommand(), a.benchPinsCommand(), a.benchSpacesCommand(), a.benchGPTCommand()}
	var names []string
	for _, c := range commands {
		completeFlags(c)
		cmd.AddCommand(c)
		names = append(names, c.Name())
	}
	cmd.Args = func(_ *cobra.Command, args []string) error {
		if len(args) > 0 {
			return fmt.Errorf("there is no bench %s: there are %s", args[0], strings.Join(names, ", "))
		}
		return nil
	}
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
	return cmd
}
