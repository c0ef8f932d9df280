package backend

import "fmt"

// roomy is a device that knows how much memory it has.
type roomy interface {
	Room() (free, total int64, err error)
}

// Room is how many bytes of a device's memory are free, for every process, and how many it has. It is not ok where the device does not know.
func Room(d Device) (free, total int64, ok bool) {
	r, ok := d.(roomy)
	if !ok || Usable(d, "") != nil {
		return 0, 0, false
	}
	free, total, err := r.Room()
	return free, total, err == nil && free > 0
}

// FormatBytes is a size as people read it: "1.4 GiB", "300.0 MiB", "17 bytes".
func FormatBytes(n int64) string {
	switch {
	case n >= 1<<30:
		return fmt.Sprintf("%.1f GiB", float64(n)/(1<<30))
	case n >= 1<<20:
		return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
	case n >= 1<<10:
		return fmt.Sprintf("%.0f KiB", float64(n)/(1<<10))
	}
	return fmt.Sprintf("%d bytes", n)
}
