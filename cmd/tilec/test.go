package main

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"tilec/jit"
	"tilec/jit/cuda"
	"tilec/lang"
	"tilec/typecheck/typed"
)

// testOptions says which tests run where.
type testOptions struct {
	device  string
	run     string
	verbose bool
	timeout time.Duration
}

func (a *app) testCommand() *cobra.Command {
	var opts testOptions
	cmd := &cobra.Command{
		Use:   "test [--device cpu|emu|cuda|all] [-run REGEX] [--timeout TIME] [-v] [--json] FILE|DIRECTORY...",
		Short: "Run the tests in the files",
		Long: `Test runs every test block of the files, on every device at hand: the CPU, the PTX emulator, and a GPU where there
is one. A check that does not hold is shown with the first element that differs, and how far it is off. The exit code
is 1 when a test fails, or is still running at its time limit. With --json, each test is one line of JSON on stdout.`,
		Example: `  tilec test std/nn.tile
  tilec test --device cpu -run softmax -v my.tile`,
		DisableFlagsInUseLine: true,
		Args:                  atLeastOne("the .tile files to test"),
		ValidArgsFunction:     sourceFiles,
		RunE:                  func(_ *cobra.Command, files []string) error { return a.test(files, opts) },
	}
	opts.flags(cmd.Flags(), "all")
	a.jsonFlag(cmd.Flags(), "print a JSON object a line for each test")
	return cmd
}

// flags adds the options to a command that tests on a device unless told otherwise.
func (o *testOptions) flags(f *pflag.FlagSet, device string) {
	f.StringVar(&o.device, "device", device, "cpu, emu, emu:TARGET, cuda, cuda:N, or all that are at hand")
	f.StringVar(&o.run, "run", "", "run only the tests whose name matches the regular expression; also -run")
	f.BoolVarP(&o.verbose, "verbose", "v", false, "print every test, not only those that fail")
	f.DurationVar(&o.timeout, "timeout", 2*time.Minute, "how long one test may take on one device, compiling included; 0 for any time")
}

// check looks whether the options make sense.
func (o *testOptions) check() error {
	if _, err := regexp.Compile(o.run); err != nil {
		return usageError{fmt.Errorf("--run: %w", err)}
	}
	if o.timeout < 0 {
		return usageError{fmt.Errorf("--timeout is %v, must be 0 or more", o.timeout)}
	}
	return nil
}

// longFlags writes the flags as Go's tools have them, `-run`, as ours have them.
func longFlags(args []string) []string {
	out := append([]string{}, args...)
	if len(out) == 0 || out[0] != "test" && out[0] != "watch" {
		return out
	}
	for i, a := range out {
		if a == "-run" || strings.HasPrefix(a, "-run=") {
			out[i] = "-" + a
		}
	}
	return out
}

func (a *app) test(args []string, opts testOptions) error {
	if err := opts.check(); err != nil {
		return err
	}
	match := regexp.MustCompile(opts.run)
	files, err := expand(args)
	if err != nil {
		return err
	}
	devices, err := testDevices(opts.device)
	if err != nil {
		return err
	}
	limit := &timeLimit{each: opts.timeout}
	defer func() {
		for _, d := range devices {
			if limit.stuck[d] == nil { // to close it would wait for it
				d.Close()
			}
		}
	}()
	total := tally{files: len(files)}
	for _, path := range files {
		program, err := a.load(path)
		if err != nil {
			total.broken++
			if a.json {
				if err := a.printTestJSON(testResult{file: path, err: err}); err != nil {
					return err
				}
				continue
			}
			a.printError(err)
			fmt.Fprintf(a.stdout, "FAIL  %s  [errors in the source]\n", path)
			continue
		}
		var tests []*typed.Test
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
			if !a.json {
				fmt.Fprintf(a.stdout, "?     %s  [%s]\n", path, why)
			}
			continue
		}
		total.tests += len(tests)
		for _, d := range devices {
			wrong, err := a.testFile(path, tests, d, limit, opts)
			if err != nil {
				return err
			}
			total.runs += len(tests)
			total.wrong += wrong
		}
	}
	if !a.json && (len(files) > 1 || len(devices) > 1) {
		a.printTally(total, devices)
	}
	if total.wrong+total.broken > 0 {
		return errReported
	}
	return nil
}

// tally counts what a run of `tilec test` saw: each test runs once on each device.
type tally struct{ files, broken, tests, runs, wrong int }

