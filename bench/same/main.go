// Command same compares what two builds of the compiler make of the same programs: for each kernel, size and target the
// plan, the PTX and the messages, byte for byte. It is for changes that must change nothing.
//
//	go run ./bench/same BASE          the commit BASE against the working tree
//	go run ./bench/same -v BASE       and the first line that differs, of each unit that does
//
// The programs are those of the working tree: the standard library, testdata, the tutorial's, and the workloads that are
// timed. Every kernel has its own sizes (@sizes), even ones, and odd ones. The exit code is 1 where a unit differs.
package main

import (
	"bytes"
	"flag"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/rogpeppe/go-internal/txtar"
	"golang.org/x/sync/errgroup"

	"tilec/bench"
	"tilec/jit"
	"tilec/typecheck/typed"
)

// targets have three instruction sets between them.
var targets = []string{"sm_80", "sm_89", "sm_90a"}

// even and odd are the sizes of a kernel's dimensions, by their order. Odd ones divide nothing.
var (
	even = []int64{256, 64, 128, 32, 16}
	odd  = []int64{5, 17, 129, 31, 3}
)

// unit is one call of the compiler.
type unit struct {
	file, kernel string
	args         []string
}

// String is the file, the kernel and the arguments on one line.
func (u unit) String() string {
	return strings.Join(append([]string{u.file, u.kernel}, u.args...), " ")
}

func main() {
	verbose := flag.Bool("v", false, "print the first line that differs of each unit")
	match := flag.String("kernel", "", "only kernels of this name")
	flag.Parse()
	if flag.NArg() != 1 {
		fmt.Fprintln(os.Stderr, "usage: go run ./bench/same [-v] [-kernel NAME] BASE")
		os.Exit(2)
	}
	different, err := compare(flag.Arg(0), *match, *verbose)
	if err != nil {
		fmt.Fprintln(os.Stderr, "same:", err)
		os.Exit(1)
	}
	if different > 0 {
		os.Exit(1)
	}
}

