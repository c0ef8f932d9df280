package gpt

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"

	"tilec/gpt/config"
	"tilec/lang"
	"tilec/typecheck/size"
	"tilec/typecheck/typed"
)

// configured is what @config of a graph takes from a checkpoint's config.json.
type configured struct {
	graph *typed.Graph
	file  config.Config
	// dims are dimensions and integer constants, consts all constants, and scalars the parameters of that kind, by name.
	dims            map[string]int64
	consts, scalars map[string]lang.Literal
	problems        []error
	// wrong are the keys of which a problem has been noted.
	wrong map[string]bool
}

// configure reads what a graph's @config names and looks at what its @require demands. All problems are reported at once, one a
// line, each with its key, the value found and what is required.
func configure(g *typed.Graph, file config.Config) (*configured, error) {
	c := &configured{graph: g, file: file, dims: map[string]int64{}, consts: map[string]lang.Literal{}, scalars: map[string]lang.Literal{}, wrong: map[string]bool{}}
	for _, row := range g.Config {
		if v, ok := c.value(row); ok {
			c.set(row, v)
		}
	}
	told := len(c.problems) == 0
	for _, r := range g.Require {
		// What cannot be computed, where all that it is of is known, divides by 0.
		if holds, known := c.holds(r); known && !holds || !known && told {
			c.problem("%s, required %s", strings.Join(c.named(r), ", "), conditionText(r))
		}
	}
	return c, errors.Join(c.problems...)
}

func (c *configured) problem(format string, args ...any) {
	c.problems = append(c.problems, fmt.Errorf("%s: %s (graph %s)", c.file.File(), fmt.Sprintf(format, args...), c.graph.Name))
}

// set gives a name its value.
func (c *configured) set(row *typed.ConfigRow, v lang.Literal) {
	switch {
	case row.Symbol == nil:
		c.scalars[row.Name] = v
		return
	case row.Symbol.Kind == size.ConstSymbol:
		c.consts[row.Name] = v
	}
	if row.DType == lang.I32 {
		c.dims[row.Name] = v.Int
	}
}

// value is what a row gives; false where there is a problem, which has been noted.
func (c *configured) value(row *typed.ConfigRow) (lang.Literal, bool) {
	for _, key := range row.Keys {
		if raw, ok := c.file.Value(key); ok {
			return c.read(row, key, raw)
		}
	}
	switch {
	case row.Else == nil:
		c.problem("%s is missing, required %s", strings.Join(row.Keys, " or "), wanted(row))
		return lang.Literal{}, false
	case row.Else.Literal != nil:
		return *row.Else.Literal, true
	}
	n, err := row.Else.Size.Eval(c.dim)
	if err != nil {
		return lang.Literal{}, false // of what is not known has been said why
	}
	if least := leastOf(row); n < least || n > config.MaxDimension {
		c.problem("%s is missing, and its default %s is %d, required an integer of %d to %d", strings.Join(row.Keys, " or "), row.Else.Size, n, least, config.MaxDimension)
		return lang.Literal{}, false
	}
	return lang.Literal{DType: row.DType, Int: n}, true
}

func (c *configured) dim(s *size.Symbol) (int64, bool) {
	n, ok := c.dims[s.Name]
	return n, ok
}

// leastOf is the least integer that a row may give: of a dimension 1.
func leastOf(row *typed.ConfigRow) int64 {
	if row.Symbol != nil && row.Symbol.Kind == size.DimSymbol {
		return 1
	}
	return -config.MaxDimension
}

// wanted says what a row takes.
func wanted(row *typed.ConfigRow) string {
	switch {
	case row.Words != nil:
		words := make([]string, len(row.Words))
		for i, w := range row.Words {
			words[i] = w.Word
		}
		return "one of " + strings.Join(words, ", ")
	case row.DType == lang.Bool:
		return "true or false"
	case row.DType.IsFloat():
		return "a number"
	}
	return fmt.Sprintf("an integer of %d to %d", leastOf(row), config.MaxDimension)
}

// read is a key's value as its row takes it.
func (c *configured) read(row *typed.ConfigRow, key string, raw json.RawMessage) (lang.Literal, bool) {
	v := lang.Literal{DType: row.DType}
	ok := false
	switch {
	case row.Words != nil:
		var word string
		if json.Unmarshal(raw, &word) != nil {
			break
		}
		for _, w := range row.Words {
			if w.Word == word {
				return w.Value, true
			}
		}
	case row.DType == lang.Bool:
		var b bool
		if ok = json.Unmarshal(raw, &b) == nil; b {
			v.Int = 1
		}
	case row.DType.IsFloat():
		ok = json.Unmarshal(raw, &v.Float) == nil && math.Abs(v.Float) <= row.DType.Largest()
	default:
		ok = json.Unmarshal(raw, &v.Int) == nil && v.Int >= leastOf(row) && v.Int <= config.MaxDimension
	}
	if !ok {
		c.wrong[key] = true
		c.problem("%s is %s, required %s", key, c.file.Text(key), wanted(row))
	}
	return v, ok
}

