package cache

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func key(n int) Key { return NewKey("test").AddInt("n", int64(n)).Sum() }

// content is an artifact that can be told from every other.
func content(n, size int) []byte {
	return bytes.Repeat(fmt.Appendf(nil, "%08d", n), size/8)
}

func TestPutThenGet(t *testing.T) {
	c := Open(t.TempDir())
	_, ok := c.Get(key(1))
	require.False(t, ok)
	for n, data := range [][]byte{{}, []byte("x"), content(2, 1<<20)} {
		c.Put(key(n), data)
		got, ok := c.Get(key(n))
		require.True(t, ok)
		require.True(t, bytes.Equal(data, got))
	}
	c.Put(key(1), []byte("newer"))
	got, _ := Open(c.Dir()).Get(key(1))
	require.Equal(t, "newer", string(got), "a later process sees the last write")
	require.NoError(t, c.Warn())
}

func TestKeysDifferByLabelOrderAndLength(t *testing.T) {
	keys := map[string]Key{
		"nothing":      NewKey("ptx").Sum(),
		"other kind":   NewKey("ptx2").Sum(),
		"a=bc":         NewKey("ptx").Add("a", "bc").Sum(),
		"ab=c":         NewKey("ptx").Add("ab", "c").Sum(),
		"a=b c=d":      NewKey("ptx").Add("a", "b").Add("c", "d").Sum(),
		"c=d a=b":      NewKey("ptx").Add("c", "d").Add("a", "b").Sum(),
		"empty a":      NewKey("ptx").Add("a", "").Sum(),
		"number":       NewKey("ptx").AddInt("a", 1).Sum(),
		"other number": NewKey("ptx").AddInt("a", 256).Sum(),
	}
	seen := map[Key]string{}
	for name, k := range keys {
		assert.Emptyf(t, seen[k], "%s has the key of %s", name, seen[k])
		seen[k] = name
	}
	assert.Equal(t, keys["a=bc"], NewKey("ptx").AddBytes("a", []byte("bc")).Sum(), "the same parts give the same key")
}

func TestDamagedEntryIsRemovedAndReported(t *testing.T) {
	data := content(7, 4096)
	damage := map[string]struct {
		do   func(file []byte) []byte
		says string
	}{
		"empty":                {func(f []byte) []byte { return nil }, "header"},
		"cut in the header":    {func(f []byte) []byte { return f[:20] }, "header"},
		"cut after the header": {func(f []byte) []byte { return f[:headerSize] }, "holds 0 bytes of 4096"},
		"cut":                  {func(f []byte) []byte { return f[:len(f)-1] }, "holds 4095 bytes of 4096"},
		"too long":             {func(f []byte) []byte { return append(f, 0) }, "holds 4097 bytes of 4096"},
		"other magic":          {flip(0), "version"},
		"other length":         {flip(len(magic)), "bytes of"},
		"other checksum":       {flip(headerSize - 1), "checksum"},
		"first byte flipped":   {flip(headerSize), "checksum"},
		"last byte flipped":    {flip(headerSize + 4095), "checksum"},
		"zeros after a crash":  {func(f []byte) []byte { return make([]byte, len(f)) }, "version"},
	}
	for name, d := range damage {
		t.Run(name, func(t *testing.T) {
			c := Open(t.TempDir())
			c.Put(key(7), data)
			path := c.path(key(7))
			file, err := os.ReadFile(path)
			require.NoError(t, err)
			require.NoError(t, os.WriteFile(path, d.do(file), 0o666))

			_, ok := c.Get(key(7))
			require.False(t, ok, "a damaged entry is a miss")
			require.ErrorContains(t, c.Warn(), d.says)
			require.NoFileExists(t, path)

			c.Put(key(7), data)
			got, ok := c.Get(key(7))
			require.True(t, ok, "it is built again")
			require.Equal(t, data, got)
		})
	}
}

