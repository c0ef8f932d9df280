package typecheck_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tilec/lang"
	"tilec/parser"
	"tilec/typecheck"
)

// settable are programs with a place for attributes, %s, each of a kind.
var settable = map[lang.SettingPlace]string{
	lang.OnKernel: "%s kernel f<T: float>(x: T[M, K]) -> y: f32[M]\n    tune BM in {8, 128}\n    grid i in M by BM\n{\n    axis k in K\n    y[i] = sum(x[i, k], over k)\n}\n",
	lang.OnGraph:  "%s graph g<T: float>(x: T[M, H]) -> y: T[M, H] {\n    y = x * 2\n}\n",
	lang.OnField:  "struct s {\n    w: f32[M, N] %s\n}\n",
	lang.OnAccess: "kernel f(x: f32[N]) -> y: f32[N] {\n    y[i] = x[i] %s\n}\n",
}

func problems(t *testing.T, text string) lang.Diagnostics {
	t.Helper()
	m, ds := parser.Parse(lang.NewSource("settings.tile", text))
	require.Empty(t, ds, text)
	_, ds = typecheck.Check(m, nil)
	return ds.Errors()
}

// The checker takes every setting where its row says that it may stand, as the row writes it, and nowhere else.
func TestSettingsStandWhereTheirRowSays(t *testing.T) {
	for _, s := range lang.AllSettings() {
		for at, program := range settable {
			ds := problems(t, fmt.Sprintf(program, s.Written))
			if s.At&at == 0 {
				require.NotEmpty(t, ds, "%s at %d", s.Written, at)
				assert.Contains(t, ds[0].Message, "has no attribute @"+s.Name)
				continue
			}
			for _, d := range ds {
				if s.Name == "generate" || s.Name == "logits" { // they ask more of a graph than this one has
					assert.NotContains(t, d.Message, "has no attribute")
					continue
				}
				assert.NotEqual(t, lang.ErrAttribute, d.Code, "%s: %s", s.Written, d.Message)
			}
		}
	}
}

// A number is good up to what its row says, as an attribute and in @target, and not beyond.
func TestNumbersOfSettings(t *testing.T) {
	for _, s := range lang.AllSettings() {
		if s.Takes != lang.TakesNumber {
			continue
		}
		for at, program := range settable {
			if s.At&at == 0 {
				continue
			}
			forms := []string{"@%s(%d)"}
			if s.At&lang.InTarget != 0 {
				forms = append(forms, "@target(cpu, %s = %d)")
			}
			for _, form := range forms {
				for n, good := range map[int64]bool{0: s.FromZero, 1: true, 3: !s.PowerOfTwo, s.Most: true, s.Most + 1: false} {
					text := fmt.Sprintf(form, s.Name, n)
					ds := problems(t, fmt.Sprintf(program, text))
					assert.Equal(t, good, len(ds) == 0, "%s: %v", text, ds)
				}
			}
		}
	}
}
