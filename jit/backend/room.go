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

// MemoryError is a device with less free memory than is asked for.
type MemoryError struct {
	// Device is the device's name.
	Device string
	// Want is in bytes, and so are Free and Total; 0 for what is not known.
	Want, Free, Total int64
	// Err is the device's own error, nil where none was tried.
	Err error
}

func (e *MemoryError) Error() string {
	if e.Total == 0 {
		return fmt.Sprintf("out of memory: %s is needed, which %s does not have free", FormatBytes(e.Want), e.Device)
	}
	return fmt.Sprintf("out of memory: %s is needed, and %s has %s free of %s", FormatBytes(e.Want), e.Device, FormatBytes(e.Free), FormatBytes(e.Total))
}

func (e *MemoryError) Unwrap() error { return e.Err }

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
