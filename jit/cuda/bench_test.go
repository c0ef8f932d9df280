package cuda

import "testing"

// The cost of a launch on the host; the device is kept from falling behind.
func BenchmarkLaunch(b *testing.B) {
	d := openDriver(b)
	c, err := d.Context(0)
	closing(b, c, err)
	s := stream(b, c)
	step := kernel(b, load(b, c, vectorPTX), "step")
	p := onDevice(b, c, []uint32{0})
	params := new(Params)
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		if err := s.Launch(step, one, params.Reset().Ptr(p).Uint32(1).Uint8(1)); err != nil {
			b.Fatal(err)
		}
		if i%512 == 511 {
			if err := s.Synchronize(); err != nil {
				b.Fatal(err)
			}
		}
	}
}
