package backend

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"tilec/jit/block"
	"tilec/jit/cache"
	"tilec/jit/cpu"
	"tilec/jit/ir"
	"tilec/jit/plan"
	"tilec/jit/ptx"
	"tilec/jit/target"
)

// Code is a kernel as a device gets it: planned, and in the form that its target takes.
type Code struct {
	Func *ir.Func
	Plan *plan.Plan
	// PTX is nil where the target runs the IR itself.
	PTX *ptx.Module
}

// Make gives a planned kernel the form that the target takes, or finds it in the cache; nil for none. The error is a
// *plan.SharedError where the plan does not fit.
func Make(f *ir.Func, p *plan.Plan, t target.Machine, store *cache.Cache) (*Code, error) {
	c := &Code{Func: f, Plan: p}
	var err error
	if t.TakesPTX() {
		c.PTX, err = emitPTX(f, p, t, store)
	}
	if err != nil {
		return nil, err
	}
	return c, nil
}

// Check reports code that the target would refuse, which for one that takes PTX has shown already.
func (c *Code) Check() error {
	if c.PTX != nil {
		return nil
	}
	_, err := cpu.Compile(c.Func)
	return err
}

// Decided is what was decided of a block of threads before its code was written; nil where the target runs the IR itself.
func (c *Code) Decided(t target.Machine) (*block.Program, error) {
	if c.PTX == nil {
		return nil, nil
	}
	return ptx.Decide(c.Func, c.Plan, t)
}

// Form is which form the code has of several that give the same values, by the name of a setting (lang.Forms): 1 for the plain one.
func (c *Code) Form(name string, t target.Machine) int64 {
	if c.PTX == nil {
		return 1
	}
	p, err := ptx.Decide(c.Func, c.Plan, t)
	if err != nil {
		return 1
	}
	return p.Form(name)
}

// Split is over how many blocks of a cluster an axis is divided; 0 where none is.
func (c *Code) Split() int {
	if c.PTX == nil {
		return 0
	}
	return c.PTX.Split
}

// Hinted says what became of the hint of an access, where the target takes hints.
func (c *Code) Hinted(access *ir.Op) (effect string, ok bool) {
	if c.PTX == nil {
		return "", false
	}
	return c.PTX.Hinted[access], true
}

// Shared is the shared memory of a block in bytes, and what takes it where it is fullest, a line each.
func (c *Code) Shared() (bytes int, buffers []string) {
	if c.PTX == nil {
		return 0, nil
	}
	return c.PTX.Shared, c.PTX.Buffers
}

// emitPTX makes PTX of planned IR, or finds it in the cache.
func emitPTX(f *ir.Func, p *plan.Plan, t target.Machine, store *cache.Cache) (*ptx.Module, error) {
	if store == nil {
		return ptx.Compile(f, p, t)
	}
	settings := *p
	settings.Why = nil
	decided, err := json.Marshal(settings)
	if err != nil {
		return nil, err
	}
	key := cache.NewKey("ptx").Add("target", fmt.Sprintf("%+v", t)).AddBytes("plan", decided).Add("ir", f.String()).Add("lines", sourceLines(f)).Sum()
	var kept storedModule
	if data, ok := store.Get(key); ok && json.Unmarshal(data, &kept) == nil {
		m := &ptx.Module{Text: kept.Text, Entry: kept.Entry, Threads: kept.Threads, Shared: kept.Shared, Cluster: kept.Cluster,
			Split: kept.Split, ForOne: kept.ForOne, Most: kept.Most, Buffers: kept.Buffers, Hinted: kept.hinted(f), Maps: kept.tensorMaps(f)}
		m.Of(f, p.Once)
		return m, nil
	}
	m, err := ptx.Compile(f, p, t)
	if err != nil {
		return nil, err
	}
	if data, err := json.Marshal(storedModule{m.Text, m.Entry, m.Threads, m.Shared, m.Cluster, m.Split, m.ForOne, m.Most, m.Buffers, effects(f, m), keptMaps(f, m)}); err == nil {
		store.Put(key, data)
	}
	return m, nil
}

// sourceLines is where in the sources the operations come from: PTX says it, and the text of the IR does not.
func sourceLines(f *ir.Func) string {
	var b strings.Builder
	f.Walk(func(op *ir.Op) bool {
		if op.At.IsValid() {
			line, _ := op.At.Position()
			fmt.Fprintf(&b, "%s:%d\n", op.At.Source.Path, line)
		}
		return true
	})
	return b.String()
}

// storedModule is what the cache keeps of a ptx.Module; the rest is the kernel's own.
type storedModule struct {
	Text, Entry                     string
	Threads, Shared, Cluster, Split int
	ForOne                          int
	Most                            int
	Buffers                         []string
	// Effects are of the hints of accesses, in the order of the IR.
	Effects []string
	Maps    []keptMap
}

// keptMap is a tensor map with its tensor by number.
type keptMap struct {
	block.TensorMap
	Number int
}

func keptMaps(f *ir.Func, m *ptx.Module) []keptMap {
	var kept []keptMap
	for _, t := range m.Maps {
		c := keptMap{*t, slices.Index(f.Tensors, t.Tensor)}
		c.Tensor = nil
		kept = append(kept, c)
	}
	return kept
}

func (s *storedModule) tensorMaps(f *ir.Func) []*block.TensorMap {
	var maps []*block.TensorMap
	for _, c := range s.Maps {
		t := c.TensorMap
		t.Tensor = f.Tensors[c.Number]
		maps = append(maps, &t)
	}
	return maps
}

func effects(f *ir.Func, m *ptx.Module) []string {
	var texts []string
	f.Walk(func(op *ir.Op) bool {
		if op.Hint.Given() {
			texts = append(texts, m.Hinted[op])
		}
		return true
	})
	return texts
}

// hinted gives the effects back to the accesses of the same kernel.
func (s *storedModule) hinted(f *ir.Func) map[*ir.Op]string {
	m := map[*ir.Op]string{}
	texts := s.Effects
	f.Walk(func(op *ir.Op) bool {
		if op.Hint.Given() && len(texts) > 0 {
			m[op], texts = texts[0], texts[1:]
		}
		return true
	})
	return m
}
