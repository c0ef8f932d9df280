package run

import (
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"os"
	"strconv"
	"strings"
	"tilec/jit/backend"
	"tilec/jit/bug"
	"tilec/jit/ir"
	"tilec/lang"
)

// This file has what the host does about a launch that says something. Package ir describes the memory between the two.

// The memory of a launch for what it says: areas for at most maxAreas blocks,
// of debugBytes in all and at least minArea each. What the blocks behind them,
// or a block that says more, print is counted and dropped.
const (
	maxAreas   = 1024
	debugBytes = 4 << 20
	minArea    = 4 << 10
	maxArea    = 1 << 20
)

// debugOutput is where a launch leaves what its kernel says.
type debugOutput struct {
	f      *ir.Func
	sites  []*ir.Op
	grid   []int64 // blocks along each axis of the grid
	memory *backend.Memory
	// head is the bytes up to the first area, share those of an area, areas their number.
	head, share, areas int
}

// newDebugOutput makes the memory of a launch over a grid.
func newDebugOutput(d backend.Device, f *ir.Func, grid []int64) (*debugOutput, error) {
	s := &debugOutput{f: f, sites: f.Sites(), grid: grid}
	blocks := int64(1)
	for _, n := range grid {
		blocks *= n
	}
	for _, op := range s.sites {
		if op.Code == lang.OpPrint {
			s.areas = int(min(blocks, maxAreas))
			s.share = min(max(debugBytes/s.areas, minArea), maxArea) / ir.DebugWord * ir.DebugWord
			break
		}
	}
	s.head = f.DebugHead(s.areas)
	var err error
	s.memory, err = d.Alloc(int64(s.head + s.areas*s.share))
	return s, err
}

// clear makes the memory ready for a launch.
func (s *debugOutput) clear(d backend.Device) error {
	head := make([]byte, s.head)
	binary.LittleEndian.PutUint32(head[ir.DebugShare:], uint32(s.share))
	binary.LittleEndian.PutUint32(head[ir.DebugAreas:], uint32(s.areas))
	binary.LittleEndian.PutUint64(head[ir.DebugFirst:], uint64(s.head))
	return d.Write(s.memory, 0, head)
}

// report writes what the blocks have said, in their order, and gives the error
// of the assert that failed. It waits for the launch.
func (s *debugOutput) report(d backend.Device, out io.Writer) error {
	head := make([]byte, s.head)
	if err := d.Read(head, s.memory, 0); err != nil {
		return err
	}
	if out == nil {
		out = os.Stderr
	}
	table := s.f.DebugTable()
	for b := range s.areas {
		said := binary.LittleEndian.Uint64(head[table+b*ir.DebugWord:])
		if said == 0 {
			continue
		}
		if said > uint64(s.share) {
			return bug.New("run", "block %d of %s printed %d bytes of %d", b, s.f.Name, said, s.share)
		}
		area := make([]byte, said)
		if err := d.Read(area, s.memory, int64(s.head+b*s.share)); err != nil {
			return err
		}
		if err := s.records(out, int64(b), area); err != nil {
			return err
		}
	}
	if n := binary.LittleEndian.Uint64(head[ir.DebugDropped:]); n > 0 {
		if _, err := fmt.Fprintf(out, "%s: %d more prints had no room and are not shown\n", s.f.Name, n); err != nil {
			return err
		}
	}
	if binary.LittleEndian.Uint32(head[ir.DebugFailed:]) == 0 {
		return nil
	}
	return s.failure(head)
}

// records writes the prints of one block.
func (s *debugOutput) records(out io.Writer, block int64, area []byte) error {
	r := &recordReader{data: area}
	for len(r.data) > 0 && !r.short {
		site := r.word()
		if site == 0 || site > uint64(len(s.sites)) {
			return bug.New("run", "block %d of %s printed at site %d of %d", block, s.f.Name, site, len(s.sites))
		}
		op := s.sites[site-1]
		var texts []string
		for _, v := range op.Args {
			texts = append(texts, r.tile(v.Type.DType, len(v.Type.Axes)))
		}
		if _, err := fmt.Fprintf(out, "%s: %s: %s\n", place(op, s.f), s.block(block), fill(op.Text, texts)); err != nil {
			return err
		}
	}
	if r.short {
		return bug.New("run", "a print of block %d of %s is cut off", block, s.f.Name)
	}
	return nil
}

