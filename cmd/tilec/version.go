package main

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"tilec/jit"
)

func (a *app) versionCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version of tilec and how it was built",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			fmt.Fprintln(a.stdout, versionText())
			return nil
		},
	}
}

// versionText is the version of tilec, and how it was built.
func versionText() string {
	return fmt.Sprintf("tilec %s%s, %s %s/%s", jit.Version, revision(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
}

// revision is the commit that the binary was built from, where the build knows it.
func revision() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	commit, dirty := "", ""
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision":
			commit = s.Value
		case s.Key == "vcs.modified" && s.Value == "true":
			dirty = " with changes"
		}
	}
	if commit == "" {
		return ""
	}
	return fmt.Sprintf(" (%.12s%s)", commit, dirty)
}
