package main

import (
	"encoding/json"
	"fmt"

	"github.com/spf13/pflag"

	"tilec/lang"
)

// jsonFlag adds --json, which every command has that reports errors of sources. docs/json.md describes what it prints.
// It is called, not copied to its many callers: the binary is smaller.
//
//go:noinline
func (a *app) jsonFlag(f *pflag.FlagSet, about string) {
	f.BoolVar(&a.json, "json", false, about+", as docs/json.md describes")
}

// printJSON prints a value on a line of its own.
func (a *app) printJSON(v any) error {
	text, err := json.Marshal(v)
	if err == nil {
		fmt.Fprintf(a.stdout, "%s\n", text)
	}
	return err
}

// jsonErrors is an error as --json has it: the diagnostics of a source, or a message alone.
func jsonErrors(err error) (json.RawMessage, error) {
	ds := diagnostics(err)
	if ds == nil {
		ds = lang.Diagnostics{{Message: err.Error()}}
	}
	return lang.JSON(ds)
}

// printJSONError prints what went wrong as the object {"errors": [...]}.
func (a *app) printJSONError(err error) error {
	errs, err := jsonErrors(err)
	if err != nil {
		return err
	}
	return a.printJSON(struct {
		Errors json.RawMessage `json:"errors"`
	}{errs})
}
