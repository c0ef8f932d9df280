package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"

	"github.com/rogpeppe/go-internal/diff"
	"github.com/spf13/cobra"

	"tilec/jit/file"
	"tilec/lang"
	"tilec/parser"
)

// fmtOptions says what `tilec fmt` does with files that are not in the canonical layout.
type fmtOptions struct{ list, diff, write bool }

func (a *app) fmtCommand() *cobra.Command {
	var opts fmtOptions
	cmd := &cobra.Command{
		Use:                   "fmt [-l] [-d] [-w] [FILE|DIRECTORY...]",
		DisableFlagsInUseLine: true,
		Short:                 "Lay out sources in the one canonical form",
		Long: `Fmt prints the files in the canonical layout, or what it reads from stdin when there is none. Comments and the
meaning of the program stay as they are. A file with syntax errors is left alone: its errors are reported, and the
exit code is 1.`,
		Example: `  tilec fmt -w my.tile
  tilec fmt -l *.tile`,
		ValidArgsFunction: sourceFiles,
		RunE:              func(_ *cobra.Command, files []string) error { return a.fmt(files, opts) },
	}
	cmd.Flags().BoolVarP(&opts.list, "list", "l", false, "print the names of the files whose layout differs, and nothing else")
	cmd.Flags().BoolVarP(&opts.diff, "diff", "d", false, "print what would change")
	cmd.Flags().BoolVarP(&opts.write, "write", "w", false, "write the result to the file instead of printing it")
	a.jsonFlag(cmd.Flags(), "print a JSON object a line for each file")
	return cmd
}

// formattedJSON is a line of `tilec fmt --json`: a file, and whether its layout differs or why it has none. Text is the canonical layout, which is
// left out where -l lists files or -w writes them.
type formattedJSON struct {
	File    string          `json:"file"`
	Changed bool            `json:"changed"`
	Text    *string         `json:"text,omitempty"`
	Diff    string          `json:"diff,omitempty"`
	Errors  json.RawMessage `json:"errors,omitempty"`
}

func (a *app) fmt(args []string, opts fmtOptions) error {
	if len(args) == 0 {
		args = []string{"-"}
	}
	if opts.write && slices.Contains(args, "-") {
		return usageError{errors.New("-w needs the files to write")}
	}
	files, err := expand(args)
	if err != nil {
		return err
	}
	failed := false
	for _, path := range files {
		text, err := a.readSource(path)
		if err == nil {
			err = a.fmtText(path, text, opts)
		}
		if err != nil { // the other files are formatted all the same
			failed = true
			if err := a.printUnformatted(path, err); err != nil {
				return err
			}
		}
	}
	if failed {
		return errReported
	}
	return nil
}

// printUnformatted says why a file is left as it is.
func (a *app) printUnformatted(path string, why error) error {
	if !a.json {
		a.printError(why)
		return nil
	}
	errs, err := jsonErrors(why)
	if err != nil {
		return err
	}
	return a.printJSON(formattedJSON{File: path, Errors: errs})
}

// fmtText formats one text.
func (a *app) fmtText(path string, text []byte, opts fmtOptions) error {
	formatted, err := parser.Format(lang.NewSource(path, string(text)))
	if err != nil {
		return err
	}
	changed := formatted != string(text)
	said := formattedJSON{File: path, Changed: changed}
	if opts.list && changed && !a.json {
		fmt.Fprintln(a.stdout, path)
	}
	if opts.diff && changed {
		said.Diff = string(diff.Diff(path+".orig", text, path, []byte(formatted)))
		if !a.json {
			fmt.Fprint(a.stdout, said.Diff)
		}
	}
	if opts.write && changed {
		if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("cannot write %s: it is part of tilec, and no file", path)
		}
		if err := file.WriteBytes(path, []byte(formatted)); err != nil {
			return err
		}
	}
	if !opts.list && !opts.diff && !opts.write {
		said.Text = &formatted
		if !a.json {
			fmt.Fprint(a.stdout, formatted)
		}
	}
	if a.json {
		return a.printJSON(said)
	}
	return nil
}
