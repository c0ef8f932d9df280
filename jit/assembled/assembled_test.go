package assembled

import (
	"context"
	"errors"
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tilec/jit/cuda"
	"tilec/jit/target"
)

// text is what nvdisasm prints of a kernel with a loop over products, in it one that waits, and one over loads behind it.
const text = `
	.section	.text.product,"ax",@progbits
.text.product:
        /*0000*/                   LDC R1, c[0x0][0x28] ;
        /*0010*/                   @P0 EXIT ;
.L_x_1:
        /*0020*/                   SYNCS.PHASECHK.TRANS64.TRYWAIT P0, [R25+URZ], R24 ;
.L_x_2:
        /*0030*/                   SYNCS.PHASECHK.TRANS64.TRYWAIT P0, [R25+URZ], R24 ;
        /*0040*/               @!P0 BRA ` + "`(.L_x_2)" + ` ;
        /*0050*/                   BAR.SYNC.DEFER_BLOCKING 0x0, 0x100 ;
        /*0060*/                   BAR.SYNC.DEFER_BLOCKING 0x1, 0x80 ;
        /*0070*/                   HGMMA.64x128x16.F32.BF16 R24, gdesc[UR8], R24 ;
        /*0080*/                   @P1 BRA ` + "`(.L_x_3)" + ` ;
        /*0090*/                   FADD R1, R1, R1 ;
        /*00a0*/                   FADD R1, R1, R1 ;
.L_x_3:
        /*00b0*/                   HGMMA.64x128x16.F32.BF16 R24, gdesc[UR8], R24 ;
        /*00c0*/                   @P2 BRA ` + "`(.L_x_1)" + ` ;
.L_x_4:
        /*00d0*/                   LDG.E.128.CONSTANT R4, desc[UR6][R2.64] ;
        /*00e0*/                   FADD R4, R4, R5 ;
        /*00f0*/                   STG.E.64 desc[UR6][R2.64], R4 ;
        /*0100*/                   @P3 BRA ` + "`(.L_x_4)" + ` ;
        /*0110*/                   EXIT ;
.L_x_5:
        /*0120*/                   BRA ` + "`(.L_x_5)" + `;
        /*0130*/                   NOP;
`

func TestLoopsAreFoundAndCounted(t *testing.T) {
	kernels, err := Parse(text)
	require.NoError(t, err)
	require.Len(t, kernels, 1)
	k := kernels[0]
	assert.Len(t, k.Instructions, 19)

	rings := k.Rings()
	require.Len(t, rings, 1)
	assert.Equal(t, 2, rings[0].Head)
	assert.Equal(t, 1, k.Count(rings[0], (*Instruction).AllWarps), "the other barrier is of four warps")
	step, ok := k.Step(rings[0])
	require.True(t, ok)
	// The wait once, the additions not at all.
	assert.Equal(t, Count{Instructions: 9, MultiplyAdds: 2 * 64 * 128 * 16 / 4}, step)

	streams := k.Streams()
	require.Len(t, streams, 1)
	step, ok = k.Step(streams[0])
	require.True(t, ok)
	assert.Equal(t, Count{Instructions: 4, Bytes: 24}, step)

	whole, ok := k.Straight()
	require.True(t, ok)
	assert.Equal(t, Count{Instructions: 16, Bytes: 8}, whole)
}

func TestProductsOfWarps(t *testing.T) {
	for op, want := range map[string]int{
		"HMMA.16816.F32.BF16": 16 * 8 * 16, "HMMA.1688.F32.TF32": 16 * 8 * 8, "IMMA.16832.S8.S8": 16 * 8 * 32,
		"QGMMA.64x64x32.F32.E4M3.E4M3": 64 * 64 * 32 / 4, "DMMA.884": 8 * 8 * 4, "FADD": 0,
	} {
		i := Instruction{Op: op}
		assert.Equal(t, want, i.MultiplyAdds(), op)
	}
}

func TestBranchesLeadSomewhere(t *testing.T) {
	_, err := Parse(".text.f:\n  /*0000*/ BRA `(.L_x_9) ;\n")
	assert.EqualError(t, err, "machine code of f: a branch goes to .L_x_9, which is nowhere")
	_, err = Parse(".text.f:\n  /*0000*/ BRA R4 ;\n")
	assert.EqualError(t, err, `machine code of f: a branch to "R4" cannot be read`)
	_, err = Parse("")
	assert.EqualError(t, err, "the machine code has no kernel")
}

func TestResidency(t *testing.T) {
	m, err := target.Find("sm_90a")
	require.NoError(t, err)
	for _, c := range []struct{ registers, threads, shared, want int }{
		{179, 160, 98 << 10, 1}, {168, 160, 98 << 10, 2}, // five warps of more than 168 registers fill a multiprocessor
		{32, 1024, 0, 2}, {16, 32, 0, 32}, {40, 256, 81920, 2}, {40, 256, 227 << 10, 1},
	} {
		assert.Equal(t, c.want, (&Code{Registers: c.registers}).Residency(m, c.threads, c.shared), "%+v", c)
	}
}

func TestModulesAreAssembled(t *testing.T) {
	tools, err := Find()
	if errors.Is(err, ErrNoTools) && os.Getenv(cuda.AssemblerVariable) == "" {
		t.Skip(err)
	}
	require.NoError(t, err)
	code, err := tools.Assemble(context.Background(), `.version 8.0
.target sm_90a
.address_size 64
.visible .entry f(.param .u64 p) {
	.reg .b64 %a;
	.reg .f32 %x;
	ld.param.u64 %a, [p];
	ld.global.f32 %x, [%a];
	add.f32 %x, %x, %x;
	st.global.f32 [%a], %x;
	ret;
}
`, "sm_90a")
	require.NoError(t, err)
	assert.Equal(t, "f", code.Name)
	assert.Positive(t, code.Registers)
	assert.Zero(t, code.Spilled)
	whole, ok := code.Straight()
	assert.True(t, ok)
	assert.Equal(t, 4, whole.Bytes)
}
