package main

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"tilec/jit"
	"tilec/jit/cache"
	"tilec/jit/cuda"
)

func (a *app) doctorCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Look whether this machine can compile and run kernels",
		Long: `Doctor runs a small kernel on every device at hand and compares what it gives, and reports the versions, the driver and what
assembles for it, the memory, and the cache of compiled kernels. The exit code is 1 when a device that is there cannot run
the kernel: no device to run on at all, then, or a GPU that does not work.`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error { return a.doctor() },
	}
	a.jsonFlag(cmd.Flags(), "print one JSON object instead of text")
	return cmd
}

// diagnosis is what `tilec doctor` finds, as --json prints it.
type diagnosis struct {
	// OK says that every device runs the starter kernel.
	OK      bool   `json:"ok"`
	Version string `json:"version"`
	System  string `json:"system"`
	Cores   int    `json:"cores"`
	// Memory is the machine's, in bytes; 0 where the system does not say.
	Memory    int64             `json:"memory"`
	Driver    found             `json:"driver"`
	Assembler found             `json:"assembler"`
	Cache     cacheDiagnosis    `json:"cache"`
	Devices   []deviceDiagnosis `json:"devices"`
}

// found is a part of the machine that may be missing.
type found struct {
	Version string `json:"version,omitempty"`
	Path    string `json:"path,omitempty"`
	// Missing is why there is none; empty where it was found.
	Missing string `json:"missing,omitempty"`
}

// String is where it was found, or what is missing.
func (f found) String() string {
	if f.Missing != "" {
		return f.Missing
	}
	return strings.TrimSpace(f.Version + " " + f.Path)
}

// cacheDiagnosis is the state of the cache of compiled kernels.
type cacheDiagnosis struct {
	// Folder is empty where nothing is kept.
	Folder  string `json:"folder,omitempty"`
	Entries int    `json:"entries"`
	Bytes   int64  `json:"bytes"`
	// Problem is why nothing is kept, or why the folder cannot be read.
	Problem string `json:"problem,omitempty"`
}

// String is what is said of the cache, on a line.
func (c cacheDiagnosis) String() string {
	switch {
	case c.Folder == "" && c.Problem == "":
		return fmt.Sprintf("off, by %s", cache.DirVariable)
	case c.Problem != "":
		return strings.TrimSpace(c.Folder + " " + c.Problem)
	}
	return fmt.Sprintf("%s, %s in %s", c.Folder, jit.FormatBytes(c.Bytes), entries(c.Entries))
}

// entries is "1 entry", "2 entries".
func entries(n int) string {
	if n == 1 {
		return "1 entry"
	}
	return fmt.Sprintf("%d entries", n)
}

// deviceDiagnosis is how one device does.
type deviceDiagnosis struct {
	Device string `json:"device"`
	Name   string `json:"name,omitempty"`
	// Memory and Free are in bytes; 0 where the device does not know.
	Memory int64 `json:"memory,omitempty"`
	Free   int64 `json:"free,omitempty"`
	// Problem is why the device does not run the starter kernel; empty where it does.
	Problem string `json:"problem,omitempty"`
}

// String is what is said of a device, on a line.
func (d deviceDiagnosis) String() string {
	text := "works"
	if d.Problem != "" {
		text = "DOES NOT WORK: " + d.Problem
	}
	if d.Memory > 0 {
		text += fmt.Sprintf(", %s of %s free", jit.FormatBytes(d.Free), jit.FormatBytes(d.Memory))
	}
	return text
}

// doctor looks at this machine and prints what it finds.
func (a *app) doctor() error {
	d := a.diagnose()
	if a.json {
		if err := a.printJSON(d); err != nil {
			return err
		}
	} else if err := d.print(a); err != nil {
		return err
	}
	if !d.OK {
		return errReported
	}
	return nil
}