// printTally prints the last line, which sums up several files or devices.
func (a *app) printTally(t tally, devices []jit.Device) {
	names := make([]string, len(devices))
	for i, d := range devices {
		names[i] = d.ID()
	}
	verdict := "ok  "
	if t.wrong+t.broken > 0 {
		verdict = "FAIL"
	}
	fmt.Fprintf(a.stdout, "%s  %s in %s on %s: %d of %s failed", verdict, plural(t.tests, "test"), plural(t.files, "file"), strings.Join(names, ", "), t.wrong, plural(t.runs, "run"))
	if t.broken > 0 {
		fmt.Fprintf(a.stdout, "; %s with errors", plural(t.broken, "file"))
	}
	fmt.Fprintln(a.stdout)
}

// testDevices opens the devices to test on.
func testDevices(name string) ([]jit.Device, error) {
	if name != "all" {
		d, err := openDevice(name)
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

// testResult is how one test went on one device, or why a file has none.
type testResult struct {
	file, test, device string
	took               time.Duration
	failures           []*jit.CheckFailure
	err                error
}

// testFile runs the tests of a file on a device and counts those that do not hold.
func (a *app) testFile(path string, tests []*typed.Test, d jit.Device, limit *timeLimit, opts testOptions) (wrong int, err error) {
	begin := time.Now()
	compiler := jit.NewCompiler(d, a.logs)
	line := a.progress("test", nil)
	compiler.Output = line // what kernels print is not written into the line
	for i, t := range tests {
		r := testResult{file: path, test: t.Name, device: d.ID()}
		begin := time.Now()
		stop := line.follow(func() string {
			return fmt.Sprintf("%s on %s: test %d of %d, %.0f s: %s", path, d.ID(), i+1, len(tests), time.Since(begin).Seconds(), t.Name)
		})
		r.failures, r.err = limit.run(compiler, t)
		stop()
		r.took = time.Since(begin)
		if bug, ok := caughtBug(r.err); ok {
			a.reportBug(bug)
		}
		if r.err != nil || len(r.failures) > 0 {
			wrong++
		}
		if a.json {
			if err := a.printTestJSON(r); err != nil {
				return wrong, err
			}
			continue
		}
		a.printTest(r, opts.verbose)
	}
	if a.json {
		return wrong, nil
	}
	took := seconds(time.Since(begin))
	if wrong > 0 {
		fmt.Fprintf(a.stdout, "FAIL  %s  %s  %d of %s failed  %s\n", path, d.ID(), wrong, plural(len(tests), "test"), took)
	} else {
		fmt.Fprintf(a.stdout, "ok    %s  %s  %s  %s\n", path, d.ID(), plural(len(tests), "test"), took)
	}
	return wrong, nil
}

// printTest prints a test that fails, or any where the user wants to see all.
func (a *app) printTest(r testResult, verbose bool) {
	took := seconds(r.took)
	switch {
	case r.err != nil || len(r.failures) > 0:
		fmt.Fprintf(a.stdout, "--- FAIL: %s (%s, %s)\n", r.test, r.device, took)
		a.printTestError(r.err)
		for _, f := range r.failures {
			a.printFailure(f)
		}
	case verbose:
		fmt.Fprintf(a.stdout, "--- PASS: %s (%s, %s)\n", r.test, r.device, took)
	}
}

// printTestJSON prints a test as a line of JSON.
func (a *app) printTestJSON(r testResult) error {
	type failure struct {
		Line  int      `json:"line"`
		Check string   `json:"check"`
		Text  []string `json:"text"`
	}
	line := struct {
		File     string          `json:"file"`
		Test     string          `json:"test,omitempty"`
		Device   string          `json:"device,omitempty"`
		OK       bool            `json:"ok"`
		Seconds  float64         `json:"seconds"`
		Failures []failure       `json:"failures,omitempty"`
		Errors   json.RawMessage `json:"errors,omitempty"`
	}{File: r.file, Test: r.test, Device: r.device, OK: r.err == nil && len(r.failures) == 0, Seconds: r.took.Seconds()}
	for _, f := range r.failures {
		n, _ := f.Check.At.Position()
		line.Failures = append(line.Failures, failure{n, oneLine(f.Check.At.Text()), f.Text()})
	}
	if r.err != nil {
		var err error
		if line.Errors, err = jsonErrors(r.err); err != nil {
			return err
		}
	}
	return a.printJSON(line)
}

// oneLine is a source text without its line breaks.
func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

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
	_, isBug := caughtBug(err)
	if ds := diagnostics(err); ds == nil || isBug || lang.Render(&text, ds, lang.RenderOptions{}) != nil {
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
	fmt.Fprintf(a.stdout, "    %s:%d: %s\n", at.Source.Path, line, oneLine(at.Text()))
	for _, l := range f.Text() {
		fmt.Fprintf(a.stdout, "        %s\n", l)
	}
}
