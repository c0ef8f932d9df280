// Package compile makes a kernel ready to be launched: specialisation to IR, passes, plan, code, device. It must not know
// graphs, arguments and runs.
package compile

import (
	"fmt"
	"runtime"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"tilec/jit/backend"
	"tilec/jit/bug"
	"tilec/jit/cache"
	"tilec/jit/ir"
	"tilec/jit/log"
	"tilec/jit/plan"
	"tilec/jit/spec"
	"tilec/jit/target"
)

// Compiler compiles kernels for one device and keeps what it compiled. It is
// safe for concurrent use.
type Compiler struct {
	Device backend.Device
	// Logs prints stages; nil prints none.
	Logs *log.Logs
	// Debug checks what assumes say of tiles, as asserts do.
	Debug bool
	// Timed makes the launches of graphs on a GPU leave when they began and ended (Program.Times).
	Timed bool
	// Cache holds compiled code between runs; nil for none.
	Cache *cache.Cache
	// Form, where it is set, may give the IR that is to run of a specialisation, in place of what the passes make of it;
	// nil leaves that as it is. It serves to find a pass that is wrong: see Forms.
	Form func(s *spec.Spec) *ir.Func

	// Wide is Spec.Wide.
	Wide bool
	// Extents is that of Spec.
	Extents func(kernel string, open map[string][]int64) map[string]int64

	mu          sync.Mutex
	kernels     map[compiledKey]*entry
	predictions map[compiledKey]prediction
	spent       time.Duration
}

// compiledKey is a specialisation for a device and its target, which may be set to others.
type compiledKey struct {
	space  any
	target string
	spec.Key
}

type entry struct {
	once     sync.Once
	compiled *Compiled
	err      error
}

// Compiled is a specialised kernel, planned and ready to launch.
type Compiled struct {
	// Func is the IR as the backend got it.
	Func *ir.Func
	Plan *plan.Plan

	Dims   *spec.LaunchDims
	Exe    backend.Executable
	Params []ir.Param // of Func, in order
	// uncut is the kernel as it was before it was cut as the plan says.
	uncut *ir.Func
	// TensorParam gives, for each tensor of Func, its place among the kernel's parameters.
	TensorParam []int
}

// Spent is the wall-clock time that a compiler has spent so far.
func Spent(c *Compiler) time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.spent
}

// All compiles specialisations for a device, several at once, and gives them in order.
func All(c *Compiler, specs []*spec.Spec, d backend.Device) ([]*Compiled, error) {
	begin := time.Now()
	out := make([]*Compiled, len(specs))
	var g errgroup.Group
	g.SetLimit(runtime.GOMAXPROCS(0))
	for i, s := range specs {
		g.Go(func() (err error) {
			out[i], err = c.compile(s, d)
			return err
		})
	}
	err := g.Wait()
	c.mu.Lock()
	c.spent += time.Since(begin)
	c.mu.Unlock()
	return out, err
}

func (c *Compiler) compile(s *spec.Spec, d backend.Device) (*Compiled, error) {
	key := compiledKey{d.Space(), d.Target().Name, s.Key()}
	c.mu.Lock()
	if c.kernels == nil {
		c.kernels = map[compiledKey]*entry{}
	}
	e := c.kernels[key]
	if e == nil {
		e = &entry{}
		c.kernels[key] = e
	}
	c.mu.Unlock()
	e.once.Do(func() { e.compiled, e.err = c.build(s, d) })
	return e.compiled, e.err
}

func (c *Compiler) form(s *spec.Spec) *ir.Func {
	if c.Form == nil {
		return nil
	}
	return c.Form(s)
}

// compileFor is Device.compile; a panic is an error.
func compileFor(d backend.Device, l *Lowered, c *Compiler) (_ backend.Executable, err error) {
	defer bug.Catch(&err, "compile")
	return d.Compile(l.Code, backend.Tools{Logs: c.Logs, Cache: c.Cache})
}

func (c *Compiler) build(s *spec.Spec, d backend.Device) (out *Compiled, err error) {
	var l *Lowered
	if f := c.form(s); f != nil {
		l, err = lowerForm(s, f, d.Target())
	} else {
		l, err = lower(s, d.Target(), lowering{logs: c.Logs, dump: c.Logs.Dump(), store: c.Cache})
	}
	if err != nil {
		return nil, err
	}
	out = &Compiled{Func: l.Func, Plan: l.Plan, Dims: l.dims, Params: l.Func.Params(), uncut: l.uncut}
	for i, p := range s.Params() {
		if p.IsTensor {
			out.TensorParam = append(out.TensorParam, i)
		}
	}
	out.TensorParam = append(out.TensorParam, l.dims.Views...)
	watch := c.Logs.Stopwatch("compile", s.Name())
	if out.Exe, err = compileFor(d, l, c); err != nil {
		return nil, fmt.Errorf("compiling %s: %w", s.Kernel.Name, bug.In(err, func(e *bug.Error) { l.about(e, s) }))
	}
	watch.Lap("code")
	return out, nil
}

// Work is what a launch has to do at least.
func (c *Compiled) Work(s *spec.Spec, t target.Machine) plan.Work {
	return plan.WorkOf(c.uncut, t, func(d *ir.Dim) int64 {
		n, err := c.Dims.Size(d, s)
		if err != nil {
			return 1
		}
		return n
	}, c.Plan)
}
