package jit_test

import (
	"errors"
	"fmt"
	"go/ast"
	"go/doc"
	"go/parser"
	"go/token"
	"math"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tilec/jit"
	"tilec/jit/jittest/sweep"
)

// deviceMisuses are calls of the methods of one device that is nil, zero or closed, or on memory that it cannot use.
func deviceMisuses(kind string, d func(w *world) jit.Device, want error) []wrongUse {
	of := func(w *world) *jit.Memory { return w.memory }
	return []wrongUse{
		{"Device.Alloc", kind, func(w *world) error { return second(d(w).Alloc(4)) }, want},
		{"Device.Write", kind, func(w *world) error { return d(w).Write(of(w), 0, make([]byte, 4)) }, want},
		{"Device.Read", kind, func(w *world) error { return d(w).Read(make([]byte, 4), of(w), 0) }, want},
		{"Device.Fill", kind, func(w *world) error { return d(w).Fill(of(w), 0, 4, 0) }, want},
		{"Device.Poison", kind, func(w *world) error { d(w).Poison(); return nil }, nil},
		{"Device.Sync", kind, func(w *world) error { return d(w).Sync() }, want},
		{"Device.Free", kind, func(w *world) error { d(w).Free(of(w)); d(w).Free(nil); d(w).Free(&jit.Memory{}); return nil }, nil},
		{"Device.Close", kind, func(w *world) error { return errors.Join(d(w).Close(), d(w).Close()) }, nil},
		{"Device.Name", kind, func(w *world) error { _ = d(w).Name(); return nil }, nil},
		{"Device.ID", kind, func(w *world) error { _ = d(w).ID(); return nil }, nil},
		{"Device.Target", kind, func(w *world) error { d(w).Target(); return nil }, nil},
	}
}

// accessMisuses are copies to and from memory that cannot be.
func accessMisuses() []wrongUse {
	var all []wrongUse
	add := func(name string, kind error, m func(w *world) *jit.Memory, offset int64, n int) {
		all = append(all,
			wrongUse{"Device.Write", name, func(w *world) error { return w.device.Write(m(w), offset, make([]byte, n)) }, kind},
			wrongUse{"Device.Fill", name, func(w *world) error { return w.device.Fill(m(w), offset, int64(n), 1) }, kind},
			wrongUse{"Device.Read", name, func(w *world) error { return w.device.Read(make([]byte, n), m(w), offset) }, kind})
	}
	own := func(w *world) *jit.Memory { return w.memory }
	add("nil memory", jit.ErrUnset, func(*world) *jit.Memory { return nil }, 0, 4)
	add("zero memory", jit.ErrUnset, func(*world) *jit.Memory { return &jit.Memory{Size: 1 << 40} }, 0, 4)
	add("a negative offset", jit.ErrRange, own, -4, 4)
	add("the least offset", jit.ErrRange, own, math.MinInt64, 4)
	add("an offset beyond the end", jit.ErrRange, own, 65, 0)
	add("a length beyond the end", jit.ErrRange, own, 61, 4)
	add("an end that overflows", jit.ErrRange, own, math.MaxInt64, 4)
	add("freed memory", jit.ErrFreed, func(w *world) *jit.Memory { w.device.Free(w.memory); w.device.Free(w.memory); return w.memory }, 0, 4)
	add("memory of which the size was set", jit.ErrRange, func(w *world) *jit.Memory { w.memory.Size = 1 << 40; return w.memory }, 1<<30, 4)
	add("a negative size that was set", jit.ErrRange, func(w *world) *jit.Memory { w.memory.Size = -8; return w.memory }, 0, 4)
	add("memory of another device", jit.ErrOtherDevice, func(w *world) *jit.Memory {
		e, err := jit.OpenEmulator("sm_80")
		if err != nil {
			panic(err)
		}
		m, err := e.Alloc(64)
		if err != nil {
			panic(err)
		}
		return m
	}, 0, 4)
	for _, n := range []int64{-1, math.MinInt64, math.MaxInt64, 1 << 60} {
		all = append(all, wrongUse{"Device.Alloc", fmt.Sprint(n, " bytes"), func(w *world) error { return second(w.device.Alloc(n)) }, anyError})
	}
	return all
}