// place is the file and line of a print.
func place(op *ir.Op, f *ir.Func) string {
	if !op.At.IsValid() {
		return f.Name
	}
	line, _ := op.At.Position()
	return fmt.Sprintf("%s:%d", op.At.Source.Path, line)
}

// block is a block's position in the grid, as messages show it.
func (s *debugOutput) block(n int64) string {
	at := make([]string, len(s.grid))
	for i := len(s.grid) - 1; i >= 0; i-- {
		at[i] = strconv.FormatInt(n%s.grid[i], 10)
		n /= s.grid[i]
	}
	return "block (" + strings.Join(at, ", ") + ")"
}

// failure is the error of the failed assert that the head holds.
func (s *debugOutput) failure(head []byte) error {
	site := binary.LittleEndian.Uint64(head[ir.DebugSite:])
	if site == 0 || site > uint64(len(s.sites)) {
		return bug.New("run", "an assert of %s failed at site %d of %d", s.f.Name, site, len(s.sites))
	}
	op := s.sites[site-1]
	r := &recordReader{data: head[ir.DebugValues:]}
	var texts []string
	for _, v := range op.Args[1:] {
		texts = append(texts, r.tile(v.Type.DType, 0))
	}
	message, lead := "assert failed", " at "
	for i, name := range op.Names {
		if name != "" {
			message += fmt.Sprintf("%s%s = %s", lead, name, texts[i])
			lead = ", "
		}
	}
	return &lang.Diagnostic{Code: lang.ErrAssert, At: op.At, Message: message + ": " + fill(op.Text, texts[len(op.Names):])}
}

// fill puts texts in the place of the {} of a text.
func fill(text string, values []string) string {
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		switch two := text[i:min(i+2, len(text))]; two {
		case "{}":
			if len(values) > 0 {
				b.WriteString(values[0])
				values = values[1:]
			}
			i++
		case "{{", "}}":
			b.WriteByte(text[i])
			i++
		default:
			b.WriteByte(text[i])
		}
	}
	return b.String()
}

// recordReader takes a record apart.
type recordReader struct {
	data  []byte
	short bool // it ended too early
}

func (r *recordReader) word() uint64 {
	if len(r.data) < ir.DebugWord {
		r.short, r.data = true, nil
		return 0
	}
	w := binary.LittleEndian.Uint64(r.data)
	r.data = r.data[ir.DebugWord:]
	return w
}

// tile reads a value over a number of axes: nested lists, the first axis outermost.
func (r *recordReader) tile(d lang.DType, rank int) string {
	counts := make([]int, rank)
	all := 1
	for i := range counts {
		counts[i] = int(r.word())
		all *= counts[i]
	}
	var list func(counts []int) string
	list = func(counts []int) string {
		if len(counts) == 0 || r.short {
			return showWord(d, r.word())
		}
		shown := ir.Shown(counts[0], all)
		var words []string
		for i := range shown {
			if i == ir.ShownEdge && shown < counts[0] {
				words = append(words, "...")
			}
			words = append(words, list(counts[1:]))
		}
		return "[" + strings.Join(words, ", ") + "]"
	}
	return list(counts)
}

// showWord is an element as the language spells it.
func showWord(d lang.DType, w uint64) string {
	switch {
	case d == lang.Bool:
		return strconv.FormatBool(w != 0)
	case d.IsInt() && d.IsSigned():
		return strconv.FormatInt(int64(w), 10)
	case d.IsInt():
		return strconv.FormatUint(w, 10)
	}
	x, bits := math.Float64frombits(w), 64
	if d != lang.F64 {
		x, bits = float64(math.Float32frombits(uint32(w))), 32
	}
	return FloatText(x, -1, bits)
}

// FloatText is a number to so many digits, -1 for all that tell it from others; nan and inf as the language writes them.
func FloatText(v float64, digits, bits int) string {
	return strings.TrimPrefix(strings.ToLower(strconv.FormatFloat(v, 'g', digits, bits)), "+")
}
