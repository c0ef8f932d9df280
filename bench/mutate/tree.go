package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
)

// tree is a copy of the repository to change and test.
type tree struct {
	root string
	// packages are those with tests, without the module's name, as "jit/ptx"; with
	// onEmulator at the end where the tests run on another device.
	packages []string
	// every: all packages are tested, not only those of the fault's folder.
	every bool
	// origin is where the sources are without faults, put the faults that are in the
	// tree together, switched off, and sound whether a test passes without any of them.
	origin string
	put    map[string]bool
	sound  map[string]bool

	building, judging sync.Mutex
}

// self is this folder: the list of faults has every fault's original text in it and is not tested.
const self = "bench/mutate"

// onEmulator marks tests of a package that are to run on the emulator.
const onEmulator = "@emu"

// copyTree copies what is committed to a new folder. Files that are being edited
// in the working tree are not part of it.
func copyTree(from, to string) (*tree, error) {
	if err := os.MkdirAll(to, 0o755); err != nil {
		return nil, err
	}
	script := `git -C "$1" archive HEAD | tar -x -C "$2"`
	if out, err := exec.Command("sh", "-c", script, "sh", from, to).CombinedOutput(); err != nil {
		return nil, fmt.Errorf("copying the repository: %w: %s", err, out)
	}
	t := &tree{root: to, origin: to, sound: map[string]bool{}}
	cmd := exec.Command("go", "list", "-f", "{{if or .TestGoFiles .XTestGoFiles}}{{.ImportPath}}{{end}}", "./...")
	cmd.Dir = to
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("listing packages: %w", err)
	}
	for _, p := range strings.Fields(string(out)) {
		if _, rest, ok := strings.Cut(p, "/"); ok && rest != self {
			t.packages = append(t.packages, rest)
			if rest == "jit" || rest == "jit/conformance" || rest == "stdlib" {
				t.packages = append(t.packages, rest+onEmulator)
			}
		}
	}
	return t, nil
}

// with runs do, told the line, while a fault is in the tree.
func (t *tree) with(f *Fault, do func(line int)) error {
	path := filepath.Join(t.root, f.File)
	source, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	changed, line, err := f.apply(string(source))
	if err != nil {
		return err
	}
	if err := os.WriteFile(path, []byte(changed), 0o644); err != nil {
		return err
	}
	do(line)
	return os.WriteFile(path, source, 0o644)
}
