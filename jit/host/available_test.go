package host

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestAvailable(t *testing.T) {
	const meminfo = "MemTotal:       100 kB\nMemAvailable:    40 kB\nSwapFree:         2 kB\n"
	for _, c := range []struct {
		meminfo, most, now, stat string
		want                     int64
	}{
		{"", "", "", "", 0},
		{meminfo, "", "", "", 42 << 10},
		{meminfo, "max\n", "5\n", "anon 3\nfile 2\n", 42 << 10},
		{meminfo, "10240\n", "5120\n", "anon 3\nfile 1024\n", 6 << 10},
		{meminfo, "99999999\n", "5120\n", "file 1024\n", 42 << 10},
		{meminfo, "10240\n", "", "", 42 << 10},
		{meminfo, "10240\n", "10300\n", "file 7\n", 1}, // above its limit for a moment
		{"MemAvailable: much\n", "10240\n", "0\n", "", 10 << 10},
	} {
		assert.Equal(t, c.want, available([]byte(c.meminfo), []byte(c.most), []byte(c.now), []byte(c.stat)), "%+v", c)
	}
	if Memory() > 0 {
		assert.Positive(t, Available())
	}
}
