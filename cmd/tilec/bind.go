package main

import (
	"fmt"
	"maps"
	"strconv"
	"strings"
	"sync/atomic"

	"tilec/gpt"
	"tilec/jit"
	"tilec/lang"
	"tilec/typecheck/size"
	"tilec/typecheck/typed"
)

// binding is what the command line gives a callable: the values of its symbols,
// and the arrays and scalars of its parameters.
type binding struct {
	to   *jit.Function
	seed uint64
	// note tells the user what was chosen for him.
	note func(format string, args ...any)

	values map[string]*argument // by path
	arrays map[string]*array    // those with a known shape, by path
	dims   map[*size.Symbol]int64
	consts map[*size.Symbol]lang.Literal
	types  map[*typed.TypeParam]lang.DType
	// given are the dimensions that the command line gives by name.
	given  map[string]int64
	pins   map[string]int64
	hinted map[*size.Symbol]bool
	// filled is what a checkpoint gives; nil without one.
	filled *gpt.Filled
	// making makes the elements of arrays that have none yet, of which there are so many elements; made counts those that are there.
	making   []func()
	elements int64
	made     atomic.Int64
	// working shows how far that is, until what it gives is called; nil where nobody looks.
	working func(text func() string) (stop func())
	// bytes counts the memory of the arrays so far.
	bytes int64
}

func newBinding(to *jit.Function, seed uint64, note func(string, ...any)) *binding {
	return &binding{
		to: to, seed: seed, note: note,
		values: map[string]*argument{}, arrays: map[string]*array{},
		dims: map[*size.Symbol]int64{}, consts: map[*size.Symbol]lang.Literal{},
		types: map[*typed.TypeParam]lang.DType{}, given: map[string]int64{}, pins: map[string]int64{},
		hinted: map[*size.Symbol]bool{},
	}
}

// options are the parts of the binding that the compiler takes by name.
func (b *binding) options(precision string) jit.Options {
	o := jit.Options{Dims: b.known(), Consts: map[string]lang.Literal{}, Types: map[string]lang.DType{}, Pins: b.pins, Precision: precision}
	for s, v := range b.consts {
		o.Consts[s.Name] = v
	}
	for p, d := range b.types {
		o.Types[p.Name] = d
	}
	return o
}

// known are the dimensions that no array tells.
func (b *binding) known() map[string]int64 {
	dims := maps.Clone(b.given)
	for s := range b.hinted {
		dims[s.Name] = b.dims[s]
	}
	return dims
}

// args are the arguments of the call; what the command line leaves out is made up, and said.
func (b *binding) args(precision string) (jit.Args, error) {
	args := jit.Args{"@precision": precision}
	for _, p := range b.to.Params {
		if v, ok := b.fromModel(p.Name); ok {
			args[p.Name] = v
			continue
		}
		v, err := b.input(p.Name, p.Type, p)
		if err != nil {
			return nil, err
		}
		args[p.Name] = v
	}
	b.makeElements()
	for name, n := range b.known() {
		args[name] = n
	}
	for s, v := range b.consts {
		args[s.Name] = v
	}
	for p, d := range b.types {
		args[p.Name] = d
	}
	for name, n := range b.pins {
		args[name] = n
	}
	return args, nil
}

// fill takes what the checkpoint of a folder gives; the command line wins where it names a scalar or a constant.
func (b *binding) fill(dir string, device jit.Device) (*gpt.Filled, error) {
	if inPage {
		return nil, notInPage("--model")
	}
	ckpt, err := gpt.OpenWeights(dir)
	if err != nil {
		return nil, err
	}
	defer ckpt.Close()
	for path := range b.values {
		if t, ok := b.to.Leaf(strings.FieldsFunc(path, func(r rune) bool { return r == '.' || r == '[' })[0]); ok && t.Kind == typed.GStruct {
			return nil, usageError{fmt.Errorf("%s is of the checkpoint: leave it out, or --model", path)}
		}
	}
	types, dims := map[string]lang.DType{}, map[string]int64{}
	for p, d := range b.types {
		types[p.Name] = d
	}
	for s, n := range b.dims {
		dims[s.Name] = n
	}
	if b.filled, err = gpt.Fill(b.to.Graph, ckpt, device, types, dims); err != nil {
		return nil, err
	}
	for _, p := range b.to.Types {
		b.types[p] = b.filled.Types[p.Name]
	}
	for _, s := range b.to.Dims {
		if n, ok := b.filled.Dims[s.Name]; ok {
			b.dims[s], b.given[s.Name] = n, n
		}
	}
	for _, s := range b.to.Consts {
		if l, ok := b.filled.Consts[s.Name]; ok && b.consts[s] == (lang.Literal{}) {
			b.consts[s] = l
		}
	}
	return b.filled, nil
}

