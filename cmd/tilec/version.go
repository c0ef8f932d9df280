package main

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"tilec/jit"
)

func (a *app) versionCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print the version of tilec and how it was built",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			if a.json {
				commit, changed := builtFrom()
				return a.printJSON(versionJSON{jit.Version, commit, changed, runtime.Version(), runtime.GOOS, runtime.GOARCH})
			}
			fmt.Fprintln(a.stdout, versionText())
			return nil
		},
	}
	a.jsonFlag(cmd.Flags(), "print one JSON object instead of text")
	return cmd
}

// versionJSON is what `tilec version --json` prints.
type versionJSON struct {
	Version string `json:"version"`
	Commit  string `json:"commit,omitempty"`
	// Changed: the files were not as the commit has them.
	Changed bool   `json:"changed,omitempty"`
	Go      string `json:"go"`
	OS      string `json:"os"`
	Arch    string `json:"arch"`
}

// versionText is the version of tilec, and how it was built.
func versionText() string {
	return fmt.Sprintf("tilec %s%s, %s %s/%s", jit.Version, revision(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
}

// revision is the commit that the binary was built from, in brackets, where the build knows it.
func revision() string {
	commit, changed := builtFrom()
	switch {
	case commit == "":
		return ""
	case changed:
		return fmt.Sprintf(" (%.12s with changes)", commit)
	}
	return fmt.Sprintf(" (%.12s)", commit)
}

// builtFrom is the commit that the binary was built from, where the build knows it, and whether files were changed since.
func builtFrom() (commit string, changed bool) {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "", false
	}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			commit = s.Value
		case "vcs.modified":
			changed = s.Value == "true"
		}
	}
	return commit, changed
}
