package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"tilec/jit"
	"tilec/jit/cache"
)

func (a *app) cacheCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "cache",
		Short: "Say where compiled kernels are kept and how much they take, or remove them",
		Long: `Cache prints the folder of compiled kernels and its size. ` + cache.DirVariable + ` names another folder, or is off. What was used longest ago goes by
itself where the folder has more than ` + jit.FormatBytes(cache.DefaultMaxBytes) + `.`,
		Example: "  tilec cache\n  tilec cache --clear",
		Args:    cobra.NoArgs,
	}
	empty := cmd.Flags().Bool("clear", false, "remove every compiled kernel; they are compiled again when they are needed")
	cmd.RunE = func(*cobra.Command, []string) error { return a.cache(*empty) }
	a.jsonFlag(cmd.Flags(), "print one JSON object instead of text")
	return cmd
}

// cache prints the state of the cache of compiled kernels, once that was cleared where it is to be.
func (a *app) cache(empty bool) error {
	if empty {
		c := cache.Open("")
		if err := c.Warn(); err != nil {
			return err
		}
		if err := c.Clear(); err != nil {
			return fmt.Errorf("clearing the cache: %w", err)
		}
	}
	d := diagnoseCache()
	switch {
	case a.json:
		if err := a.printJSON(d); err != nil {
			return err
		}
	case d.Problem != "":
		return errors.New(d.Problem)
	default:
		fmt.Fprintln(a.stdout, d)
	}
	if d.Problem != "" {
		return errReported
	}
	return nil
}
