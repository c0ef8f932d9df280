package cuda

import "fmt"

// A Device describes one GPU. Sizes are in bytes, clocks in kHz.
type Device struct {
	Ordinal int
	Name    string
	UUID    UUID
	Memory  uint64 // global memory

	Major, Minor int // compute capability

	SMs             int // streaming multiprocessors
	L2              int
	SharedPerBlock  int // most shared memory a block may have, by opting in
	SharedPerSM     int
	SharedReserved  int // shared memory a block that the driver keeps for itself
	RegistersPerSM  int // 32-bit registers
	ThreadsPerSM    int
	BlocksPerSM     int
	ThreadsPerBlock int
	WarpSize        int
	Clock           int // peak SM clock
	MemoryClock     int
	MemoryBusWidth  int // bits
	MostPassing     int // bytes of LaunchConfig.Passing

	handle int32
}

// Capability is the compute capability as one number: 90 for 9.0.
func (d Device) Capability() int { return 10*d.Major + d.Minor }

// String is the name, the target, the multiprocessors and the memory.
func (d Device) String() string {
	return fmt.Sprintf("%s (sm_%d, %d SMs, %.0f GiB)", d.Name, d.Capability(), d.SMs, float64(d.Memory)/(1<<30))
}

// A UUID names a device across processes and restarts.
type UUID [16]byte

// String formats the UUID as nvidia-smi does.
func (u UUID) String() string {
	return fmt.Sprintf("GPU-%x-%x-%x-%x-%x", u[0:4], u[4:6], u[6:8], u[8:10], u[10:16])
}

// deviceAttributes says which driver attribute fills which field.
var deviceAttributes = []struct {
	attribute int32
	field     func(*Device) *int
}{
	{75, func(d *Device) *int { return &d.Major }},
	{76, func(d *Device) *int { return &d.Minor }},
	{16, func(d *Device) *int { return &d.SMs }},
	{38, func(d *Device) *int { return &d.L2 }},
	{97, func(d *Device) *int { return &d.SharedPerBlock }},
	{81, func(d *Device) *int { return &d.SharedPerSM }},
	{111, func(d *Device) *int { return &d.SharedReserved }},
	{82, func(d *Device) *int { return &d.RegistersPerSM }},
	{39, func(d *Device) *int { return &d.ThreadsPerSM }},
	{106, func(d *Device) *int { return &d.BlocksPerSM }},
	{1, func(d *Device) *int { return &d.ThreadsPerBlock }},
	{10, func(d *Device) *int { return &d.WarpSize }},
	{13, func(d *Device) *int { return &d.Clock }},
	{36, func(d *Device) *int { return &d.MemoryClock }},
	{37, func(d *Device) *int { return &d.MemoryBusWidth }},
	{109, func(d *Device) *int { return &d.MostPassing }},
}

func readDevice(bind binding, ordinal int) (Device, error) {
	d := Device{Ordinal: ordinal}
	var err error
	if d.handle, err = bind.device(ordinal); err != nil {
		return d, err
	}
	if d.Name, err = bind.deviceName(d.handle); err != nil {
		return d, err
	}
	if d.UUID, err = bind.deviceUUID(d.handle); err != nil {
		return d, err
	}
	if d.Memory, err = bind.deviceMemory(d.handle); err != nil {
		return d, err
	}
	for _, a := range deviceAttributes {
		v, err := bind.deviceAttribute(a.attribute, d.handle)
		if err != nil {
			return d, err
		}
		*a.field(&d) = v
	}
	return d, nil
}
