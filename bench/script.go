package bench

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// endsWithin is how long a script has to end in when it is asked to.
const endsWithin = 5 * time.Second

// RunScript runs a peer's script, which what names in errors, in the folder that it lies in, with what it reads, while read takes what it
// prints. It gives the error of the context, of read, or of the script, with the last line that this said.
func RunScript(ctx context.Context, what, python, script string, input []byte, read func(io.Reader) error) error {
	cmd := exec.CommandContext(ctx, python, script)
	var errs bytes.Buffer
	out, lines := io.Pipe()
	cmd.Stdin, cmd.Stdout, cmd.Stderr, cmd.Dir = bytes.NewReader(input), lines, &errs, filepath.Dir(script)
	// Python ends the processes that compile for it, when it is asked to end. They might hold its output open if it were killed.
	cmd.Cancel, cmd.WaitDelay = func() error { return cmd.Process.Signal(os.Interrupt) }, endsWithin
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("running %s: %w", python, err)
	}
	done := make(chan error, 1)
	go func() {
		err := read(out)
		out.CloseWithError(err) // what comes behind an error, nobody reads
		done <- err
	}()
	failed := cmd.Wait()
	lines.Close()
	err := <-done
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil:
		return err
	case failed != nil:
		said := strings.Split(strings.TrimSpace(errs.String()), "\n")
		return fmt.Errorf("%s failed: %w: %s", what, failed, said[len(said)-1])
	}
	return nil
}