func flip(at int) func([]byte) []byte {
	return func(f []byte) []byte { f[at] ^= 0x40; return f }
}

func TestEntryUnderAnotherKeyIsNotTrusted(t *testing.T) {
	c := Open(t.TempDir())
	c.Put(key(1), []byte("one"))
	require.NoError(t, os.MkdirAll(filepath.Dir(c.path(key(2))), 0o700))
	require.NoError(t, os.Rename(c.path(key(1)), c.path(key(2))))
	_, ok := c.Get(key(2))
	require.False(t, ok)
}

func TestOff(t *testing.T) {
	t.Setenv(DirVariable, "off")
	for _, c := range []*Cache{Open(""), nil} {
		c.Put(key(1), []byte("x"))
		_, ok := c.Get(key(1))
		require.False(t, ok)
		require.Empty(t, c.Dir())
		require.NoError(t, c.Warn())
		require.NoError(t, c.Trim())
		require.NoError(t, c.Clear())
	}
}

func TestDirectoryByEnvironment(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "made", "as needed")
	t.Setenv(DirVariable, dir)
	require.Equal(t, dir, Open("").Dir())
	require.DirExists(t, dir)

	t.Setenv(DirVariable, "")
	t.Setenv("XDG_CACHE_HOME", dir)
	t.Setenv("HOME", dir)
	base, err := os.UserCacheDir()
	require.NoError(t, err)
	require.Equal(t, filepath.Join(base, "tilec"), Open("").Dir())
}

// A file where a directory is needed cannot be written by anybody, root included.
func TestUnwritableDirectoryIsNoCache(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	require.NoError(t, os.WriteFile(file, nil, 0o666))

	c := Open(filepath.Join(file, "cache"))
	require.ErrorContains(t, c.Warn(), DirVariable)
	c.Put(key(1), []byte("x"))
	_, ok := c.Get(key(1))
	require.False(t, ok)

	c = Open(dir)
	require.NoError(t, os.WriteFile(filepath.Dir(c.path(key(1))), nil, 0o666))
	require.NoError(t, c.Warn())
	c.Put(key(1), []byte("x"))
	require.ErrorContains(t, c.Warn(), "cannot write to the cache")
}

func TestTrimRemovesWhatWasUsedLongestAgo(t *testing.T) {
	c := Open(t.TempDir())
	const n, size = 16, 8000
	c.MaxBytes = 1 << 40
	start := time.Now().Add(-time.Hour)
	for i := range n {
		c.Put(key(i), content(i, size))
		used := start.Add(time.Duration(i) * time.Minute)
		require.NoError(t, os.Chtimes(c.path(key(i)), used, used))
	}
	_, ok := c.Get(key(0)) // the oldest becomes the newest
	require.True(t, ok)
	stranger := filepath.Join(c.Dir(), "notes.txt")
	require.NoError(t, os.WriteFile(stranger, make([]byte, 1<<16), 0o666))

	c.MaxBytes = n * size / 2
	require.NoError(t, c.Trim())
	entries, bytes, err := c.Size()
	require.NoError(t, err)
	require.LessOrEqual(t, bytes, c.MaxBytes)
	require.GreaterOrEqual(t, entries, n/2-2, "it does not remove more than it has to")
	for i := range n {
		_, err := os.Stat(c.path(key(i)))
		kept := err == nil
		assert.Equalf(t, i == 0 || i > n-entries, kept, "entry %d", i)
	}
	require.FileExists(t, stranger, "what is not an entry is left alone")

	require.NoError(t, c.Clear())
	entries, _, err = c.Size()
	require.NoError(t, err)
	require.Zero(t, entries)
	require.FileExists(t, stranger)
}

