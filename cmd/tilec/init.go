package main

import (
	_ "embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"tilec/jit/file"
)

// starterName is the file of the starter kernel, which `tilec init` writes and `tilec doctor` runs.
const starterName = "shares.tile"

//go:embed starter/shares.tile
var starter []byte

func (a *app) initCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "init DIRECTORY",
		Short: "Write a small kernel with a test to begin with",
		Long: `Init writes ` + starterName + `, a kernel with a test block, into the directory, which is made where there is none, and says how
to check, test and run it. A file that is there already is left as it is, which is an error.`,
		Example: "  tilec init my-kernels",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return errors.New("give the one directory to begin in, such as `tilec init my-kernels`; . is this one")
			}
			return nil
		},
		RunE: func(_ *cobra.Command, args []string) error { return a.init(args[0]) },
	}
	a.jsonFlag(cmd.Flags(), "print one JSON object instead of text")
	return cmd
}

// initJSON is what `tilec init --json` prints: the file that was written, and commands to go on with.
type initJSON struct {
	File string     `json:"file"`
	Next []nextJSON `json:"next"`
}

type nextJSON struct {
	Command string `json:"command"`
	Does    string `json:"does"`
}

// init writes the starter kernel into a directory.
func (a *app) init(dir string) error {
	if dir == "" {
		return usageError{errors.New("the name of the directory is empty")}
	}
	path := filepath.Join(dir, starterName)
	switch _, err := os.Lstat(path); {
	case err == nil:
		return fmt.Errorf("%s is there already: name another directory, or remove it", path)
	case !errors.Is(err, fs.ErrNotExist):
		return err
	}
	if err := file.MakeFolder(dir); err != nil {
		return err
	}
	if err := file.WriteBytes(path, starter); err != nil {
		return err
	}
	steps := []nextJSON{
		{"tilec watch " + path, "check and test it whenever it changes"},
		{"tilec test " + path, "run its test on every device at hand"},
		{"tilec run " + path + " shares", "run it on random numbers, of the sizes of @sizes"},
		{"tilec run " + path + " shares 'x=[[1, 3]]'", "run it on numbers of your own"},
		{"tilec build --emit=plan " + path, "see what the planner chose, and why"},
	}
	if a.json {
		return a.printJSON(initJSON{path, steps})
	}
	fmt.Fprintf(a.stdout, "wrote %s\n\n", path)
	t := tabwriter.NewWriter(a.stdout, 0, 0, 2, ' ', 0)
	for _, s := range steps {
		fmt.Fprintf(t, "  %s\t# %s\n", s.Command, s.Does)
	}
	return t.Flush()
}
