package main

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"tilec/jit"
	"tilec/jit/cuda"
	"tilec/lang"
	"tilec/typecheck"
)

// testOptions says which tests run where.
type testOptions struct {
	device  string
	run     string
	verbose bool
}

func (a *app) testCommand() *cobra.Command {
	var opts testOptions
	cmd := &cobra.Command{
		Use:   "test [--device cpu|emu|cuda|all] [-run REGEX] [-v] FILE...",
		Short: "Run the tests in the files",
		Long: `Test runs every test block of the files, on every device at hand: the CPU, the PTX emulator, and a GPU where there
is one. A check that does not hold is shown with the first element that differs, and how far it is off. The exit code
is 1 when a test fails.`,
		Example: `  tilec test std/nn.tile
  tilec test --device cpu -run softmax -v my.tile`,
		DisableFlagsInUseLine: true,
		Args:                  atLeastOne("the .tile files to test"),
		RunE:                  func(_ *cobra.Command, files []string) error { return a.test(files, opts) },
	}
	cmd.Flags().StringVar(&opts.device, "device", "all", "cpu, emu, emu:TARGET, cuda, cuda:N, or all that are at hand")
	cmd.Flags().StringVar(&opts.run, "run", "", "run only the tests whose name matches the regular expression; also -run")
	cmd.Flags().BoolVarP(&opts.verbose, "verbose", "v", false, "print every test, not only those that fail")
	return cmd
}

// longFlags writes the flags as Go's tools have them, `-run`, as ours have them.
func longFlags(args []string) []string {
	out := append([]string{}, args...)
	if len(out) == 0 || out[0] != "test" {
		return out
	}
	for i, a := range out {
		if a == "-run" || strings.HasPrefix(a, "-run=") {
			out[i] = "-" + a
		}
	}
	return out
}

func (a *app) test(files []string, opts testOptions) error {
	match, err := regexp.Compile(opts.run)
	if err != nil {
		return usageError{fmt.Errorf("--run: %w", err)}
	}
	devices, err := testDevices(opts.device)
	if err != nil {
		return err
	}
	defer func() {
		for _, d := range devices {
			d.Close()
		}
	}()
	failed := false
	for _, path := range files {
		program, err := a.load(path)
		if err != nil {
			a.printError(err)
			fmt.Fprintf(a.stdout, "FAIL  %s  [errors in the source]\n", path)
			failed = true
			continue
		}
		var tests []*typecheck.Test
		for _, t := range program.Tests {
			if match.MatchString(t.Name) {
				tests = append(tests, t)
			}
		}
		if len(tests) == 0 {
			why := "no tests"
			if len(program.Tests) > 0 {
				why = "no test matches"
			}
			fmt.Fprintf(a.stdout, "?     %s  [%s]\n", path, why)
			continue
		}
		for _, d := range devices {
			if !a.testFile(path, tests, d, opts) {
				failed = true
			}
		}
	}
	if failed {
		return errReported
	}
	return nil
}

// testDevices opens the devices to test on.
func testDevices(name string) ([]jit.Device, error) {
	if name != "all" {
		d, err := jit.OpenDevice(name)
		if err != nil {
			return nil, err
		}
		return []jit.Device{d}, nil
	}
	devices := []jit.Device{jit.OpenCPU()}
	emulator, err := jit.OpenEmulator(jit.DefaultEmulatorTarget)
	if err != nil {
		return nil, err
	}
	devices = append(devices, emulator)
	if driver, err := cuda.Open(); err == nil && len(driver.Devices()) > 0 {
		gpu, err := jit.OpenGPU(0)
		if err != nil { // a GPU that is there and fails is worth knowing of
			return nil, fmt.Errorf("%w; choose --device cpu or emu to do without the GPU", err)
		}
		devices = append(devices, gpu)
	}
	return devices, nil
}

// testFile runs the tests of a file on a device and reports whether all hold.
func (a *app) testFile(path string, tests []*typecheck.Test, d jit.Device, opts testOptions) bool {
	begin := time.Now()
	compiler := jit.NewCompiler(d, a.logs)
	compiler.Output = a.stderr
	wrong := 0
	for _, t := range tests {
		begin := time.Now()
		failures, err := compiler.RunTest(t, jit.Options{})
		took := seconds(time.Since(begin))
		switch {
		case err != nil || len(failures) > 0:
			wrong++
			fmt.Fprintf(a.stdout, "--- FAIL: %s (%s, %s)\n", t.Name, d.ID(), took)
			a.printTestError(err)
			for _, f := range failures {
				a.printFailure(f)
			}
		case opts.verbose:
			fmt.Fprintf(a.stdout, "--- PASS: %s (%s, %s)\n", t.Name, d.ID(), took)
		}
	}
	took := seconds(time.Since(begin))
	if wrong > 0 {
		fmt.Fprintf(a.stdout, "FAIL  %s  %s  %d of %s failed  %s\n", path, d.ID(), wrong, plural(len(tests), "test"), took)
	} else {
		fmt.Fprintf(a.stdout, "ok    %s  %s  %s  %s\n", path, d.ID(), plural(len(tests), "test"), took)
	}
	return wrong == 0
}

func seconds(d time.Duration) string { return fmt.Sprintf("%.2fs", d.Seconds()) }

// plural is "1 test", "2 tests".
func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// printTestError prints why a test could not be run, among the test's lines.
func (a *app) printTestError(err error) {
	if err == nil {
		return
	}
	var text strings.Builder
	var bug *jit.Bug
	if ds := diagnostics(err); ds == nil || errors.As(err, &bug) || lang.Render(&text, ds, lang.RenderOptions{}) != nil {
		text.Reset()
		text.WriteString(err.Error())
	}
	for _, line := range strings.Split(strings.TrimRight(text.String(), "\n"), "\n") {
		fmt.Fprintf(a.stdout, "    %s\n", line)
	}
}

// printFailure prints a check that does not hold.
func (a *app) printFailure(f *jit.CheckFailure) {
	at := f.Check.At
	line, _ := at.Position()
	source := strings.Join(strings.Fields(at.Text()), " ")
	fmt.Fprintf(a.stdout, "    %s:%d: %s\n", at.Source.Path, line, source)
	for _, l := range f.Text() {
		fmt.Fprintf(a.stdout, "        %s\n", l)
	}
}
