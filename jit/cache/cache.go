// Package cache keeps compiled artifacts on disk, by content.
//
// A cache never gets in the way: what cannot be read is a miss, what cannot be
// written is not kept, and [Cache.Warn] and [Cache.Notify] say why. Any number of processes may share
// a directory. An entry carries a checksum that is verified on every read, so a
// damaged one is removed and built again, not trusted; nor is one that anybody but
// this user can have written (trust.go), or that another build of the compiler made (build.go).
package cache

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// DirVariable names the environment variable that moves the default cache, or
// switches it off when it is "off".
const DirVariable = "TILEC_CACHE"

// DefaultMaxBytes is the size that a cache is trimmed to unless told otherwise.
const DefaultMaxBytes = 1 << 30

// A Cache is a directory of artifacts. It is safe for concurrent use. A nil Cache
// and one that is switched off keep nothing.
type Cache struct {
	// MaxBytes is the size that trimming keeps the cache below. It may be changed
	// before the first use.
	MaxBytes int64

	dir string // empty: off

	mu      sync.Mutex
	warn    error
	notify  func(error)
	written int64 // bytes since the last look at the trim stamp
}

// Open opens the cache in a directory, which is made as needed. An empty name means
// what [DirVariable] says, and otherwise the folder "tilec" in the user's cache
// directory. Where there is no usable directory the cache keeps nothing.
func Open(dir string) *Cache {
	c := &Cache{MaxBytes: DefaultMaxBytes}
	if dir == "" {
		dir = os.Getenv(DirVariable)
	}
	if dir == "off" {
		return c
	}
	if dir == "" {
		base, err := os.UserCacheDir()
		if err != nil {
			c.report(fmt.Errorf("no cache: %w; set %s to a directory", err, DirVariable))
			return c
		}
		dir = filepath.Join(base, "tilec")
	}
	if err := usable(dir); err != nil {
		c.report(fmt.Errorf("no cache: %w; set %s to a directory of your own, or to off", err, DirVariable))
		return c
	}
	if Build() == "" {
		c.report(errors.New("no cache: this build of the compiler cannot be told from others"))
		return c
	}
	c.dir = dir
	return c
}

// usable makes the folder of a cache where there is none, and reports one that is not to be trusted. The name itself
// may be a link: it is the user who gives it.
func usable(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	info, err := os.Stat(dir)
	if err != nil {
		return err
	}
	return trusted(dir, info)
}

// Dir is the cache's directory; empty when the cache keeps nothing.
func (c *Cache) Dir() string {
	if c == nil {
		return ""
	}
	return c.dir
}

// Warn is the first reason why something could not be kept, or nil.
func (c *Cache) Warn() error {
	if c == nil {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.warn
}

// Notify has a function called with the first reason why something could not be
// kept or used: once, and at once where there is one already.
func (c *Cache) Notify(warn func(error)) {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.notify = warn; c.warn != nil {
		warn(c.warn)
	}
}

func (c *Cache) report(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.warn != nil {
		return
	}
	if c.warn = err; c.notify != nil {
		c.notify(err)
	}
}

// path spreads the entries over 256 folders, by the first byte of the key.
func (c *Cache) path(key Key) string {
	name := key.String()
	return filepath.Join(c.dir, name[:2], name)
}

// Get reads an artifact and marks it as used.
func (c *Cache) Get(key Key) ([]byte, bool) {
	if c.Dir() == "" {
		return nil, false
	}
	path := c.path(key)
	err := trustedFolder(filepath.Dir(path))
	var file []byte
	if err == nil {
		file, err = readTrusted(path, max(c.MaxBytes, DefaultMaxBytes))
	}
	if err != nil {
		if !errors.Is(err, fs.ErrNotExist) {
			c.report(fmt.Errorf("cannot read from the cache: %w", err))
		}
		return nil, false
	}
	data, err := decode(key, file)
	if err != nil {
		c.report(fmt.Errorf("cache entry %s was removed: %w", path, err))
		// Another process may just have replaced it: then a good entry is lost,
		// which costs one more build.
		os.Remove(path)
		return nil, false
	}
	now := time.Now()
	os.Chtimes(path, now, now) // without it the entry is only trimmed earlier
	return data, true
}

// Put keeps an artifact. It is written under another name and renamed, so that a
// reader sees all of it or nothing. Nothing waits for the disk: the checksum tells
// when a crash lost the content.
func (c *Cache) Put(key Key, data []byte) {
	if c.Dir() == "" {
		return
	}
	if err := c.put(key, data); err != nil {
		c.report(fmt.Errorf("cannot write to the cache: %w", err))
		return
	}
	if c.due(int64(len(data))) {
		if err := c.Trim(); err != nil {
			c.report(fmt.Errorf("cannot trim the cache: %w", err))
		}
	}
}

func (c *Cache) put(key Key, data []byte) error {
	path := c.path(key)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	if err := trustedFolder(filepath.Dir(path)); err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(path), tempPrefix)
	if err != nil {
		return err
	}
	_, err = f.Write(header(key, data))
	if err == nil {
		_, err = f.Write(data)
	}
	if e := f.Close(); err == nil {
		err = e
	}
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		os.Remove(f.Name())
	}
	return err
}
