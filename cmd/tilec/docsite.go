package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"tilec/cmd/tilec/reference"
	"tilec/cmd/tilec/site"
)

// docSite makes a site of what the contents in a file list, or of the reference that tilec has by itself.
func (a *app) docSite(root *cobra.Command, folder string, args []string) error {
	switch {
	case inPage:
		return notInPage("--site")
	case a.json:
		return usageError{errors.New("--site writes a folder, and --json has nothing to print: leave one of them out")}
	case len(args) > 1 || len(args) == 1 && filepath.Ext(args[0]) != ".md":
		return usageError{fmt.Errorf("--site takes one text in Markdown, the contents of the site, or nothing: tilec doc --site %s contents.md", folder)}
	}
	library, err := a.library()
	if err != nil {
		return err
	}
	of := site.Sources{
		Module: func(path string) (reference.Module, error) {
			program, err := a.load(path)
			if err != nil {
				return reference.Module{}, err
			}
			return reference.Of(program), nil
		},
		Library: slices.DeleteFunc(library, func(m reference.Module) bool { return !strings.HasPrefix(m.Name, "std/") }),
		Tilec:   commandOf(root),
	}
	contents := ""
	if len(args) == 1 {
		contents = args[0]
	}
	pages, err := site.Write(folder, contents, of)
	if err != nil {
		return err
	}
	fmt.Fprintf(a.stdout, "%s: %d pages, from index.html on\n", folder, pages)
	return nil
}

// commandOf is a command and those below it, with what --help prints of each.
func commandOf(cmd *cobra.Command) site.Command {
	var help bytes.Buffer
	cmd.InitDefaultHelpFlag()
	cmd.SetOut(&help)
	_ = cmd.Help() // a buffer takes all
	cmd.SetOut(io.Writer(nil))
	c := site.Command{Name: cmd.CommandPath(), Help: help.String()}
	for _, inner := range cmd.Commands() {
		if inner.IsAvailableCommand() && inner.Name() != "completion" && inner.Name() != "help" {
			c.Commands = append(c.Commands, commandOf(inner))
		}
	}
	return c
}
