package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"tilec/jit"
	"tilec/lang"
)

func (a *app) checkCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:               "check FILE|DIRECTORY...",
		Short:             "Report every error and warning in the files",
		Long:              "Check parses and type-checks the files and what they import, reports every error and warning, and exits with 1 when there are errors, with --deny warnings also when there are warnings.",
		Args:              atLeastOne("the .tile files to check"),
		ValidArgsFunction: sourceFiles,
	}
	deny := cmd.Flags().String("deny", "", "what fails besides errors: `warnings`")
	cmd.RunE = func(_ *cobra.Command, files []string) error {
		if *deny != "" && *deny != "warnings" {
			return usageError{fmt.Errorf("--deny %s: only warnings can be denied", *deny)}
		}
		return a.check(files, *deny == "warnings")
	}
	a.jsonFlag(cmd.Flags(), "print what there is to report to stdout as a JSON array")
	return cmd
}

// check reports what there is to say of files. It fails where there are errors, or warnings that are denied; notes never do.
func (a *app) check(args []string, denyWarnings bool) error {
	files, err := expand(args)
	if err != nil {
		return err
	}
	var all lang.Diagnostics
	failed := false
	for _, path := range files {
		text, err := a.readSource(path)
		if err != nil {
			// The other files are checked all the same.
			if a.json {
				all = append(all, &lang.Diagnostic{Message: err.Error()})
				continue
			}
			a.printError(err)
			failed = true
			continue
		}
		program, ds := jit.Load(path, text, a.logs)
		all = append(append(all, ds...), program.Warnings...)
	}
	// Two files may import one that has errors: they are reported once.
	all = unique(all.Sort())
	if a.json {
		text, err := lang.JSON(all)
		if err != nil {
			return err
		}
		fmt.Fprintf(a.stdout, "%s\n", text)
	} else if err := lang.Render(a.stderr, all, lang.RenderOptions{Color: a.color}); err != nil {
		return err
	}
	if failed || len(all.Errors()) > 0 || denyWarnings && len(all.Warnings()) > 0 {
		return errReported
	}
	return nil
}

// unique drops diagnostics that say the same of the same place; the files may
// have been read more than once, so sources compare by path.
func unique(ds lang.Diagnostics) lang.Diagnostics {
	seen := map[string]bool{}
	var out lang.Diagnostics
	for _, d := range ds {
		key := d.Error()
		if !seen[key] {
			out = append(out, d)
		}
		seen[key] = true
	}
	return out
}
