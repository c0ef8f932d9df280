package host

import (
	"bufio"
	"bytes"
	"os"
	"strconv"
	"strings"
)

// Available is how many bytes of memory a process can still get: what is free or can be freed, of the machine and of the control
// group that the process is in, as containers are. 0 where the system does not say.
func Available() int64 {
	meminfo, _ := os.ReadFile("/proc/meminfo")
	stat, _ := os.ReadFile("/sys/fs/cgroup/memory.stat")
	most, _ := os.ReadFile("/sys/fs/cgroup/memory.max")
	now, _ := os.ReadFile("/sys/fs/cgroup/memory.current")
	return available(meminfo, most, now, stat)
}

// available reads the system's files: what the machine has, and the most, the present and the cached memory of the control group.
func available(meminfo, most, now, stat []byte) int64 {
	machine := (field(meminfo, "MemAvailable:") + field(meminfo, "SwapFree:")) << 10
	limit, err := strconv.ParseInt(strings.TrimSpace(string(most)), 10, 64)
	if err != nil { // "max", or no control group of the second version
		return machine
	}
	used, err := strconv.ParseInt(strings.TrimSpace(string(now)), 10, 64)
	if err != nil {
		return machine
	}
	group := max(1, limit-used+field(stat, "file")) // what files are cached in comes back
	if machine == 0 {
		return group
	}
	return min(machine, group)
}

// field is the number behind a word at the beginning of a line; 0 where there is none.
func field(text []byte, word string) int64 {
	for lines := bufio.NewScanner(bytes.NewReader(text)); lines.Scan(); {
		parts := strings.Fields(lines.Text())
		if len(parts) >= 2 && parts[0] == word {
			n, err := strconv.ParseInt(parts[1], 10, 64)
			if err == nil && n > 0 {
				return n
			}
		}
	}
	return 0
}
