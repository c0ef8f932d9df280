package stage_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tilec/jit"
	"tilec/jit/compile"
	"tilec/jit/stage"
	"tilec/jit/target"
	"tilec/lang"
)

const program = `fn twice(x) = x * 2

kernel scale(x: f32[N]) -> y: f32[N]
    grid i in N by B
{
    let v = twice(x[i])
    y[i] = max(v, 0)
}
`

// lowered is the kernel of the program for a machine, with the forms that it had on its way.
func lowered(t *testing.T) (*compile.Lowered, []compile.Form) {
	t.Helper()
	p, problems := jit.Load("scale.tile", []byte(program), nil)
	require.Empty(t, problems)
	s, err := jit.Specialise(p.Kernels[0], jit.Options{Dims: map[string]int64{"N": 1 << 20}})
	require.NoError(t, err)
	machine, err := target.Find(target.Default)
	require.NoError(t, err)
	l, err := compile.Lower(s, machine, nil)
	require.NoError(t, err)
	forms, err := compile.Forms(s, machine)
	require.NoError(t, err)
	return l, forms
}

// lineOf is the line of the program that became the first line of a listing that has a text.
func lineOf(t *testing.T, l lang.Listing, text string) int {
	t.Helper()
	for _, line := range l {
		if strings.Contains(line.Text, text) {
			n, _ := line.At.Position()
			return n
		}
	}
	t.Errorf("no line has %q:\n%s", text, l)
	return 0
}

// Every stage knows which line of the program became an instruction of it, that of a fn where it is called.
func TestLinesOfStages(t *testing.T) {
	l, forms := lowered(t)
	passes := stage.Passes(forms)
	assert.Equal(t, "// scale, as it is built", passes[0].Text)
	assert.Equal(t, 4, lineOf(t, passes, "axis i"))
	assert.Equal(t, 6, lineOf(t, passes, "= load"))
	assert.Equal(t, 7, lineOf(t, passes, "store"))
	ir := l.Func.Listing()
	assert.Equal(t, l.Func.String(), ir.String())
	assert.Equal(t, 7, lineOf(t, ir, "= max"))
	decided, err := l.BlockProgram()
	require.NoError(t, err)
	assert.Equal(t, decided.String(), decided.Listing().String())
	assert.Equal(t, 6, lineOf(t, decided.Listing(), "= load"))
	assert.Equal(t, 7, lineOf(t, decided.Listing(), "store"))
	about, notes := lang.Span{}, 0 // the operation above, and notes that stand below one
	for _, line := range decided.Listing() {
		if !strings.HasPrefix(line.Text, "    @") {
			about = line.At
			continue
		}
		assert.Equal(t, about, line.At, line.Text)
		notes++
	}
	assert.Greater(t, notes, 2)
	ptx, err := stage.PTX(l)
	require.NoError(t, err)
	assert.Equal(t, 6, lineOf(t, ptx, "ld.global"))
	assert.Equal(t, 7, lineOf(t, ptx, "st.global"))
	assert.Equal(t, 0, lineOf(t, ptx, ".entry"))
	assert.Equal(t, 0, lineOf(t, ptx, ".file"))
}

func TestMachineCode(t *testing.T) {
	l, _ := lowered(t)
	code := stage.MachineCode(l, strings.Join([]string{
		"\t.section\t.text.scale,\"ax\",@progbits", ".text.scale:",
		"\t//## File \"scale.tile\", line 6", "        /*0000*/                   LDG.E R0 ;",
		"\t//## File \"elsewhere.tile\", line 7", "        /*0010*/                   MOV R1, R0 ;", "",
		"\t//## File \"scale.tile\", line 700", "        /*0020*/                   EXIT ;", "",
	}, "\n"))
	require.Len(t, code, 3)
	assert.Equal(t, []int{6, 0, 0}, code.LinesOf(l.Func.Axes[0].At.Source))
	assert.Equal(t, "        /*0020*/                   EXIT ;", code[2].Text)
}

// What is shown of a form is what differs from the one before, with what is around it, and the places are those of either form.
func TestDifferences(t *testing.T) {
	source := lang.NewSource("a.tile", strings.Repeat("x\n", 40))
	form := func(title string, lines ...int) stage.Form {
		var l lang.Listing
		for _, n := range lines {
			l = append(l, lang.ListedLine{Text: string(rune('a' + n)), At: source.LineSpan(n + 1)})
		}
		return stage.Form{Title: title, Listing: l}
	}
	got := stage.Differences([]stage.Form{
		form("one", 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11), form("two", 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11),
		form("three", 20, 1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 12), form("four"),
	})
	assert.Equal(t, "// one\na\nb\nc\nd\ne\nf\ng\nh\ni\nj\nk\nl\n"+
		"// three\n- a\n+ u\n  b\n  c\n  d\n  …\n  h\n  i\n  j\n- k\n  l\n+ m\n"+
		"// four\n- u\n- b\n- c\n- d\n- e\n- f\n- g\n- h\n- i\n- j\n- l\n- m\n", got.String())
	for i, line := range got.LinesOf(source) {
		text := strings.TrimLeft(got[i].Text, "+- ")
		if len(text) == 1 {
			assert.Equal(t, int(text[0]-'a')+1, line, got[i].Text)
		} else {
			assert.Zero(t, line, got[i].Text)
		}
	}
}