// compare builds both compilers and gives how many units differ.
func compare(base, match string, verbose bool) (different int, err error) {
	dir, err := os.MkdirTemp("", "same")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(dir)
	source := filepath.Join(dir, "base")
	if err := os.Mkdir(source, 0o755); err != nil {
		return 0, err
	}
	if err := command(".", "sh", "-c", `git archive "$1" | tar -x -C "$2"`, "sh", base, source); err != nil {
		return 0, err
	}
	before, now := filepath.Join(dir, "before"), filepath.Join(dir, "now")
	if err := command(source, "go", "build", "-o", before, "./cmd/tilec"); err != nil {
		return 0, err
	}
	if err := command(".", "go", "build", "-o", now, "./cmd/tilec"); err != nil {
		return 0, err
	}
	units, err := units(filepath.Join(dir, "programs"))
	if err != nil {
		return 0, err
	}
	if match != "" {
		units = slices.DeleteFunc(units, func(u unit) bool { return u.kernel != match })
	}
	found := make([]string, len(units))
	built := make([]bool, len(units))
	var g errgroup.Group
	g.SetLimit(runtime.GOMAXPROCS(0))
	for i, u := range units {
		g.Go(func() error {
			was, ok := run(before, u)
			is, _ := run(now, u)
			built[i], found[i] = ok, difference(was, is)
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		return 0, err
	}
	made := 0
	for i, u := range units {
		if built[i] {
			made++
		}
		if found[i] == "" {
			continue
		}
		different++
		fmt.Println("differs:", strings.Replace(u.String(), dir, "", 1))
		if verbose {
			fmt.Println(found[i])
		}
	}
	fmt.Printf("%d units, %d of them compile, %d differ from %s\n", len(units), made, different, base)
	return different, nil
}

func command(dir, name string, args ...string) error {
	cmd := exec.Command(name, args...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s %s: %w\n%s", name, strings.Join(args, " "), err, out)
	}
	return nil
}

// run gives all that a compiler says of a unit, and whether there is PTX.
func run(compiler string, u unit) (string, bool) {
	cmd := exec.Command(compiler, append([]string{"build", u.file, "--emit=ptx", "--kernel", u.kernel}, u.args...)...)
	cmd.Env = append(os.Environ(), "CUTILE_LOGS=plan", "TILEC_CACHE=off")
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	return out.String(), err == nil
}

// difference is the first line that differs, of both; "" where none does.
func difference(a, b string) string {
	if a == b {
		return ""
	}
	was, is := strings.Split(a, "\n"), strings.Split(b, "\n")
	for i := range was {
		if i >= len(is) || was[i] != is[i] {
			return fmt.Sprintf("  line %d was %q\n  and is   %q", i+1, was[i], strings.Join(is[min(i, len(is)):min(i+1, len(is))], ""))
		}
	}
	return fmt.Sprintf("  %d lines more", len(is)-len(was))
}

// units lists what is compiled; programs that lie in archives are written to a folder.
func units(folder string) ([]unit, error) {
	var files []string
	for _, root := range []string{"stdlib", "testdata", "docs"} {
		err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			switch filepath.Ext(path) {
			case ".tile":
				files = append(files, path)
			case ".txtar":
				more, err := unpack(path, filepath.Join(folder, path))
				files = append(files, more...)
				return err
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	var all []unit
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		program, ds := jit.Load(file, text, nil)
		if len(ds) > 0 {
			continue // a program with errors, on purpose
		}
		for _, k := range program.Kernels {
			if k.Decl == nil || k.Decl.Name.Place.Source.Path != file {
				continue // imported: its turn comes with its own file
			}
			all = append(all, ofKernel(file, k)...)
		}
	}
	workloads := filepath.Join(folder, "workloads.tile")
	if err := os.WriteFile(workloads, bench.Source(), 0o644); err != nil {
		return nil, err
	}
	program, err := bench.Program()
	if err != nil {
		return nil, err
	}
	for _, w := range bench.Workloads() {
		k, err := w.In(program)
		if err != nil {
			return nil, err
		}
		u := unit{file: workloads, kernel: w.Kernel}
		for _, t := range k.TypeParams {
			u.args = append(u.args, t.Name+"="+w.DType)
		}
		for _, given := range []map[string]int64{w.Sizes, w.Pins} {
			for _, name := range slices.Sorted(maps.Keys(given)) {
				u.args = append(u.args, fmt.Sprintf("%s=%d", name, given[name]))
			}
		}
		all = append(all, forTargets(u)...)
	}
	return all, nil
}

// unpack writes the programs of an archive.
func unpack(archive, folder string) (files []string, err error) {
	a, err := txtar.ParseFile(archive)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return nil, err
	}
	for _, f := range a.Files {
		if filepath.Ext(f.Name) != ".tile" || strings.Contains(f.Name, "/") {
			continue
		}
		path := filepath.Join(folder, f.Name)
		if err := os.WriteFile(path, f.Data, 0o644); err != nil {
			return nil, err
		}
		files = append(files, path)
	}
	return files, nil
}

// ofKernel is a kernel at its own sizes, at even and at odd ones, of wide and of narrow types.
func ofKernel(file string, k *typed.Kernel) []unit {
	var all []unit
	at := func(sizes []int64, dtype string) {
		u := unit{file: file, kernel: k.Name}
		for i, d := range k.Dims {
			u.args = append(u.args, fmt.Sprintf("%s=%d", d.Name, sizes[i%len(sizes)]))
		}
		for _, c := range k.Consts {
			u.args = append(u.args, c.Name+"=4")
		}
		for _, t := range k.TypeParams {
			u.args = append(u.args, t.Name+"="+dtype)
		}
		all = append(all, forTargets(u)...)
	}
	dtypes := []string{"f32"}
	if len(k.TypeParams) > 0 {
		dtypes = append(dtypes, "bf16")
	}
	for _, d := range dtypes {
		at(even, d)
		at(odd, d)
	}
	if len(k.SizeHints) > 0 {
		all = append(all, forTargets(unit{file: file, kernel: k.Name})...)
	}
	return all
}

func forTargets(u unit) []unit {
	var all []unit
	for _, t := range targets {
		v := u
		v.args = append(slices.Clone(u.args), "--target="+t)
		all = append(all, v)
	}
	return all
}
