package bug

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"sort"
	"strings"
)

// Bundle is what a report has beside the Error: who met it.
type Bundle struct {
	// Version and Build are the compiler's.
	Version, Build string
	// Args is the command line, Env what of the environment matters.
	Args, Env []string
	// Sources are texts that were read, beside those that the Error has.
	Sources []Source
}

// The files of a bundle.
const (
	reportFile = "report.txt"
	// IRFile is the kernel before the stage that failed.
	IRFile        = "kernel.ir"
	sourcesFolder = "sources"
)

// Save writes a folder with all that a report of the Error needs, in the folder dir, and gives its
// name: the report with versions, settings, command line and stack; the sources; and, where the Error
// has IR, that IR, from which `tilec build --from=ir` goes on.
func (b Bundle) Save(e *Error, dir string) (path string, err error) {
	if path, err = os.MkdirTemp(dir, "tilec-bug-"); err != nil {
		return "", err
	}
	defer func() {
		if err != nil { // half a report is worse than none
			os.RemoveAll(path)
			path = ""
		}
	}()
	all := append([]Source{}, e.Sources...)
	for _, s := range b.Sources {
		if !has(all, s.Path) {
			all = append(all, s)
		}
	}
	sort.Slice(all, func(i, j int) bool { return all[i].Path < all[j].Path })
	places := placesOf(all)
	if err := write(path, reportFile, b.report(e, path, all, places)); err != nil {
		return path, err
	}
	if e.IR != "" {
		if err := write(path, IRFile, e.Text()); err != nil {
			return path, err
		}
	}
	for i, s := range all {
		if err := write(path, places[i], s.Text); err != nil {
			return path, err
		}
	}
	return path, nil
}

func has(all []Source, path string) bool {
	for _, s := range all {
		if s.Path == path {
			return true
		}
	}
	return false
}

func write(dir, name, text string) error {
	path := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	return os.WriteFile(path, []byte(text), 0o600)
}

// placesOf gives each source a place in the bundle: as the sources lie to each other, so that imports still lead to them.
func placesOf(all []Source) []string {
	paths := make([]string, len(all))
	root := ""
	for i, s := range all {
		if isLibrary(s.Path) {
			continue
		}
		abs, err := filepath.Abs(s.Path)
		if err != nil {
			abs = s.Path
		}
		paths[i] = abs
		if dir := filepath.Dir(abs); root == "" {
			root = dir
		} else {
			for root != filepath.Dir(root) && !strings.HasPrefix(dir+string(filepath.Separator), root+string(filepath.Separator)) {
				root = filepath.Dir(root)
			}
		}
	}
	places := make([]string, len(all))
	for i, s := range all {
		rel, err := filepath.Rel(root, paths[i])
		if isLibrary(s.Path) || err != nil {
			rel = filepath.FromSlash(s.Path)
		}
		places[i] = filepath.Join(sourcesFolder, filepath.Clean(string(filepath.Separator)+rel))
	}
	return places
}

// isLibrary reports a source that is part of the compiler.
func isLibrary(path string) bool { return strings.HasPrefix(path, "std/") }

// Text is the IR before the stage that failed, with the settings as comments above it.
func (e *Error) Text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "// stage: %s\n", e.Stage)
	for _, s := range e.Settings {
		fmt.Fprintf(&b, "// %s: %s\n", s.Name, s.Value)
	}
	b.WriteString(e.IR)
	return b.String()
}

// ParseSettings reads the comments above the IR in a text, as Text writes them: those of a bundle, and none of other texts.
func ParseSettings(text string) []Setting {
	var all []Setting
	for line := range strings.Lines(text) {
		rest, ok := strings.CutPrefix(strings.TrimSpace(line), "//")
		if !ok {
			break
		}
		if name, value, ok := strings.Cut(rest, ": "); ok {
			all = append(all, Setting{strings.TrimSpace(name), strings.TrimSpace(value)})
		}
	}
	return all
}

func (b Bundle) report(e *Error, path string, all []Source, places []string) string {
	var t strings.Builder
	line := func(name, format string, args ...any) {
		fmt.Fprintf(&t, "%-11s %s\n", name, fmt.Sprintf(format, args...))
	}
	fmt.Fprintf(&t, "%v\n\n", e)
	line("tilec", "%s", b.Version)
	line("build", "%s", b.Build)
	line("machine", "%s %s/%s, %d cores", runtime.Version(), runtime.GOOS, runtime.GOARCH, runtime.NumCPU())
	if dir, err := os.Getwd(); err == nil {
		line("folder", "%s", filepath.ToSlash(dir))
	}
	line("args", "%q", b.Args)
	for _, v := range b.Env {
		line("env", "%s", v)
	}
	line("stage", "%s", e.Stage)
	if e.Kernel != "" {
		line("kernel", "%s", e.Kernel)
	}
	for _, s := range e.Settings {
		line(s.Name, "%s", s.Value)
	}
	for i, s := range all {
		line("source", "%s is %s", s.Path, filepath.ToSlash(places[i]))
	}
	if e.IR != "" {
		line("replay", "tilec build --from=ir %s", path)
	}
	fmt.Fprintf(&t, "\n%s", e.Stack)
	return t.String()
}
