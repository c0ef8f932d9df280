package main

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"tilec/jit"
)

// The exit codes.
const (
	exitOK          = 0
	exitError       = 1 // an error in an input or a program
	exitUsage       = 2 // a command line that makes no sense
	exitInterrupted = 130
)

// app is one invocation of the command.
type app struct {
	stdout *output
	stderr *os.File
	args   []string
	begin  time.Time
	// color is for stderr.
	color bool
	logs  *jit.Logs
	// json says that stdout is for a program: errors too are printed there.
	json bool
	// trace is the file for what was done and when, "" for none, and launches are those of a GPU that go there.
	trace    string
	launches []traceEvent
	// toldOfShift: a text was said to have lost its beginning.
	toldOfShift bool
	// running is set when the command line has been understood: errors before it are of usage.
	running bool
	// sources are the texts read so far, by name, for the report of a compiler bug.
	sources map[string][]byte
}

// output is stdout. It keeps the first error of a write, so that what is lost on
// a full disk does not look like success.
type output struct {
	*os.File
	err error
}

// Write remembers the first error, for the exit code.
func (o *output) Write(p []byte) (int, error) {
	n, err := o.File.Write(p)
	if o.err == nil {
		o.err = err
	}
	return n, err
}

// WriteString is Write of a string.
func (o *output) WriteString(s string) (int, error) { return o.Write([]byte(s)) }

// run runs a command line that began at a time and gives its exit code.
func run(args []string, stdout, stderr *os.File, begin time.Time) (code int) {
	a := &app{stdout: &output{File: stdout}, stderr: stderr, args: args, begin: begin, color: wantsColor(stderr), sources: map[string][]byte{}}
	defer func() {
		if r := recover(); r != nil {
			a.reportBug(jit.NewBug(r))
			code = exitError
		}
	}()
	root := a.root()
	root.SetArgs(longFlags(args))
	cmd, err := root.ExecuteC()
	a.logs.Times(time.Since(begin))
	if err == nil {
		err = a.endTrace()
	}
	if err == nil && a.stdout.err != nil {
		err = fmt.Errorf("writing the output: %w", a.stdout.err)
	}
	return a.report(cmd, err)
}

func (a *app) root() *cobra.Command {
	root := &cobra.Command{
		Use:   "tilec",
		Short: "Compile and run programs in the tile language",
		Long: `tilec compiles programs in the tile language and runs them on a GPU, or on the CPU where there is none.

A FILE is looked up on disk, then among the sources inside tilec; - is stdin. Where several may be given, a directory
stands for the .tile files in it. The exit code is 1 for an error in an input or a program, 2 for a command line
that makes no sense.

CUTILE_LOGS prints stages of the compiler to stderr: a comma list of ast, typed, graph, ir, plan, block, ptx, launch,
time, or all.
TILEC_CACHE is the folder of compiled kernels, or "off". NO_COLOR turns colours off.`,
		Example: `  tilec run gpt.tile --prompt 'JULIET:'
  tilec run std/nn.tile softmax 'x=randn[4,1000]'
  tilec check my.tile
  tilec test my.tile
  tilec build --emit=ptx my.tile M=1024 T=bf16`,
		DisableFlagsInUseLine: true,
		SilenceErrors:         true,
		SilenceUsage:          true,
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) (err error) {
			a.logs, err = jit.ParseLogs(os.Getenv("CUTILE_LOGS"), a.stderr)
			a.running = err == nil
			return errors.Join(err, a.beginTrace(cmd))
		},
	}
	// Cobra's own --version is a template: with package text/template the linker keeps every exported method, 1.9 MB of them.
	version := root.Flags().BoolP("version", "v", false, "print the version of tilec and how it was built")
	root.RunE = func(cmd *cobra.Command, _ []string) error {
		if *version {
			fmt.Fprintln(a.stdout, versionText())
			return nil
		}
		return cmd.Help()
	}
	root.SetOut(a.stdout)
	root.SetErr(a.stderr)
	commands := []func() *cobra.Command{a.runCommand, a.testCommand, a.checkCommand, a.fmtCommand, a.lspCommand, a.buildCommand, a.explainCommand, a.devicesCommand, a.versionCommand}
	if !inPage {
		commands = []func() *cobra.Command{
			a.runCommand, a.scoreCommand, a.importCommand, a.testCommand, a.watchCommand, a.checkCommand, a.fmtCommand, a.lspCommand, a.buildCommand, a.docCommand, a.explainCommand, a.reportCommand, a.benchCommand, a.tuneCommand, a.fuzzCommand, a.devicesCommand, a.doctorCommand, a.cacheCommand, a.initCommand, a.playgroundCommand, a.versionCommand,
		}
	}
	for _, command := range commands {
		c := command()
		if !inPage {
			completeFlags(c)
		}
		root.AddCommand(c)
	}
	return root
}

// usageError is a command line that makes no sense, found after cobra had accepted it.
type usageError struct{ error }

// reported is an error that has been printed already.
type reported struct{ error }

var errReported = reported{errors.New("errors were reported")}

// report prints an error where that has not been done, and gives the exit code.
func (a *app) report(cmd *cobra.Command, err error) int {
	var usage usageError
	var silent reported
	bug, isBug := caughtBug(err)
	switch {
	case err == nil:
		return exitOK
	case errors.As(err, &silent):
		return exitError
	case isBug:
		a.reportBug(bug)
		if a.json {
			_ = a.printJSONError(err)
		}
		return exitError
	case errors.Is(err, errInterrupted):
		a.say("interrupted")
		return exitInterrupted
	case !a.running || errors.As(err, &usage):
		a.printError(err)
		a.say("usage: %s", cmd.UseLine())
		a.say("help:  %s --help", cmd.CommandPath())
		return exitUsage
	}
	if a.json {
		if err := a.printJSONError(err); err == nil {
			return exitError
		}
	}
	a.printError(err)
	return exitError
}

// wantsColor reports whether a stream is a terminal that shows colours.
func wantsColor(f *os.File) bool {
	return os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb" && isTerminal(f)
}

func isTerminal(f *os.File) bool {
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0 && f.Name() != os.DevNull
}

// atLeastOne refuses a command line without arguments, and says what is missing.
func atLeastOne(what string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		if len(args) == 0 {
			return errors.New("give " + what)
		}
		return nil
	}
}

// flagsChanged lists the flags among names that the command line sets.
func flagsChanged(cmd *cobra.Command, names ...string) string {
	var set []string
	for _, n := range names {
		if cmd.Flags().Changed(n) {
			set = append(set, "--"+n)
		}
	}
	return strings.Join(set, ", ")
}
