package torch

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"

	"tilec/jit/file"
)

// A pickle is a program for a small stack machine, and a general one may call any function of the machine that reads it. This reader
// knows the operations that state dicts are made of, and makes data of them; it calls nothing. The functions that
// a state dict names are those of globals, and each is a constructor of data.

// Dict is a dictionary in the order of its keys.
type Dict struct {
	Keys   []any
	values map[any]any
}

func newDict() *Dict { return &Dict{values: map[any]any{}} }

// Get gives the value of a key.
func (d *Dict) Get(key any) (any, bool) {
	v, ok := d.values[key]
	return v, ok
}

// set puts a value; keys are texts, numbers, truths and None, which Go compares.
func (d *Dict) set(key, value any) error {
	switch key.(type) {
	case nil, string, int64, float64, bool:
	default:
		return fmt.Errorf("a dictionary has a key of the type %T, required a text or a number", key)
	}
	if _, ok := d.values[key]; !ok {
		d.Keys = append(d.Keys, key)
	}
	d.values[key] = value
	return nil
}

// List is a list; a tuple is []any.
type List struct{ Items []any }

// global is a name of a class or function of Python, "torch._utils._rebuild_tensor_v2".
type global string

// mark is the bottom of what the next operation takes from the stack.
type mark struct{}

// maxStack bounds the values that wait on the stack: state dicts nest a few deep, and have some hundred names.
const maxStack = 1 << 20

// ReadPickle reads a file of Python's pickle that has dictionaries, lists, texts and numbers, and nothing else.
func ReadPickle(path string) (any, error) {
	data, err := file.Read(path, file.MaxText)
	if err != nil {
		return nil, err
	}
	u := &unpickler{
		in: bytes.NewReader(data), memo: map[uint32]any{},
		persistent: func(any) (any, error) { return nil, errors.New("it has values in another file") },
		call: func(f global, _ []any) (any, error) {
			return nil, fmt.Errorf("it has %q, required data alone", string(f))
		},
	}
	v, err := u.run()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return v, nil
}

// unpickler runs a pickle.
type unpickler struct {
	in    *bytes.Reader
	stack []any
	memo  map[uint32]any
	// persistent gives what a persistent id stands for, and call what a global makes of arguments.
	persistent func(id any) (any, error)
	call       func(f global, args []any) (any, error)
}

// errEarly is the end of a pickle before its STOP.
var errEarly = errors.New("the pickle ends early")

func (u *unpickler) run() (value any, err error) {
	for {
		at := u.in.Size() - int64(u.in.Len())
		op, err := u.in.ReadByte()
		if err != nil {
			return nil, errEarly
		}
		if op == '.' {
			if len(u.stack) != 1 {
				return nil, fmt.Errorf("the pickle leaves %d values, required 1", len(u.stack))
			}
			return u.pop()
		}
		if err := u.do(op); err != nil {
			return nil, fmt.Errorf("pickle, at byte %d: %w", at, err)
		}
		if len(u.stack) > maxStack {
			return nil, fmt.Errorf("pickle, at byte %d: more than %d values wait", at, maxStack)
		}
	}
}

func (u *unpickler) push(v any) { u.stack = append(u.stack, v) }

func (u *unpickler) pop() (any, error) {
	if len(u.stack) == 0 {
		return nil, errors.New("takes a value from an empty stack")
	}
	v := u.stack[len(u.stack)-1]
	u.stack = u.stack[:len(u.stack)-1]
	if v == (mark{}) {
		return nil, errors.New("takes a mark as a value")
	}
	return v, nil
}

// top is the last value, which stays.
func (u *unpickler) top() (any, error) {
	v, err := u.pop()
	if err == nil {
		u.push(v)
	}
	return v, err
}

// popMark takes all values behind the last mark.
func (u *unpickler) popMark() ([]any, error) {
	for i := len(u.stack) - 1; i >= 0; i-- {
		if u.stack[i] == (mark{}) {
			items := append([]any{}, u.stack[i+1:]...)
			u.stack = u.stack[:i]
			return items, nil
		}
	}
	return nil, errors.New("takes values behind a mark, and there is none")
}

