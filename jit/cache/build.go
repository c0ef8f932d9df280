package cache

import (
	"crypto/sha256"
	"encoding/hex"
	"io"
	"os"
	"runtime/debug"
	"slices"
	"sync"
)

// Build names the program that is running, so that what one build of the compiler made is not used by another: two
// builds of one version may make other code of the same kernel. It is empty where nothing tells the builds apart; then
// nothing is kept.
var Build = sync.OnceValue(func() string {
	info, _ := debug.ReadBuildInfo()
	return buildOf(info, hashOfExecutable)
})

// buildOf is what a build recorded of itself where that says all that went into it: a revision of the repository
// without changes, or a module with its checksum, and no dependency from a folder. For any other build it is the hash
// of the executable.
func buildOf(info *debug.BuildInfo, executable func() (string, error)) string {
	if info != nil && records(info) {
		sum := sha256.Sum256([]byte(info.String()))
		return "build " + hex.EncodeToString(sum[:])
	}
	hash, err := executable()
	if err != nil {
		return ""
	}
	return "executable " + hash
}

func records(info *debug.BuildInfo) bool {
	settings := map[string]string{}
	for _, s := range info.Settings {
		settings[s.Key] = s.Value
	}
	if slices.ContainsFunc(info.Deps, func(m *debug.Module) bool { return m.Replace != nil && m.Replace.Sum == "" }) {
		return false
	}
	return info.Main.Sum != "" || settings["vcs.revision"] != "" && settings["vcs.modified"] == "false"
}

func hashOfExecutable() (string, error) {
	path, err := os.Executable()
	if err != nil {
		return "", err
	}
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}