func (d diagnosis) print(a *app) error {
	memory := "unknown"
	if d.Memory > 0 {
		memory = jit.FormatBytes(d.Memory)
	}
	t := tabwriter.NewWriter(a.stdout, 0, 0, 3, ' ', 0)
	for _, row := range [][2]string{
		{"version", d.Version},
		{"machine", fmt.Sprintf("%s, %s, memory %s", d.System, plural(d.Cores, "core"), memory)},
		{"driver", d.Driver.String()},
		{"assembler", d.Assembler.String()},
		{"cache", d.Cache.String()},
	} {
		fmt.Fprintf(t, "%s\t%s\n", row[0], row[1])
	}
	for _, x := range d.Devices {
		name := x.Device
		if x.Name != "" {
			name += ", " + x.Name
		}
		fmt.Fprintf(t, "device\t%s: %s\n", name, x)
	}
	return t.Flush()
}

// diagnose looks at this machine.
func (a *app) diagnose() diagnosis {
	d := diagnosis{Version: versionText(), System: runtime.GOOS + "/" + runtime.GOARCH, Cores: runtime.GOMAXPROCS(0), Memory: jit.HostMemory(), Cache: diagnoseCache()}
	names := []string{"cpu", "emu"}
	driver, err := cuda.Open()
	switch {
	case err != nil:
		d.Driver.Missing = err.Error()
	case len(driver.Devices()) == 0:
		d.Driver.Missing = fmt.Sprintf("the driver (%s) sees no GPU", cudaVersion(driver))
	default:
		d.Driver.Version = cudaVersion(driver)
		for _, g := range driver.Devices() {
			names = append(names, fmt.Sprintf("cuda:%d", g.Ordinal))
		}
	}
	d.Assembler = findAssembler(driver)
	d.OK = true
	for _, name := range names {
		x := a.diagnoseDevice(name)
		d.Devices, d.OK = append(d.Devices, x), d.OK && x.Problem == ""
	}
	return d
}

func cudaVersion(d *cuda.Driver) string {
	return fmt.Sprintf("CUDA %d.%d", d.Version()/1000, d.Version()%1000/10)
}

// findAssembler finds what makes machine code of PTX ahead of loading: the driver's compiler, and otherwise ptxas. The driver is nil where there is none.
func findAssembler(driver *cuda.Driver) found {
	if driver != nil {
		if c, err := driver.FindDriverCompiler(); err == nil {
			return found{Version: "the driver's compiler, " + c.Version()}
		}
	}
	p, err := cuda.FindAssembler()
	if err != nil {
		return found{Missing: err.Error()}
	}
	return found{Version: "ptxas " + p.Version(), Path: p.Path}
}

func diagnoseCache() cacheDiagnosis {
	c := cache.Open("")
	d := cacheDiagnosis{Folder: c.Dir()}
	err := c.Warn()
	if err == nil {
		d.Entries, d.Bytes, err = c.Size()
	}
	if err != nil {
		d.Problem = err.Error()
	}
	return d
}

// diagnoseDevice runs the tests of the starter kernel on a device.
func (a *app) diagnoseDevice(name string) deviceDiagnosis {
	x := deviceDiagnosis{Device: name}
	d, err := jit.OpenDevice(name)
	if err != nil {
		x.Problem = err.Error()
		return x
	}
	defer d.Close()
	x.Device = d.ID()
	x.Name = d.Name()
	if free, total, ok := jit.Room(d); ok {
		x.Free, x.Memory = free, total
	}
	if err := a.runStarter(d); err != nil {
		x.Problem = err.Error()
	}
	return x
}

// runStarter runs the tests of the starter kernel; an error says what is wrong with what they gave.
func (a *app) runStarter(d jit.Device) error {
	compiler := jit.NewCompiler(d, a.logs)
	compiler.Output = a.stderr
	m, err := compiler.Load(starterName, starter)
	if err != nil {
		return err
	}
	for _, t := range m.Program.Tests {
		failures, err := compiler.RunTest(t, jit.Options{})
		if err != nil {
			return err
		}
		if len(failures) > 0 {
			return errors.New("a small kernel gave something else than it must: " + strings.Join(failures[0].Text(), " "))
		}
	}
	return nil
}