// fromModel is the argument that the checkpoint gives, where the command line names none.
func (b *binding) fromModel(name string) (any, bool) {
	if b.filled == nil || b.values[name] != nil {
		return nil, false
	}
	v, ok := b.filled.Args[name]
	return v, ok
}

// give hands every argument to what its name stands for, then fixes the
// dimensions and element types that the arguments determine.
func (b *binding) give(args []*argument) error {
	for _, a := range args {
		if err := b.classify(a); err != nil {
			return fmt.Errorf("%s=%s: %w", a.name, a.text, err)
		}
	}
	for _, a := range args {
		t, ok := b.to.Leaf(a.name)
		if !ok || b.values[a.name] == nil || t.Kind != typed.GTensor {
			continue
		}
		if err := b.fix(a, t); err != nil {
			return fmt.Errorf("%s=%s: %w", a.name, a.text, err)
		}
	}
	for known := -1; known < len(b.dims); { // what one array tells can make another tell more
		known = len(b.dims)
		for _, a := range args {
			if err := b.tell(a); err != nil {
				return fmt.Errorf("%s=%s: %w", a.name, a.text, err)
			}
		}
	}
	return nil
}

// tell fixes the dimensions that an array's shape tells as multiples of what is known, and more.
func (b *binding) tell(a *argument) error {
	x := b.arrays[a.name]
	if x == nil {
		return nil
	}
	t, _ := b.to.Leaf(a.name)
	for i, s := range t.Shape {
		d, n, err := s.Tell(x.Shape[i], b.fixed)
		if err != nil {
			return fmt.Errorf("%s is %s, but the argument %s: %w", a.name, t, jit.FormatShape(x.Shape), err)
		}
		if d != nil {
			b.dims[d] = n
		}
	}
	return nil
}

func (b *binding) classify(a *argument) error {
	if t, ok := b.to.Leaf(a.name); ok {
		isTensor, isValue := t.Kind == typed.GTensor, a.generator != nil || a.file != ""
		hasParts := t.Kind == typed.GStruct || t.Kind == typed.GArray
		switch {
		case hasParts && (a.generator == nil || a.dims != nil || a.dtype != lang.Invalid):
			return fmt.Errorf("%s has parts: give each by its own name, or all of them a generator without a shape or a type, as in %s=zeros", a.name, a.name)
		case isTensor && !isValue:
			return fmt.Errorf("%s is a tensor: give a generator (%s) or a file (@x.npy)", a.name, strings.Join(generatorNames(), ", "))
		case !isTensor && !hasParts && isValue:
			return fmt.Errorf("%s is a scalar %s: give a number", a.name, t.DType)
		}
		b.values[a.name] = a
		return nil
	}
	for _, s := range b.to.Dims {
		if s.Name == a.name {
			n, err := strconv.ParseInt(a.text, 0, 64)
			if err != nil || n < 0 {
				return fmt.Errorf("a dimension is an integer of 0 or more")
			}
			b.dims[s], b.given[s.Name] = n, n
			return nil
		}
	}
	for _, s := range b.to.Consts {
		if s.Name == a.name {
			l, err := parseScalar(s.DType, a.text)
			b.consts[s] = l
			return err
		}
	}
	for _, p := range b.to.Types {
		if p.Name == a.name {
			d, err := parseDType(a.text)
			if err != nil {
				return err
			}
			return b.bindType(p, d)
		}
	}
	if b.to.CanPin(a.name) {
		n, err := strconv.ParseInt(a.text, 0, 64)
		if least := lang.LeastPin(a.name); err != nil || n < least {
			return fmt.Errorf("a pin is an integer of %d or more", least)
		}
		b.pins[a.name] = n
		return nil
	}
	names := b.to.Names()
	if near := lang.Nearest(a.name, names); near != "" {
		return fmt.Errorf("%s has no %s: did you mean %s?", b.to.Name, a.name, near)
	}
	return fmt.Errorf("%s has no %s: it has %s", b.to.Name, a.name, strings.Join(names, ", "))
}

func (b *binding) bindType(p *typed.TypeParam, d lang.DType) error {
	if have, ok := b.types[p]; ok && have != d {
		return fmt.Errorf("%s is %s, but %s already is %s: convert one, or give another element type", p.Name, d, p.Name, have)
	}
	if !p.Accepts(d) {
		return fmt.Errorf("%s: %s allows no %s", p.Name, p.Bound, d)
	}
	b.types[p] = d
	return nil
}

