//go:build unix

package emu

import (
	"encoding/binary"
	"syscall"
	"testing"
)

// BenchmarkLaunch gives the speed in millions of thread instructions a second,
// on all cores, for the three kinds of code that kernels are made of; and in a
// second of one core's time, which a busy machine does not change much.
func BenchmarkLaunch(b *testing.B) {
	loop := func(body string) string {
		return `
	mov.b32 %r10, 0;
	mov.f32 %f1, 0f3F800001;
	mov.f32 %f2, 0f00000000;
	mov.b32 %r5, 0x3f803f80;
	mov.u32 %r2, buffer;
	mad.lo.u32 %r3, %r0, 16, %r2;
	mad.wide.u32 %rd2, %r0, 16, %rd0;
	st.shared.v4.b32 [%r3], {%r0, %r0, %r0, %r0};
	bar.sync 0;
again:` + body + `
	add.u32 %r10, %r10, 1;
	setp.lt.u32 %p1, %r10, 100;
	@%p1 bra again;`
	}
	programs := map[string]string{
		"arithmetic": loop(`
	fma.rn.f32 %f2, %f1, %f1, %f2;
	mul.f32 %f3, %f1, %f2;
	add.f32 %f4, %f3, %f2;
	max.f32 %f5, %f4, %f3;
	shl.b32 %r11, %r10, 2;
	mad.lo.s32 %r12, %r11, 3, %r10;
	cvt.rn.bf16x2.f32 %r13, %f4, %f5;
	selp.f32 %f6, %f4, %f5, %p2;`),
		"memory": loop(`
	ld.global.nc.v4.f32 {%f4, %f5, %f6, %f7}, [%rd2];
	add.f32 %f2, %f4, %f5;
	ld.shared.v4.b32 {%r11, %r12, %r13, %r14}, [%r3];
	add.u32 %r15, %r11, %r12;
	shfl.sync.bfly.b32 %r16, %r15, 1, 31, -1;
	ld.global.f32 %f8, [%rd2+4];`),
		"matrices": loop(`
	ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r11, %r12, %r13, %r14}, [%r3];
	mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%f4,%f5,%f6,%f7}, {%r11,%r12,%r13,%r14}, {%r5,%r5}, {%f2,%f2,%f2,%f2};
	shl.b32 %r15, %r10, 2;
	mad.lo.s32 %r16, %r15, 3, %r10;
	xor.b32 %r17, %r16, 16;
	add.u32 %r18, %r17, 16;`),
	}
	for name, body := range programs {
		b.Run(name, func(b *testing.B) {
			m, err := Parse(module(".shared .align 16 .b8 buffer[2048];\n", "setp.lt.u32 %p2, %r0, 7;"+body))
			if err != nil {
				b.Fatal(err)
			}
			memory := NewMemory()
			in, err := memory.Alloc(4096)
			if err != nil {
				b.Fatal(err)
			}
			if err := memory.Write(in, make([]byte, 4096)); err != nil {
				b.Fatal(err)
			}
			params := binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(nil, in), in)
			executed, begin := int64(0), processorTime(b)
			for b.Loop() {
				report, err := Launch(m, "k", [3]int{8, 1, 1}, [3]int{128, 1, 1}, 0, params, memory, Options{})
				if err != nil {
					b.Fatal(err)
				}
				if f := report.Findings; len(f) > 0 {
					b.Fatal(f[0])
				}
				executed += report.ThreadInstructions
			}
			b.ReportMetric(float64(executed)/b.Elapsed().Seconds()/1e6, "Minstr/s")
			b.ReportMetric(float64(executed)/(processorTime(b)-begin)/1e6, "Minstr/core-s")
		})
	}
}

// processorTime is what the process has used of all cores, in seconds.
func processorTime(b *testing.B) float64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return float64(u.Utime.Nano()+u.Stime.Nano()) / 1e9
}
