package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"

	"github.com/spf13/cobra"

	"tilec/bench"
	"tilec/jit/file"
	"tilec/jit/target"
)

// This file is `tilec bench spaces`, which judges the planner by plans that were measured, and keeps what was.

func (a *app) benchSpacesCommand() *cobra.Command {
	var add, device, code, provenance string
	cmd := &cobra.Command{
		Use:   "spaces FILE.jsonl",
		Short: "Judge the planner by plans that were measured",
		Long: `Spaces says, of each kernel of which a GPU has timed several plans, how near what the planner chooses today comes to the fastest of them. No GPU is
needed. Lines of the file are from tilec tune --out, or from bench pins --out by way of --add, which puts one for each workload behind those that
are there. A choice that was not timed is named, and does not count.`,
		Example: "  tilec bench spaces bench/spaces_h200.jsonl\n  tilec bench pins --trials bench/trials.txt --out pins.json\n  tilec bench spaces bench/spaces_h200.jsonl --add pins.json --gpu 'NVIDIA H200' --provenance 'bench pins, commit 1234567, 2026-11-23'",
		Args:    cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			if add != "" {
				if device == "" || provenance == "" {
					return usageError{errors.New("--add needs --gpu and --provenance: what was timed is worth little without where, by which commit and when")}
				}
				return a.addTried(args[0], add, code, device, provenance)
			}
			spaces, err := readSpaces(args[0])
			if err != nil {
				return err
			}
			judge, err := bench.NewJudge()
			if err != nil {
				return err
			}
			defer judge.Close()
			judged := judge.Spaces(spaces)
			if a.json {
				return a.printJSON(judged)
			}
			bench.WriteJudged(a.stdout, judged)
			return nil
		},
	}
	f := cmd.Flags()
	f.SortFlags = false
	f.StringVar(&add, "add", "", "add what bench pins --out wrote to this file")
	f.StringVar(&device, "gpu", "", "with --add: the GPU's name")
	f.StringVar(&code, "target", target.Default, "with --add: what the code was for")
	f.StringVar(&provenance, "provenance", "", "with --add: which command of which commit timed it, and when")
	a.jsonFlag(f, "print one JSON array instead of a table")
	return cmd
}

// readSpaces reads a file of spaces.
func readSpaces(path string) ([]bench.Space, error) {
	text, err := file.Read(path, file.MaxSource)
	if err != nil {
		return nil, fmt.Errorf("cannot read %s: %w", path, errors.Unwrap(err))
	}
	spaces, err := bench.ReadSpaces(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return spaces, nil
}

// addTried adds what pins made of workloads to a file of spaces.
func (a *app) addTried(path, from, code, device, provenance string) error {
	machine, err := target.Find(code)
	if err != nil {
		return usageError{err}
	}
	text, err := file.Read(from, file.MaxSource)
	if err != nil {
		return fmt.Errorf("cannot read %s: %w", from, errors.Unwrap(err))
	}
	tried, err := bench.ReadTried(bytes.NewReader(text))
	if err != nil {
		return fmt.Errorf("%s: %w", from, err)
	}
	spaces := bench.SpacesOf(tried, machine, device, provenance)
	if err := addSpaces(path, spaces); err != nil {
		return err
	}
	a.say("%s: %d workloads were added", path, len(spaces))
	return nil
}

// addSpaces adds spaces to a file of them, a line each.
func addSpaces(path string, spaces []bench.Space) error {
	text, err := file.Read(path, file.MaxSource)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("cannot read %s: %w", path, errors.Unwrap(err))
	}
	if len(text) > 0 {
		if _, err := bench.ReadSpaces(text); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
	}
	if n := len(text); n > 0 && text[n-1] != '\n' {
		text = append(text, '\n')
	}
	for _, s := range spaces {
		line, err := json.Marshal(s)
		if err != nil {
			return err
		}
		text = append(append(text, line...), '\n')
	}
	return file.WriteBytes(path, text)
}