func TestTrimHappensByItself(t *testing.T) {
	c := Open(t.TempDir())
	c.MaxBytes = 64 << 10
	for i := range 64 {
		c.Put(key(i), content(i, 8<<10))
	}
	_, bytes, err := c.Size()
	require.NoError(t, err)
	require.LessOrEqual(t, bytes, c.MaxBytes+c.MaxBytes/trimOf+9<<10)
	_, ok := c.Get(key(63))
	require.True(t, ok, "the newest is kept")

	before, err := os.Stat(filepath.Join(c.Dir(), stampName))
	require.NoError(t, err)
	Open(c.Dir()).Put(key(1000), []byte("small"))
	after, err := os.Stat(filepath.Join(c.Dir(), stampName))
	require.NoError(t, err)
	require.Equal(t, before.ModTime(), after.ModTime(), "a process that writes little does not trim again")
}

func TestTrimRemovesRestsOfDeadProcesses(t *testing.T) {
	c := Open(t.TempDir())
	c.Put(key(1), []byte("x"))
	folder := filepath.Dir(c.path(key(1)))
	old, young := filepath.Join(folder, tempPrefix+"1"), filepath.Join(folder, tempPrefix+"2")
	require.NoError(t, os.WriteFile(old, nil, 0o666))
	require.NoError(t, os.WriteFile(young, nil, 0o666))
	long := time.Now().Add(-2 * tempLife)
	require.NoError(t, os.Chtimes(old, long, long))
	require.NoError(t, c.Trim())
	require.NoFileExists(t, old)
	require.FileExists(t, young, "it may still be being written")
	_, ok := c.Get(key(1))
	require.True(t, ok)
}

// workerVariable makes this test binary a process of TestConcurrentProcesses.
const workerVariable = "TILEC_CACHE_TEST_WORKER"

// workers are what this test binary does as a process of another test, by the variable that names its folder.
var workers = map[string]func(dir string) error{workerVariable: work}

func TestMain(m *testing.M) {
	for variable, run := range workers {
		if dir := os.Getenv(variable); dir != "" {
			if err := run(dir); err != nil {
				fmt.Fprintln(os.Stderr, err)
				os.Exit(1)
			}
			return
		}
	}
	os.Exit(m.Run())
}

// work writes and reads the same few entries as its siblings, damages some and
// trims, and complains when it reads what nobody wrote.
func work(dir string) error {
	c := Open(dir)
	c.MaxBytes = 256 << 10
	hits := 0
	for round := range 60 {
		for n := range 8 {
			want := content(n, 32<<10)
			switch got, ok := c.Get(key(n)); {
			case !ok:
				c.Put(key(n), want)
			case !bytes.Equal(got, want):
				return fmt.Errorf("entry %d has a wrong content of %d bytes", n, len(got))
			default:
				hits++
			}
		}
		if round%20 == os.Getpid()%20 {
			os.Truncate(c.path(key(round%8)), 1000)
		}
	}
	if hits == 0 {
		return fmt.Errorf("no entry was ever found, warning: %v", c.Warn())
	}
	return nil
}

func TestConcurrentProcesses(t *testing.T) {
	dir := t.TempDir()
	var wg sync.WaitGroup
	for range 6 {
		wg.Go(func() {
			cmd := exec.Command(os.Args[0])
			cmd.Env = append(os.Environ(), workerVariable+"="+dir)
			out, err := cmd.CombinedOutput()
			assert.NoError(t, err, string(out))
		})
	}
	wg.Wait()
	filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		assert.NoError(t, err)
		assert.False(t, strings.HasPrefix(filepath.Base(path), tempPrefix), "no temporary file is left: %s", path)
		return nil
	})
}

func TestConcurrentGoroutines(t *testing.T) {
	c := Open(t.TempDir())
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			for i := range 50 {
				n := (g + i) % 4
				c.Put(key(n), content(n, 4096))
				if got, ok := c.Get(key(n)); ok {
					assert.Equal(t, content(n, 4096), got)
				}
			}
		})
	}
	wg.Wait()
	require.NoError(t, c.Warn())
}