// No wrongUse panics, and each that can be is an error of its kind.
func TestMisuses(t *testing.T) {
	sweep.OnceEmulated(t)
	all := slices.Concat(misuses, accessMisuses())
	closed := func(w *world) jit.Device {
		if err := w.device.Close(); err != nil {
			panic(err)
		}
		return w.device
	}
	all = append(all, deviceMisuses("a nil CPU", func(*world) jit.Device { return (*jit.CPU)(nil) }, jit.ErrUnset)...)
	all = append(all, deviceMisuses("a zero CPU", func(*world) jit.Device { return new(jit.CPU) }, jit.ErrUnset)...)
	all = append(all, deviceMisuses("a nil emulator", func(*world) jit.Device { return (*jit.Emulator)(nil) }, jit.ErrUnset)...)
	all = append(all, deviceMisuses("a zero emulator", func(*world) jit.Device { return new(jit.Emulator) }, jit.ErrUnset)...)
	all = append(all, deviceMisuses("a nil GPU", func(*world) jit.Device { return (*jit.GPU)(nil) }, jit.ErrUnset)...)
	all = append(all, deviceMisuses("a zero GPU", func(*world) jit.Device { return new(jit.GPU) }, jit.ErrUnset)...)
	all = append(all, deviceMisuses("a closed device", closed, jit.ErrClosed)...)
	all = append(all,
		wrongUse{"Emulator.Record", "zero", func(*world) error { return second(new(jit.Emulator).Record(nil)) }, jit.ErrUnset},
		wrongUse{"GPU.Record", "zero", func(*world) error { return second(new(jit.GPU).Record(nil)) }, jit.ErrUnset},
		wrongUse{"NewMailbox", "no device", func(*world) error { return second(jit.NewMailbox(nil, 4, 4)) }, jit.ErrUnset},
		wrongUse{"NewMailbox", "a zero GPU", func(*world) error { return second(jit.NewMailbox(new(jit.GPU), 4, 4)) }, jit.ErrUnset},
		wrongUse{"NewMailbox", "no room", func(w *world) error { return second(jit.NewMailbox(w.device, 4, 0)) }, jit.ErrRange},
		wrongUse{"NewMailbox", "copies of nothing", func(w *world) error { return second(jit.NewMailbox(w.device, -4, 4)) }, jit.ErrRange},
		wrongUse{"GPU.NewMailbox", "zero", func(*world) error { return second(new(jit.GPU).NewMailbox(4, 4)) }, jit.ErrUnset},
		wrongUse{"GPU.TimeTasks", "zero", func(*world) error { return second(new(jit.GPU).TimeTasks(1, nil, nil)) }, jit.ErrUnset},
		wrongUse{"GPU.Record", "nil", func(*world) error { return second((*jit.GPU)(nil).Record(nil)) }, jit.ErrUnset})
	all = append(all, wrongUse{"GPU.Retarget", "zero", func(*world) error { return new(jit.GPU).Retarget("sm_80") }, jit.ErrUnset})
	for _, device := range misuseDevices() {
		for _, m := range all {
			t.Run(fmt.Sprintf("%s/%s/%s", device, m.of, m.name), func(t *testing.T) {
				w := freshWorld(t, device)
				var err error
				require.NotPanics(t, func() { err = m.do(w) })
				var arg *jit.ArgError
				var use *jit.UseError
				switch m.kind {
				case nil:
					require.NoError(t, err)
				case anyError:
					require.Error(t, err)
				case anyArgument:
					require.ErrorAs(t, err, &arg)
				default:
					require.ErrorIs(t, err, m.kind)
					if !errors.Is(m.kind, os.ErrNotExist) {
						require.True(t, errors.As(err, &use) || errors.As(err, &arg), "%T", err)
					}
				}
				var bug *jit.Bug
				assert.False(t, errors.As(err, &bug), "a misuse is no bug of the compiler: %v", err)
			})
		}
	}
}