// bytes reads the next n bytes.
func (u *unpickler) bytes(n uint64) ([]byte, error) {
	if n > uint64(u.in.Len()) {
		return nil, errEarly
	}
	data := make([]byte, n)
	_, err := io.ReadFull(u.in, data)
	return data, err
}

// number reads an unsigned number of so many bytes.
func (u *unpickler) number(size uint64) (uint64, error) {
	data, err := u.bytes(size)
	if err != nil {
		return 0, err
	}
	return binary.LittleEndian.Uint64(append(data, make([]byte, 8-size)...)), nil
}

// line reads a text up to the end of its line.
func (u *unpickler) line() (string, error) {
	var text []byte
	for {
		b, err := u.in.ReadByte()
		if err != nil {
			return "", errEarly
		}
		if b == '\n' {
			return string(text), nil
		}
		text = append(text, b)
	}
}

// sized reads a text or bytes behind their length, which has so many bytes.
func (u *unpickler) sized(size uint64) ([]byte, error) {
	n, err := u.number(size)
	if err != nil {
		return nil, err
	}
	return u.bytes(n)
}

// do carries out one operation.
func (u *unpickler) do(op byte) error {
	switch op {
	case 'X': // BINUNICODE
		return u.text(4)
	case 0x8c: // SHORT_BINUNICODE
		return u.text(1)
	case 0x8d: // BINUNICODE8
		return u.text(8)
	case 'K': // BININT1
		return u.integer(1)
	case 'M': // BININT2
		return u.integer(2)
	case 'q': // BINPUT
		return u.put(u.number(1))
	case 'r': // LONG_BINPUT
		return u.put(u.number(4))
	case 0x94: // MEMOIZE
		return u.put(uint64(len(u.memo)), nil)
	case 'h': // BINGET
		return u.get(u.number(1))
	case 'j': // LONG_BINGET
		return u.get(u.number(4))
	case 0x80: // PROTO
		_, err := u.number(1)
		return err
	case 0x95: // FRAME
		_, err := u.number(8)
		return err
	case '(':
		u.push(mark{})
	case 'N':
		u.push(nil)
	case 0x88, 0x89:
		u.push(op == 0x88)
	case 'J': // BININT
		n, err := u.number(4)
		u.push(int64(int32(n)))
		return err
	case 0x8a: // LONG1
		data, err := u.sized(1)
		if err != nil || len(data) > 8 {
			return errors.Join(err, fmt.Errorf("an integer has %d bytes, at most 8 are read", len(data)))
		}
		n := int64(0)
		for i, b := range data {
			n |= int64(b) << (8 * i)
		}
		if bits := 8 * len(data); bits > 0 && bits < 64 {
			n = n << (64 - bits) >> (64 - bits)
		}
		u.push(n)
	case 'G': // BINFLOAT
		data, err := u.bytes(8)
		if err != nil {
			return err
		}
		u.push(math.Float64frombits(binary.BigEndian.Uint64(data)))
	case '}':
		u.push(newDict())
	case ']':
		u.push(&List{})
	case ')':
		u.push([]any{})
	case 't', 0x85, 0x86, 0x87:
		return u.tuple(op)
	case 's', 'u':
		return u.setItems(op == 'u')
	case 'a', 'e':
		return u.appendItems(op == 'e')
	case 'c', 0x93:
		return u.global(op == 'c')
	case 'R':
		return u.reduce()
	case 'b':
		return u.build()
	case 'Q': // BINPERSID
		id, err := u.pop()
		if err != nil {
			return err
		}
		v, err := u.persistent(id)
		u.push(v)
		return err
	case '0':
		_, err := u.pop()
		return err
	default:
		return fmt.Errorf("the operation %q is not one that state dicts are made of: save the state dict alone, as torch.save(model.state_dict(), path)", op)
	}
	return nil
}

// text pushes a text behind its length, which has so many bytes.
func (u *unpickler) text(size uint64) error {
	data, err := u.sized(size)
	u.push(string(data))
	return err
}

