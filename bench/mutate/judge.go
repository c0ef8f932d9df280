package main

import (
	"cmp"
	"context"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"time"
)

// Verdicts on a fault.
const (
	noticed    = "noticed"
	missed     = "missed"
	equivalent = "equivalent"
	noBuild    = "does not build"
	noApply    = "does not apply"
)

// Result is what became of one fault.
type Result struct {
	ID      string
	Line    int
	Verdict string
	// By is the package, and the test in it, that noticed.
	By string `json:",omitempty"`
	// Detail is the first message of the failure, or why there is no verdict.
	Detail  string `json:",omitempty"`
	Seconds float64
	// Fault is a hash of the fault, and Function one of the declarations that it
	// changes, as both were then: the result holds while they are the same.
	Fault, Function string
}

// cpuLimit is the processor time, in seconds, after which a package's tests count as
// failed: the unchanged ones take a tenth of it. How busy the machine is does not matter.
const cpuLimit = "240"

// limit ends tests that wait for ever.
const limit = 20 * time.Minute

// deviceVariable names the device under test to the packages that have one.
const deviceVariable = "TILEC_TEST_DEVICE"

// memoryLimit is the address space of a test in KiB: a fault may make a program that grows without end.
const memoryLimit = "16000000"

// test runs a package's tests and gives their output and whether they passed.
func (t *tree) test(pkg string) (output string, passed bool) { return t.testOnly(pkg, "") }

// testOnly runs those of a package's tests that a pattern matches; the empty one matches all.
func (t *tree) testOnly(pkg, pattern string) (output string, passed bool) {
	ctx, cancel := context.WithTimeout(context.Background(), 2*limit)
	defer cancel()
	pkg, emulated := strings.CutSuffix(pkg, onEmulator)
	script := `ulimit -v ` + memoryLimit + `; ulimit -t ` + cpuLimit + `; exec nice -n 10 go test -trimpath -ldflags=-w -vet=off -failfast -short -timeout ` + limit.String() + ` -run "$1" ./` + pkg
	cmd := exec.CommandContext(ctx, "sh", "-c", script, "sh", pattern)
	cmd.Dir = t.root
	if emulated {
		cmd.Env = append(os.Environ(), deviceVariable+"=emu")
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	out, err := cmd.CombinedOutput()
	return string(out), err == nil
}

// likeliest are the package and test to try first on a fault: what was written for it,
// what the list says, what noticed it before.
func likeliest(f *Fault, kept map[string]Result) string {
	return cmp.Or(added[f.ID], f.First, kept[f.ID].By)
}

// judge puts a fault into the tree and finds out whether the tests notice it, first the one named.
func (t *tree) judge(f *Fault, first string) Result {
	begin := time.Now()
	r := Result{ID: f.ID, Fault: f.hash()}
	var err error
	if r.Function, err = f.function(t.root); err != nil {
		r.Verdict, r.Detail = noApply, err.Error()
		return r
	}
	err = t.with(f, func(line int) {
		r.Line = line
		if p, test, ok := strings.Cut(first, " "); ok && slices.Contains(t.packages, p) && !strings.HasPrefix(test, "(") {
			if out, ok := t.testOnly(p, patternOf(test)); !ok {
				r.failed(p, out)
				return
			}
		}
		for _, p := range packagesFor(f, t.packages, t.every) {
			if out, ok := t.test(p); !ok {
				r.failed(p, out)
				return
			}
		}
		r.Verdict = missed
	})
	if err != nil {
		r.Verdict, r.Detail = noApply, err.Error()
	}
	if r.Verdict == missed && f.Equivalent != "" {
		r.Verdict = equivalent
	}
	r.Seconds = time.Since(begin).Seconds()
	return r
}

// failed notes what the tests of a package said, or the compiler before them.
func (r *Result) failed(pkg, output string) {
	r.Verdict, r.By, r.Detail = noticed, pkg+" "+failedTest(output), message(output)
	if strings.Contains(output, "[build failed]") {
		r.Verdict, r.By = noBuild, ""
	}
}

// patternOf matches one test, named as the tests name it, and what is in it.
func patternOf(test string) string {
	parts := strings.Split(test, "/")
	for i, p := range parts {
		parts[i] = "^" + regexp.QuoteMeta(p) + "$"
	}
	return strings.Join(parts, "/")
}

var failure = regexp.MustCompile(`(?m)^\s*--- FAIL: (\S+)`)

// failedTest is the innermost of the first tests that failed.
func failedTest(output string) string {
	last := ""
	for _, m := range failure.FindAllStringSubmatch(output, -1) {
		if last != "" && !strings.HasPrefix(m[1], last+"/") {
			break
		}
		last = m[1]
	}
	switch {
	case strings.Contains(output, "panic: test timed out"), strings.Contains(output, "signal: killed"):
		return "(too slow)"
	case last == "":
		return "(crash)"
	}
	return last
}

// message is the first line that says something.
func message(output string) string {
	for _, l := range strings.Split(output, "\n") {
		l = strings.TrimSpace(l)
		if l == "" || strings.HasPrefix(l, "#") || strings.HasPrefix(l, "---") || strings.HasPrefix(l, "Error Trace") {
			continue
		}
		if len(l) > 160 {
			l = l[:160]
		}
		return l
	}
	return ""
}
