package cache

import (
	"errors"
	"runtime/debug"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// recorded is a build of a revision.
func recorded(settings ...debug.BuildSetting) *debug.BuildInfo {
	return &debug.BuildInfo{GoVersion: "go1.26", Main: debug.Module{Path: "tilec", Version: "(devel)"}, Settings: settings}
}

func TestBuildsOfOneVersionDiffer(t *testing.T) {
	executable := func(hash string) func() (string, error) { return func() (string, error) { return hash, nil } }
	revision := func(r string) debug.BuildSetting { return debug.BuildSetting{Key: "vcs.revision", Value: r} }
	modified := func(m string) debug.BuildSetting { return debug.BuildSetting{Key: "vcs.modified", Value: m} }

	clean := buildOf(recorded(revision("a"), modified("false")), executable("1"))
	assert.Equal(t, clean, buildOf(recorded(revision("a"), modified("false")), executable("2")), "one revision is one build")
	assert.NotEqual(t, clean, buildOf(recorded(revision("b"), modified("false")), executable("1")))
	assert.NotEqual(t, clean, buildOf(recorded(revision("a"), modified("false"), debug.BuildSetting{Key: "-tags", Value: "cu"}), executable("1")), "its settings count")

	for name, info := range map[string]*debug.BuildInfo{
		"no record":       nil,
		"not stamped":     recorded(),
		"changed sources": recorded(revision("a"), modified("true")),
		"a dependency from a folder": {Settings: []debug.BuildSetting{revision("a"), modified("false")},
			Deps: []*debug.Module{{Path: "x", Replace: &debug.Module{Path: "../x"}}}},
	} {
		assert.NotEqual(t, buildOf(info, executable("1")), buildOf(info, executable("2")), name)
		assert.Equal(t, buildOf(info, executable("1")), buildOf(info, executable("1")), name)
		assert.Empty(t, buildOf(info, func() (string, error) { return "", errors.New("no such file") }), name)
	}
}

func TestKeysHoldTheBuild(t *testing.T) {
	require.NotEmpty(t, Build())
	assert.Equal(t, NewKey("ptx").Sum(), newKey(Build(), "ptx").Sum())
	assert.NotEqual(t, newKey("one", "ptx").Sum(), newKey("other", "ptx").Sum())
}
