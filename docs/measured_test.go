package docs_test

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"testing"

	"tilec/cmd/tilec/reference"
	"tilec/lang"
)

// machines are the devices on which errors have been measured, with the files
// that `go test ./jit -run Ulp -ulp.full -ulp.out FILE` wrote there.
var machines = []struct{ title, file string }{
	{"CPU", "ulp/cpu.txt"},
	{"H200", "ulp/h200.txt"},
}

// measuredTypes are the element types of the table, in its order.
var measuredTypes = []lang.DType{lang.F32, lang.F16, lang.BF16, lang.F64}

// measured reads the largest errors, by element type and operation; nothing where a device has not been measured.
func measured(file string) map[string]string {
	f, err := os.Open(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		panic(err)
	}
	defer f.Close()
	errs := map[string]string{}
	for s := bufio.NewScanner(f); s.Scan(); {
		if w := strings.Fields(s.Text()); len(w) > 3 && w[0] != "#" {
			var ulp float64
			if _, err := fmt.Sscan(w[2], &ulp); err != nil {
				panic(fmt.Sprintf("%s: %q: %v", file, s.Text(), err))
			}
			errs[w[0]+" "+w[1]] = fmt.Sprintf("%.2f", ulp)
		}
	}
	return errs
}

// measuredErrors is the chapter on the accuracy of functions.
func measuredErrors() string {
	var b strings.Builder
	b.WriteString(`
## Largest errors, measured
In units in the last place of each type: what the table promises in f32, and the largest error that
` + "`go test ./jit -run Ulp -ulp.full`" + ` found. It tries 2^24 arguments of f32 spread evenly over all patterns of bits (2^22
pairs or triples), every f16 and bf16, and 2^15 of f64 against values with 180 bits. 0.50 is correctly rounded.
The H200's figures are of commit 0e02a3ee. (The hardware's power of 2, by which exp2 of f32 goes, had been seen off by less than 1.5 of numbers from -1 to 1; 2.03 was found since, and the bound is 3.) Functions whose
results are rounded to 16 bits may be less exact than here: see [Numbers](language.md#numbers).
`)
	b.WriteString("\n| function | bound |")
	rule := "\n|---|---|"
	var found []map[string]string
	for _, m := range machines {
		found = append(found, measured(m.file))
		for _, d := range measuredTypes {
			fmt.Fprintf(&b, " %s %s |", m.title, d)
			rule += "---|"
		}
	}
	b.WriteString(rule + "\n")
	for _, op := range lang.Ops() {
		if _, ok := found[0][lang.F32.String()+" "+op.String()]; !ok {
			continue
		}
		fmt.Fprintf(&b, "| `%s` | %g |", strings.ReplaceAll(reference.Written(op), "|", "\\|"), max(op.Row().Ulp, 0.5))
		for i := range machines {
			for _, d := range measuredTypes {
				fmt.Fprintf(&b, " %s |", found[i][d.String()+" "+op.String()])
			}
		}
		b.WriteString("\n")
	}
	return b.String()
}

// What has been measured lies within what the table promises.
func TestMeasuredErrorsAreWithinBounds(t *testing.T) {
	for _, m := range machines {
		for key, text := range measured(m.file) {
			d, name, _ := strings.Cut(key, " ")
			op, ok := lang.OpByName(name)
			if !ok {
				t.Errorf("%s: no operation %s", m.file, name)
				continue
			}
			var ulp float64
			fmt.Sscan(text, &ulp)
			if bound := max(op.Row().Ulp, 0.5); d == lang.F32.String() && ulp > bound {
				t.Errorf("%s: %s of f32 is %g ulp off on %s, and the table promises %g", m.file, name, ulp, m.title, bound)
			}
		}
	}
}