// Every exported function and method has its misuses in the table.
func TestEveryFunctionHasItsMisuses(t *testing.T) {
	sweep.Once(t)
	tested := map[string]bool{"GPU.Retarget": true, "GPU.Record": true, "GPU.TimeTasks": true, "GPU.NewMailbox": true, "NewMailbox": true, "Emulator.Record": true}
	for _, m := range slices.Concat(misuses, accessMisuses(), deviceMisuses("", nil, nil)) {
		tested[m.of] = true
	}
	for _, d := range []string{"CPU", "Emulator", "GPU"} { // the methods of Device
		for _, m := range []string{"Alloc", "Free", "Write", "Read", "Fill", "Poison", "Sync", "Close", "Name", "ID", "Target"} {
			tested[d+"."+m] = tested["Device."+m]
		}
	}
	for _, name := range exported(t) {
		if strings.HasPrefix(name, "Bug.") || name == "NewBug" { // bug_test.go
			continue
		}
		assert.True(t, tested[name], "%s has no misuse in the table", name)
	}
}

// rooms are the packages whose types package jit gives other names, and what it calls them.
var rooms = []struct{ folder, typ, name string }{
	{"backend", "Memory", "Memory"},
	{"backend/cpu", "Device", "CPU"},
	{"backend/emulator", "Device", "Emulator"},
	{"backend/nvidia", "Device", "GPU"},
	{"log", "Logs", "Logs"},
	{"backend", "Arena", "Arena"},
	{"tensor", "Tensor", "Tensor"},
	{"run", "Program", "Program"},
}

// inner are the methods that back ends and the rest of the compiler have for each other, which callers have no use for.
var inner = []string{"State", "Space", "Poisons", "Undefine", "Compile", "Room", "Time", "Wrap", "Capturing",
	"Logs.Dump", "Arena.Reserve", "Tensor.Misuse", "Tensor.Place", "Tensor.Divisor", "Tensor.GivenStrides", "Memory.Free", "Memory.Release", "Memory.Shares", "Memory.Start", "Memory.Bytes", "Memory.Address", "Memory.Within", "Memory.Misuse", "Memory.Access"}

// tools are the packages whose functions commands call to look into the compiler; inner are for the compiler itself.
var tools = []struct {
	folder string
	inner  []string
}{
	{"compile", []string{"All", "KnownPins", "PinsOf", "SizesOf", "Spent", "TextOf"}},
	{"build", []string{"AlongOne", "CollapseRows", "CollapseSums", "Kernel", "Simplify", "Takes"}},
}

// exported lists the exported functions and methods of the package, and the methods of the types of other rooms that it names.
func exported(t *testing.T) []string {
	own := documented(t, ".")
	var names []string
	for _, f := range own.Funcs {
		names = append(names, f.Name)
	}
	for _, x := range own.Types {
		for _, f := range x.Funcs {
			names = append(names, f.Name)
		}
		for _, m := range x.Methods {
			names = append(names, x.Name+"."+m.Name)
		}
	}
	for _, r := range rooms {
		for _, x := range documented(t, r.folder).Types {
			for _, m := range x.Methods {
				name := r.name + "." + m.Name
				if x.Name == r.typ && !slices.Contains(inner, m.Name) && !slices.Contains(inner, name) {
					names = append(names, name)
				}
			}
		}
	}
	for _, r := range tools {
		for _, f := range documented(t, r.folder).Funcs {
			if !slices.Contains(r.inner, f.Name) {
				names = append(names, f.Name)
			}
		}
	}
	require.Greater(t, len(names), 80)
	return names
}

// documented is what a package exports.
func documented(t *testing.T, folder string) *doc.Package {
	files, err := os.ReadDir(folder)
	require.NoError(t, err)
	set := token.NewFileSet()
	var parsed []*ast.File
	for _, f := range files {
		if strings.HasSuffix(f.Name(), ".go") && !strings.HasSuffix(f.Name(), "_test.go") {
			tree, err := parser.ParseFile(set, filepath.Join(folder, f.Name()), nil, parser.ParseComments)
			require.NoError(t, err)
			parsed = append(parsed, tree)
		}
	}
	p, err := doc.NewFromFiles(set, parsed, path.Join("tilec/jit", folder))
	require.NoError(t, err)
	return p
}
