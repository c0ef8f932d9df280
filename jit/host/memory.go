// Package host says what the machine has.
package host

import (
	"bufio"
	"fmt"
	"os"
	"sync"
)

// Memory is the size of this machine's memory in bytes; 0 where the system
// does not say. Go ends the whole process when an allocation cannot be met, so
// sizes that come from a user are compared with it first.
var Memory = sync.OnceValue(func() int64 {
	f, err := os.Open("/proc/meminfo")
	if err != nil {
		return 0
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		var kib int64
		if n, _ := fmt.Sscanf(lines.Text(), "MemTotal: %d kB", &kib); n == 1 {
			return kib << 10
		}
	}
	return 0
})
