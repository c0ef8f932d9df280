package lang

import (
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestSettingsAreWhole(t *testing.T) {
	seen := map[string]bool{}
	for _, s := range AllSettings() {
		assert.False(t, seen[s.Name], "%s is there twice", s.Name)
		seen[s.Name] = true
		assert.NotZero(t, s.At, s.Name)
		assert.NotEmpty(t, s.Doc, s.Name)
		assert.True(t, strings.HasPrefix(s.Written, "@"+s.Name), s.Name)
		assert.Equal(t, s.Takes == TakesWord, len(s.Words) > 0, s.Name)
		if s.Takes == TakesNumber {
			assert.Positive(t, s.Most, s.Name)
		}
		if s.Most > 0 {
			assert.Contains(t, s.Doc, "up to "+strconv.FormatInt(s.Most, 10), s.Name)
			assert.NotEmpty(t, s.Unit, s.Name)
		}
		assert.Equal(t, s.PowerOfTwo, strings.Contains(s.Doc, "power of two"), s.Name)
	}
	assert.Equal(t, []string{"warps", "stages", "occupancy", "cluster", "split", "producer", "persist", "private", "relayout", "cut", "online", "ranges", "longest", "phases", "overlap", "deferred", "moments", "chains", "kept", "stagger", "words", "selection", "wgmma"}, PlanSettings())
	assert.Equal(t, []string{"longest", "phases", "overlap", "deferred", "moments", "chains", "kept", "stagger", "words", "selection"}, Forms())
	assert.Equal(t, []string{"evict_first", "evict_last", "evict_normal", "no_allocate"}, CacheHints())
	_, ok := FindSetting("latency", OnKernel)
	assert.False(t, ok)
	_, ok = FindSetting("warps", Nowhere)
	assert.False(t, ok)
}

func TestPrecision(t *testing.T) {
	for word, want := range map[string]string{"": "", "tf32": "", "tf32x3": "tf32x3", "ieee": "ieee"} {
		p, ok := Precision(word)
		assert.True(t, ok, word)
		assert.Equal(t, want, p, word)
	}
	_, ok := Precision("bf16")
	assert.False(t, ok)
}

func TestSettingCheck(t *testing.T) {
	warps, _ := FindSetting("warps", AtLaunch)
	for n, want := range map[int64]*SettingFault{
		1: nil, 32: nil,
		0:  {Reason: "must be 1 to 32", Fits: 1},
		33: {Reason: "must be 1 to 32 warps in a block: 1 too many", Fits: 32},
		12: {Reason: "must be a power of two: 8 or 16", Fits: 8, Next: 16},
	} {
		assert.Equal(t, want, warps.Check(n), n)
	}
	persist, _ := FindSetting("persist", AtLaunch)
	assert.Nil(t, persist.Check(0))
	assert.Equal(t, &SettingFault{Reason: "must be 0 to 2", Fits: 0}, persist.Check(-1))
	assert.Equal(t, &SettingFault{Reason: "must be 0 to 2 teams of warps: 1 too many", Fits: 2}, persist.Check(3))
	assert.EqualValues(t, 0, LeastPin("persist"))
	assert.EqualValues(t, 1, LeastPin("warps"))
	assert.EqualValues(t, 1, LeastPin("BM"))
}