// fix makes an array's shape and type known, as far as its argument tells them.
func (b *binding) fix(a *argument, t typed.GType) error {
	var x *array
	switch {
	case a.file != "":
		var err error
		if x, err = readArray(a); err != nil {
			return err
		}
	case a.dims != nil:
		x = &array{name: a.name, Array: &jit.Array{DType: a.dtype}}
		for _, d := range a.dims {
			n, err := b.size(d)
			if err != nil {
				return err
			}
			x.Shape = append(x.Shape, n)
		}
		if x.Shape == nil {
			x.Shape = []int64{}
		}
	}
	if d := a.dtype; d != lang.Invalid && t.DType.Param != nil {
		if err := b.bindType(t.DType.Param, d); err != nil {
			return err
		}
	}
	if x == nil {
		return nil
	}
	if x.Data != nil && t.DType.Param != nil {
		if err := b.bindType(t.DType.Param, x.DType); err != nil {
			return err
		}
	}
	b.arrays[a.name] = x
	if len(x.Shape) != len(t.Shape) {
		return fmt.Errorf("%s is %s, %d dimensions, but the argument has %d: %s", a.name, t, len(t.Shape), len(x.Shape), jit.FormatShape(x.Shape))
	}
	for i, s := range t.Shape {
		if sym := s.Symbol(); sym != nil && sym.Kind == size.DimSymbol {
			if _, ok := b.dims[sym]; !ok {
				b.dims[sym] = x.Shape[i]
			}
		}
	}
	return nil
}

// size reads a size in brackets: a number, or the name of a dimension that is given.
func (b *binding) size(text string) (int64, error) {
	if n, err := strconv.ParseInt(text, 0, 64); err == nil {
		if n < 0 || n > 1<<40 {
			return 0, fmt.Errorf("size %d, must be from 0 to 2^40", n)
		}
		return n, nil
	}
	for _, s := range b.to.Dims {
		if s.Name == text {
			if n, ok := b.value(s); ok {
				return n, nil
			}
			return 0, fmt.Errorf("dimension %s is not known: give it, as in %s=64", text, text)
		}
	}
	return 0, fmt.Errorf("%q is no size: give a number or a dimension of %s", text, b.to.Name)
}

// fixed looks up a symbol that is given or that arrays tell.
func (b *binding) fixed(s *size.Symbol) (int64, bool) {
	if n, ok := b.dims[s]; ok {
		return n, true
	}
	if l, ok := b.consts[s]; ok {
		return l.Int, true
	}
	if s.Kind == size.ConstSymbol && s.Default != nil {
		return s.Default.Int, true
	}
	return 0, false
}

// value looks a symbol up for Size.Eval; the sizes of @sizes are the last resort.
func (b *binding) value(s *size.Symbol) (int64, bool) {
	if n, ok := b.fixed(s); ok {
		return n, true
	}
	if n, ok := b.to.SizeHints[s]; ok {
		b.dims[s], b.hinted[s] = n, true
		b.note("%s = %d, by @sizes", s.Name, n)
		return n, true
	}
	return 0, false
}

// resolve gives the element type of a parameter; a type parameter that nothing binds is what @sizes says and, without that, f32 or i32.
func (b *binding) resolve(d typed.DType) lang.DType {
	if d.Param == nil {
		return d.Of
	}
	if t, ok := b.types[d.Param]; ok {
		return t
	}
	t, hinted := b.to.TypeHints[d.Param]
	switch {
	case hinted:
		b.note("%s = %s, by @sizes", d.Param.Name, t)
	case d.Param.Accepts(lang.F32):
		t = lang.F32
	default:
		t = lang.I32
	}
	b.types[d.Param] = t
	return t
}

// formatScalar is a number as parseScalar reads it.
func formatScalar(l lang.Literal) string {
	switch {
	case l.DType.IsFloat():
		return strconv.FormatFloat(l.Float, 'g', -1, 64)
	case l.DType == lang.Bool:
		return strconv.FormatBool(l.Int != 0)
	case l.DType.IsSigned():
		return strconv.FormatInt(l.Int, 10)
	}
	return strconv.FormatUint(uint64(l.Int), 10)
}

// parseScalar reads a number of a type.
func parseScalar(d lang.DType, text string) (lang.Literal, error) {
	l := lang.Literal{DType: d}
	var err error
	switch {
	case d.IsFloat():
		l.Float, err = strconv.ParseFloat(text, 64)
	case d == lang.Bool:
		var v bool
		if v, err = strconv.ParseBool(text); v {
			l.Int = 1
		}
	case d.IsSigned():
		l.Int, err = strconv.ParseInt(text, 0, d.Bits())
	default:
		var v uint64
		v, err = strconv.ParseUint(text, 0, d.Bits())
		l.Int = int64(v)
	}
	if err != nil {
		return l, fmt.Errorf("%q is no %s", text, d)
	}
	return l, nil
}