// holds decides a condition; known is false where it depends on what is not known, of which has been said why.
func (c *configured) holds(r *typed.Condition) (holds, known bool) {
	switch r.Op {
	case "":
		return !c.nothing(r.X.Key), true
	case "not":
		holds, known = c.holds(r.Args[0])
		return !holds, known
	case "and", "or":
		a, known := c.holds(r.Args[0])
		b, known2 := c.holds(r.Args[1])
		if r.Op == "and" {
			return a && b, known && known2
		}
		return a || b, known && known2
	}
	if r.X.Key != "" {
		if c.wrong[r.X.Key] {
			return false, false
		}
		raw, ok := c.file.Value(r.X.Key)
		if !ok {
			return r.Op == "!=", true
		}
		return c.compareKey(r, raw)
	}
	x, ok := c.number(r.X)
	y, ok2 := c.number(r.Y)
	return compare(r.Op, x, y), ok && ok2
}

// nothing reports that the file says nothing of the kind: it lacks the key, or has null, false, "", {} or [] there.
func (c *configured) nothing(key string) bool {
	raw, ok := c.file.Value(key)
	if !ok {
		return true
	}
	switch strings.Join(strings.Fields(string(raw)), "") {
	case "false", `""`, "{}", "[]":
		return true
	}
	return false
}

// compareKey compares what the file says of a key. A list of one text is that text, as in `"architectures": ["GPT2Model"]`.
// What is of another type than what it is compared with is neither equal to it nor a known other thing.
func (c *configured) compareKey(r *typed.Condition, raw json.RawMessage) (holds, known bool) {
	switch {
	case r.Y.Text != nil:
		var s string
		if json.Unmarshal(raw, &s) != nil {
			var list []string
			if json.Unmarshal(raw, &list) != nil || len(list) != 1 {
				return false, true
			}
			s = list[0]
		}
		return (s == *r.Y.Text) == (r.Op == "=="), true
	case r.Y.Bool != nil:
		var b bool
		return json.Unmarshal(raw, &b) == nil && (b == *r.Y.Bool) == (r.Op == "=="), true
	}
	var x float64
	if json.Unmarshal(raw, &x) != nil {
		return false, true
	}
	y, ok := c.number(r.Y)
	return compare(r.Op, x, y), ok
}

// number is a literal, or an integer of what @config tells.
func (c *configured) number(o typed.ConfigOperand) (float64, bool) {
	if o.Number != nil {
		return *o.Number, true
	}
	n, err := o.Size.Eval(c.dim)
	return float64(n), err == nil
}

func compare(op string, x, y float64) bool {
	switch op {
	case "==":
		return x == y
	case "!=":
		return x != y
	case "<":
		return x < y
	case "<=":
		return x <= y
	case ">":
		return x > y
	}
	return x >= y
}

// named says what is found of the keys and the names of a condition, each once.
func (c *configured) named(r *typed.Condition) []string {
	var all []string
	seen := map[string]bool{}
	add := func(name, value string) {
		if !seen[name] {
			seen[name] = true
			all = append(all, name+" is "+value)
		}
	}
	operand := func(o typed.ConfigOperand) {
		if o.Key != "" {
			add(o.Key, c.file.Text(o.Key))
		}
		if o.Size != nil {
			_, _ = o.Size.Eval(func(s *size.Symbol) (int64, bool) {
				add(c.graph.ConfigRow(s.Name).Keys[0], fmt.Sprint(c.dims[s.Name]))
				return 1, true
			})
		}
	}
	var walk func(*typed.Condition)
	walk = func(r *typed.Condition) {
		for _, a := range r.Args {
			walk(a)
		}
		operand(r.X)
		operand(r.Y)
	}
	walk(r)
	return all
}

// conditionText is a condition as the program has it, in one line, and where.
func conditionText(r *typed.Condition) string {
	line, _ := r.At.Position()
	return fmt.Sprintf("%s, by %s:%d", strings.Join(strings.Fields(r.At.Text()), " "), r.At.Source.Path, line)
}
