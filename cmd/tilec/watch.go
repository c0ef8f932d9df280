package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"time"

	"github.com/spf13/cobra"

	"tilec/jit/file"
	"tilec/lang"
	"tilec/parser"
	"tilec/typecheck/load"
)

const (
	// watchEvery is how often watched files are read: soon enough for a person, and little work, since sources are small.
	watchEvery = 250 * time.Millisecond
	// watchSettle is how long files must stay the same before they are checked: an editor may write one in several steps.
	watchSettle = 50 * time.Millisecond
)

func (a *app) watchCommand() *cobra.Command {
	opts := testOptions{}
	cmd := &cobra.Command{
		Use:   "watch FILE",
		Short: "Check and test a file, again whenever it or what it imports changes",
		Long: `Watch reports the errors and warnings of a file as check does and, where there is no error, runs its tests as test does. It does so
again whenever the file, or one that it imports, changes, until Ctrl-C ends it.`,
		Example: "  tilec watch my.tile\n  tilec watch --device all --run softmax my.tile",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return errors.New("give the one .tile file to watch")
			}
			return nil
		},
		ValidArgsFunction: sourceFiles,
		RunE:              func(_ *cobra.Command, args []string) error { return a.watch(args[0], opts) },
	}
	opts.flags(cmd.Flags(), "cpu")
	a.jsonFlag(cmd.Flags(), "print JSON for each round, what there is to report and what the tests gave")
	return cmd
}

// roundJSON begins a round of `tilec watch --json`.
type roundJSON struct {
	Watched string `json:"watched"`
	Time    string `json:"time"`
}

// watch checks and tests a file whenever it changes.
func (a *app) watch(path string, opts testOptions) error {
	if err := opts.check(); err != nil {
		return err
	}
	if _, err := file.Read(path, file.MaxSource); err != nil {
		return fmt.Errorf("cannot watch %s: %w", path, errors.Unwrap(err))
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	// A test that is under way when Ctrl-C comes ends with the process, so what it works with is its own until then.
	rounds := *a
	rounds.stdout = &output{File: a.stdout.File}
	ended := make(chan error, 1)
	go func() { ended <- rounds.watchUntil(ctx, path, opts) }()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
		return nil
	}
}

// watchUntil checks and tests a file whenever it changes, until a context is done.
func (a *app) watchUntil(ctx context.Context, path string, opts testOptions) error {
	for ctx.Err() == nil {
		w := watched(path)
		for sleep(ctx, watchSettle); w.changed() && ctx.Err() == nil; sleep(ctx, watchSettle) {
			w = watched(path)
		}
		if err := a.checkAndTest(path, opts); err != nil {
			return err
		}
		for ctx.Err() == nil && !w.changed() {
			sleep(ctx, watchEvery)
		}
	}
	return nil
}

// checkAndTest is one round. What is wrong with the sources or a test is reported; an error is one that ends the watch.
func (a *app) checkAndTest(path string, opts testOptions) (err error) {
	a.sources = map[string][]byte{}
	if a.json {
		if err := a.printJSON(roundJSON{path, time.Now().Format(time.RFC3339)}); err != nil {
			return err
		}
	} else {
		fmt.Fprintf(a.stdout, "--- %s  %s\n", time.Now().Format(time.TimeOnly), path)
	}
	if err = a.check([]string{path}, false); err == nil {
		err = a.test([]string{path}, opts)
	}
	var usage usageError
	switch {
	case a.stdout.err != nil:
		return a.stdout.err // nobody reads any more
	case err == nil || errors.Is(err, errReported):
		return nil
	case errors.As(err, &usage):
		return err
	}
	a.printError(err)
	return nil
}

// sleep waits, or until a context is done.
func sleep(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// watchedFiles are the texts of a file and of all that it imports, by name; of one that cannot be read, why.
type watchedFiles map[string]string

// watched reads a file and all that it imports from disk. The standard library is part of the binary, and does not change.
func watched(path string) watchedFiles {
	w := watchedFiles{}
	for todo := []string{path}; len(todo) > 0; {
		name := todo[0]
		todo = todo[1:]
		if _, ok := w[name]; ok {
			continue
		}
		w[name] = textOf(name)
		m, _ := parser.Parse(lang.NewSource(name, w[name]))
		if m == nil {
			continue
		}
		for _, i := range m.Imports {
			if imported, library := load.FileOf(i.Path, name); !library {
				todo = append(todo, imported)
			}
		}
	}
	return w
}

// changed reports whether a file has another text by now.
func (w watchedFiles) changed() bool {
	for name, text := range w {
		if textOf(name) != text {
			return true
		}
	}
	return false
}

// textOf is the text of a file or, where it cannot be read, the error.
func textOf(name string) string {
	text, err := file.Read(name, file.MaxSource)
	if err != nil {
		return err.Error()
	}
	return string(text)
}
