package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"tilec/editors/playground"
)

// pageCommands and pageFlags are what the page may use: with nothing else can a command write a file.
var (
	pageCommands = []string{"run", "test", "check", "fmt", "lsp", "build", "explain", "devices", "version"}
	pageFlags    = []string{"--emit", "--kernel", "--target", "--dump-after", "--device", "--profile", "--check", "--time", "--debug", "--seed", "--precision", "--json", "--verbose"}
)

func (a *app) playgroundCommand() *cobra.Command {
	port := 0
	cmd := &cobra.Command{
		Use:   "playground [FILE.tile ...]",
		Short: "Serve a page in which programs are written, looked at in every stage, and run on this machine",
		Long: `Playground prints the address of a page for a browser on this machine, and serves it until it is interrupted. The page
has an editor, what each stage of the compiler makes of the program, and runs on the CPU, the emulator and the machine's
GPU. The files are in its list of examples, beside the standard library; nothing is written to them.`,
		Example:           "  tilec playground\n  tilec playground softmax.tile",
		ValidArgsFunction: sourceFiles,
		RunE: func(_ *cobra.Command, args []string) error {
			return a.playground(args, port)
		},
	}
	cmd.Flags().IntVar(&port, "port", 0, "of the page; 0 for any that is free")
	a.jsonFlag(cmd.Flags(), "print the address as a JSON object")
	return cmd
}

// servedJSON is what `tilec playground --json` prints once the page is served.
type servedJSON struct {
	Address string `json:"address"`
}

func (a *app) playground(args []string, port int) error {
	if port < 0 || port > 65535 {
		return usageError{fmt.Errorf("the port is %d, must be from 0 to 65535", port)}
	}
	files, err := expand(args)
	if err != nil {
		return err
	}
	s := &playground.Server{Run: runForPage}
	add := func(group, name string, text []byte) {
		s.Examples = append(s.Examples, playground.Example{Group: group, Name: name, File: fmt.Sprintf("%d.tile", len(s.Examples)), Text: text})
	}
	for _, f := range files {
		text, err := a.readSource(f)
		if err != nil {
			return err
		}
		add("Your files", f, text)
	}
	add("To begin with", starterName, starter)
	for _, name := range embeddedNames() {
		text, _ := embedded(name)
		add("Inside tilec", name, text)
	}
	l, err := net.ListenTCP("tcp4", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: port}) // net.Listen would bring the resolver of names, 0.4 MB
	if err != nil {
		return fmt.Errorf("cannot serve the page: %w", err)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	return s.Serve(ctx, l, func(address string) {
		if a.json {
			_ = a.printJSON(servedJSON{address})
		} else {
			fmt.Fprintln(a.stdout, address)
		}
		a.say("open this address in a browser on this machine; Ctrl-C ends")
	})
}

// runForPage runs a command of the page, by this program again, in a folder of its own that goes when the command has ended.
func runForPage(ctx context.Context, c playground.Command) int {
	code, err := func() (int, error) {
		if err := allowed(c); err != nil {
			return exitUsage, err
		}
		exe, err := os.Executable()
		if err != nil {
			return exitError, err
		}
		dir, err := os.MkdirTemp("", "tilec-playground-")
		if err != nil {
			return exitError, err
		}
		defer os.RemoveAll(dir)
		for name, text := range c.Files {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
				return exitError, err
			}
		}
		cmd := exec.CommandContext(ctx, exe, c.Args...)
		cmd.Dir, cmd.Stdout, cmd.Stderr = dir, c.Stdout, c.Stderr
		cmd.Env = append(os.Environ(), "NO_COLOR=1", "CUTILE_LOGS=")
		cmd.WaitDelay = time.Second
		in, err := cmd.StdinPipe()
		if err != nil {
			return exitError, err
		}
		if err := cmd.Start(); err != nil {
			return exitError, err
		}
		go func() {
			_, _ = io.Copy(in, c.Stdin)
			in.Close()
		}()
		var ended *exec.ExitError
		if err := cmd.Wait(); err != nil && !errors.As(err, &ended) {
			return exitError, err
		}
		return cmd.ProcessState.ExitCode(), nil
	}()
	if err != nil {
		fmt.Fprintf(c.Stderr, "tilec: %v\n", err)
	}
	return code
}

// allowed says why the page may not run a command.
func allowed(c playground.Command) error {
	if len(c.Args) == 0 || !slices.Contains(pageCommands, c.Args[0]) {
		return fmt.Errorf("the command is %q, must be one of %s", c.Args, strings.Join(pageCommands, ", "))
	}
	for _, arg := range c.Args {
		flag, _, _ := strings.Cut(arg, "=")
		if strings.HasPrefix(flag, "-") && !slices.Contains(pageFlags, flag) {
			return fmt.Errorf("the flag is %s, must be one of %s", flag, strings.Join(pageFlags, ", "))
		}
	}
	for name := range c.Files {
		if !isSource(name) || name != filepath.Base(name) {
			return fmt.Errorf("the file is %q, must be a .tile file without a folder", name)
		}
	}
	return nil
}
