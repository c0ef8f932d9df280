package main

import (
	"cmp"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"time"

	"tilec/jit/jittest/sweep"
)

// Verdicts on a fault.
const (
	noticed    = "noticed"
	missed     = "missed"
	equivalent = "equivalent"
	noBuild    = "does not build"
	noApply    = "does not apply"
	noSound    = "a test fails without it"
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

// test runs those of a package's tests that a pattern matches, the empty one all, with one
// of the faults that are in the tree together, or none: it gives their output and whether they passed.
func (t *tree) test(pkg, pattern, fault string) (output string, passed bool) {
	ctx, cancel := context.WithTimeout(context.Background(), 2*limit)
	defer cancel()
	pkg, emulated := strings.CutSuffix(pkg, onEmulator)
	binary := filepath.Join(t.root, "tests", strings.ReplaceAll(pkg, "/", "_")+".test")
	if out, ok := t.build(ctx, pkg, binary); !ok {
		return out, false
	}
	script := `ulimit -v ` + memoryLimit + `; ulimit -t ` + cpuLimit + `; cd "$3" && exec nice -n 10 "$1" -test.failfast -test.short -test.timeout ` + limit.String() + ` -test.run "$2"`
	cmd := exec.CommandContext(ctx, "sh", "-c", script, "sh", binary, pattern, pkg)
	cmd.Dir = t.root
	cmd.Env = append(os.Environ(), faultVariable+"="+fault, sweep.Variable+"=1") // what a sample leaves out counts too
	if emulated {
		cmd.Env = append(cmd.Env, deviceVariable+"=emu")
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	out, err := cmd.CombinedOutput()
	return string(out), err == nil
}

// buildFailed marks the output of tests that do not build.
const buildFailed = "[build failed]"

// build makes the binary of a package's tests; once, where the sources stay as they are.
func (t *tree) build(ctx context.Context, pkg, binary string) (output string, built bool) {
	t.building.Lock()
	defer t.building.Unlock()
	if _, err := os.Stat(binary); err == nil && len(t.put) > 0 {
		return "", true
	}
	cmd := exec.CommandContext(ctx, "nice", "-n", "10", "go", "test", "-c", "-trimpath", "-ldflags=-w", "-vet=off", "-o", binary, "./"+pkg)
	cmd.Dir = t.root
	out, err := cmd.CombinedOutput()
	return string(out) + buildFailed, err == nil
}

// passesWithout reports whether a test that noticed a fault passes when no fault is put:
// a test that fails anyway, or by chance, notices nothing.
func (t *tree) passesWithout(pkg, output string) bool {
	top, _, _ := strings.Cut(failedTest(output), "/")
	if strings.HasPrefix(top, "(") {
		return true
	}
	key := pkg + " " + top
	t.judging.Lock()
	sound, known := t.sound[key]
	t.judging.Unlock()
	if !known {
		_, sound = t.test(pkg, patternOf(top), "")
		t.judging.Lock()
		t.sound[key] = sound
		t.judging.Unlock()
	}
	return sound
}

// likeliest are the package and test to try first on a fault: what was written for it,
// what the list says, what noticed it before.
func likeliest(f *Fault, kept map[string]Result) string {
	return cmp.Or(added[f.ID], f.First, kept[f.ID].By)
}

// judge puts a fault into the tree and finds out whether the tests notice it: first the one
// named, and unless that is all, then those of every package.
func (t *tree) judge(f *Fault, first string, firstOnly bool) Result {
	begin := time.Now()
	r := Result{ID: f.ID, Fault: f.hash()}
	var err error
	if r.Function, err = f.function(t.origin); err != nil {
		r.Verdict, r.Detail = noApply, err.Error()
		return r
	}
	if t.put[f.ID] {
		r.Line = f.line(t.origin)
		t.try(f, &r, first, firstOnly)
	} else if err = t.with(f, func(line int) {
		r.Line = line
		t.try(f, &r, first, firstOnly)
	}); err != nil {
		r.Verdict, r.Detail = noApply, err.Error()
	}
	if !firstOnly && r.Verdict == missed && f.Equivalent != "" { // after all tests
		r.Verdict = equivalent
	}
	r.Seconds = time.Since(begin).Seconds()
	return r
}

// try runs the tests with a fault that is in the tree until one notices it.
func (t *tree) try(f *Fault, r *Result, first string, firstOnly bool) {
	fails := func(pkg, pattern string) bool {
		out, ok := t.test(pkg, pattern, f.ID)
		switch {
		case ok:
			return false
		case strings.Contains(out, buildFailed):
			r.Verdict, r.Detail = noBuild, message(out)
		case t.put[f.ID] && !t.passesWithout(pkg, out):
			r.Verdict, r.Detail = noSound, pkg+" "+failedTest(out)
		default:
			r.Verdict, r.By, r.Detail = noticed, pkg+" "+failedTest(out), message(out)
		}
		return true
	}
	if p, test, ok := strings.Cut(first, " "); ok && slices.Contains(t.packages, p) && !strings.HasPrefix(test, "(") && fails(p, patternOf(test)) {
		return
	}
	for _, p := range packagesFor(f, t.packages, t.every) {
		if !firstOnly && fails(p, "") {
			return
		}
	}
	r.Verdict = missed
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
