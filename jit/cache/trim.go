package cache

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"time"
)

const (
	tempPrefix = "tmp-"
	// stampName is a file whose time says when the cache was last trimmed, by any
	// process.
	stampName = "trimmed"
	// trimInterval is how long a trimming is good for. Looking at every entry is
	// too dear to do on each write.
	trimInterval = time.Hour
	// tempLife is when a temporary file must be the rest of a process that died.
	tempLife = time.Hour
	// A trimming goes down to trimKeep of trimOf, so that the next write does not
	// call for another; so does having written trimOf-trimKeep of it in one process.
	trimKeep, trimOf = 7, 8
)

// due says whether to trim after having written n bytes.
func (c *Cache) due(n int64) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	first := c.written == 0
	c.written += n
	if c.written > c.MaxBytes/trimOf*(trimOf-trimKeep) {
		c.written = 0
		return true
	}
	if !first {
		return false
	}
	info, err := os.Stat(filepath.Join(c.dir, stampName))
	return err != nil || time.Since(info.ModTime()) > trimInterval
}

type entry struct {
	path string
	size int64
	used time.Time
	temp bool
}

// entries lists the files of the cache and nothing else that lies in its directory.
func (c *Cache) entries() ([]entry, error) {
	var list []entry
	folders, err := os.ReadDir(c.dir)
	if err != nil {
		return nil, err
	}
	for _, folder := range folders {
		if !folder.IsDir() || len(folder.Name()) != 2 || !isHex(folder.Name()) {
			continue
		}
		files, err := os.ReadDir(filepath.Join(c.dir, folder.Name()))
		if err != nil {
			return nil, err
		}
		for _, f := range files {
			name := f.Name()
			temp := strings.HasPrefix(name, tempPrefix)
			if !temp && (len(name) != 2*len(Key{}) || !isHex(name)) {
				continue
			}
			info, err := f.Info()
			if errors.Is(err, fs.ErrNotExist) {
				continue // another process was quicker
			}
			if err != nil {
				return nil, err
			}
			list = append(list, entry{filepath.Join(c.dir, folder.Name(), name), info.Size(), info.ModTime(), temp})
		}
	}
	return list, nil
}

func isHex(s string) bool {
	return strings.Trim(s, "0123456789abcdef") == ""
}

// Size counts the entries and their bytes.
func (c *Cache) Size() (entries int, bytes int64, err error) {
	if c.Dir() == "" {
		return 0, 0, nil
	}
	list, err := c.entries()
	for _, e := range list {
		if !e.temp {
			entries++
			bytes += e.size
		}
	}
	return entries, bytes, err
}

// Trim removes what was used longest ago until the cache is well below MaxBytes. It
// happens by itself now and then.
func (c *Cache) Trim() error {
	if c.Dir() == "" {
		return nil
	}
	// The stamp comes first, so that other processes do not trim as well.
	if err := os.WriteFile(filepath.Join(c.dir, stampName), nil, 0o666); err != nil {
		return err
	}
	list, err := c.entries()
	if err != nil {
		return err
	}
	var total int64
	for _, e := range list {
		total += e.size
	}
	sort.Slice(list, func(i, j int) bool { // a generic sort of another type is 18 KB more of the binary
		a, b := list[i], list[j]
		return cmp.Or(a.used.Compare(b.used), cmp.Compare(a.path, b.path)) < 0
	})
	over := total > c.MaxBytes
	var failed error
	for _, e := range list {
		stale := e.temp && time.Since(e.used) > tempLife
		evict := !e.temp && over && total > c.MaxBytes/trimOf*trimKeep
		if !stale && !evict {
			continue
		}
		if err := os.Remove(e.path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			failed = errors.Join(failed, err)
			continue
		}
		total -= e.size
	}
	return failed
}

// Clear removes every entry.
func (c *Cache) Clear() error {
	if c.Dir() == "" {
		return nil
	}
	list, err := c.entries()
	for _, e := range list {
		if e := os.Remove(e.path); e != nil && !errors.Is(e, fs.ErrNotExist) {
			err = errors.Join(err, e)
		}
	}
	return err
}