// integer pushes an unsigned number of so many bytes.
func (u *unpickler) integer(size uint64) error {
	n, err := u.number(size)
	u.push(int64(n))
	return err
}

// put keeps the last value in the memo.
func (u *unpickler) put(at uint64, err error) error {
	if err != nil {
		return err
	}
	u.memo[uint32(at)], err = u.top()
	return err
}

// get pushes a value of the memo.
func (u *unpickler) get(at uint64, err error) error {
	if err != nil {
		return err
	}
	v, ok := u.memo[uint32(at)]
	if !ok {
		return fmt.Errorf("takes value %d of the memo, which has none", at)
	}
	u.push(v)
	return nil
}

// tuple makes a tuple of the values behind a mark, or of the last one to three.
func (u *unpickler) tuple(op byte) error {
	if op == 't' {
		items, err := u.popMark()
		u.push(items)
		return err
	}
	items := make([]any, op-0x84)
	for i := len(items) - 1; i >= 0; i-- {
		var err error
		if items[i], err = u.pop(); err != nil {
			return err
		}
	}
	u.push(items)
	return nil
}

// taken takes n values, or with many all of them behind a mark.
func (u *unpickler) taken(many bool, n int) (items []any, err error) {
	if many {
		return u.popMark()
	}
	items = make([]any, n)
	for i := n - 1; i >= 0; i-- {
		if items[i], err = u.pop(); err != nil {
			return nil, err
		}
	}
	return items, nil
}

func (u *unpickler) setItems(many bool) error {
	items, err := u.taken(many, 2)
	if err != nil {
		return err
	}
	last, err := u.top()
	if err != nil {
		return err
	}
	d, ok := last.(*Dict)
	if !ok || len(items)%2 != 0 {
		return fmt.Errorf("sets %d items of a %T, required pairs of a dictionary", len(items), last)
	}
	for i := 0; i < len(items); i += 2 {
		if err := d.set(items[i], items[i+1]); err != nil {
			return err
		}
	}
	return nil
}

func (u *unpickler) appendItems(many bool) error {
	items, err := u.taken(many, 1)
	if err != nil {
		return err
	}
	last, err := u.top()
	if err != nil {
		return err
	}
	l, ok := last.(*List)
	if !ok {
		return fmt.Errorf("appends to a %T, required a list", last)
	}
	l.Items = append(l.Items, items...)
	return nil
}

// global takes the name of a class or a function, from the pickle or from the stack.
func (u *unpickler) global(lines bool) error {
	var module, name string
	var err error
	if lines {
		if module, err = u.line(); err == nil {
			name, err = u.line()
		}
	} else {
		var items []any
		if items, err = u.taken(false, 2); err == nil {
			var ok, also bool
			module, ok = items[0].(string)
			if name, also = items[1].(string); !ok || !also {
				err = errors.New("a global has no name that is text")
			}
		}
	}
	if err != nil {
		return err
	}
	g := global(module + "." + name)
	if !known(g) {
		return fmt.Errorf("it names %q, which is not of tensors and dictionaries and is not called: save the state dict alone, as torch.save(model.state_dict(), path)", string(g))
	}
	u.push(g)
	return nil
}

// reduce has a global make a value of a tuple.
func (u *unpickler) reduce() error {
	items, err := u.taken(false, 2)
	if err != nil {
		return err
	}
	f, ok := items[0].(global)
	args, also := items[1].([]any)
	if !ok || !also {
		return fmt.Errorf("calls a %T with a %T, required a global and a tuple", items[0], items[1])
	}
	v, err := u.call(f, args)
	u.push(v)
	return err
}

// build sets attributes of an object. State dicts have one, the versions of their modules, which say nothing of the tensors.
func (u *unpickler) build() error {
	if _, err := u.pop(); err != nil {
		return err
	}
	last, err := u.top()
	if _, ok := last.(*Dict); err == nil && !ok {
		return fmt.Errorf("sets attributes of a %T, required a dictionary", last)
	}
	return err
}
