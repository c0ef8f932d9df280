package main

import (
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"tilec/cmd/tilec/lsp"
	"tilec/jit"
)

func (a *app) lspCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "lsp",
		Short: "Serve an editor, by the language server protocol over stdin and stdout",
		Long:  "Lsp is started by an editor: see docs/editors.md for how to set one up. It ends when the editor does.",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			return lsp.Serve(context.Background(), stdio{os.Stdin, a.stdout}, lsp.Options{
				Version:    jit.Version,
				LibraryDir: libraryDir(),
				Delay:      100 * time.Millisecond,
				Run:        runTilec,
				Log:        a.stderr,
			})
		},
	}
	// Editors pass it to every server; it is the only way that there is.
	cmd.Flags().Bool("stdio", true, "speak over stdin and stdout")
	return cmd
}

// runTilec runs this program again, for a command of the editor: what a test or a plan does to the process stays out of the server.
func runTilec(ctx context.Context, args ...string) (string, error) {
	exe, err := os.Executable()
	if err != nil {
		return "", err
	}
	out, err := exec.CommandContext(ctx, exe, args...).CombinedOutput()
	return string(out), err
}

// stdio is the two ends of a session as one stream.
type stdio struct {
	io.Reader
	io.Writer
}

// Close ends the reading: nothing else could end a wait for input.
func (s stdio) Close() error { return os.Stdin.Close() }

// libraryDir is where editors find the standard library; "" where there is no cache folder.
func libraryDir() string {
	dir, err := os.UserCacheDir()
	if err != nil {
		return ""
	}
	return filepath.Join(dir, "tilec", "library-"+jit.Version)
}
