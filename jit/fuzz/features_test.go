package fuzz

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tilec/lang"
)

// notGenerated are the operations of the table that no program has, with why.
var notGenerated = map[lang.Op]string{
	lang.OpCumSum:  "it is a scan in the IR",
	lang.OpCumProd: "it is a scan in the IR",
	lang.OpJoin:    "it is made of a split of the plan",
}

// mostPrograms bounds the programs in which an operation is looked for; the rarest is in one of about a hundred.
const mostPrograms = 1500

// Every operation of the table is generated, or is excepted with a reason.
func TestEveryOperationIsGenerated(t *testing.T) {
	missing := map[string]bool{}
	for _, op := range lang.Ops() {
		if notGenerated[op] == "" {
			missing[op.String()] = true
		}
	}
	for seed := uint64(1); len(missing) > 0 && seed <= mostPrograms; seed++ {
		for _, f := range Features(Generate(seed)) {
			if name, ok := strings.CutPrefix(f, "operation "); ok {
				op, known := lang.OpByName(name)
				require.True(t, known, name)
				assert.Empty(t, notGenerated[op], "%s is generated, and excepted", name)
				delete(missing, name)
			}
		}
	}
	for name := range missing {
		t.Errorf("no program has %s: make the generator write it, and the reference compute it, or except it with a reason", name)
	}
}

func TestFeatures(t *testing.T) {
	fs := Features(&Case{Source: `@warps(4)
kernel k(x: f16[M, K], ids: i32[M]) -> y: f32[M]
    tune B in {4, 8}
    grid i in M by B
{
    axis k in K[.. K / 2]
    y[i] = dot(x[i, k], (x[ids[i], k] else 0), over k)
}
`, Trials: []Trial{{Dims: map[string]int64{"M": 3, "K": 5}, Style: Normal, Pins: map[string]int64{"B": 4}}}})
	for _, want := range []string{"operation dot", "contraction f16", "type f16", "axis grid", "axis whole part", "access load",
		"access load else gather", "access store", "attribute warps", "attribute tune", "input normal", "pin extent"} {
		assert.Contains(t, fs, want)
	}
}

// What differs in numbers and names alone has one cause; another check or operation is another.
func TestCauses(t *testing.T) {
	source := func(e string) *Case {
		return &Case{Source: "kernel k(x: f32[N]) -> y: f32[N]\n    grid i in N by B\n{\n    axis d in N\n    y[i] = " + e + "\n}\n",
			Trials: []Trial{{Dims: map[string]int64{"N": 3}}}}
	}
	found := func(check string) *Problem {
		return problem(RunError, "k: kernel k: the emulator found:\n\tfuzz.tile:5: %s (block 0,0,0 warp 1 lanes 24), 16 times", check)
	}
	a := causeOf(found("race: writes shared memory at 0x30"), source("sum(x[d], over d)"))
	assert.Equal(t, a, causeOf(found("race: writes shared memory at 0x1000"), source("exp(sum(x[d] * 2, over d)) + x[i]")))
	assert.NotEqual(t, a, causeOf(found("race: writes shared memory at 0x30"), source("min(x[d], over d)")))
	assert.NotEqual(t, a, causeOf(found("uninitialised: reads shared memory"), source("sum(x[d], over d)")))
	assert.Equal(t, "wrong in exp", causeOf(problem(Wrong, "1 of 3 elements"), source("exp(x[i])")))
	assert.Equal(t, "hang", causeOf(problem(Hang, "nothing happened"), source("exp(x[i])")))

	r := &Report{}
	for i, text := range []string{"long", "a", "medium"} {
		r.Note(Event{Seed: uint64(i), Done: true, Finding: &Finding{Seed: uint64(i), Cause: text[:1], Case: text}})
	}
	r.Note(Event{Seed: 3, Done: true, Finding: &Finding{Seed: 3, Cause: "l", Case: "lo"}})
	r.Note(Event{Seed: 2, Finding: &Finding{Seed: 2, Cause: "l", Case: "l", Small: true}})
	groups := r.Causes()
	require.Len(t, groups, 2)
	assert.Len(t, groups[0], 3)
	assert.Equal(t, "l", groups[0][0].Case)
	assert.Equal(t, 4, r.Programs)
}
