package emu

import (
	"bytes"
	"encoding/binary"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The expected figures are those of NVIDIA's occupancy calculator for the same numbers.
func TestOccupancy(t *testing.T) {
	for _, c := range []struct {
		name, target, directives   string
		threads, shared, registers int
		want                       Occupancy
	}{
		{"threads", "sm_90a", "", 256, 0, 32, Occupancy{Blocks: 8, Warps: 8, MostWarps: 64, Limit: "threads", Registers: 32, MostBlocks: 8, Assembled: true}},
		{"blocks", "sm_90a", "", 32, 0, 16, Occupancy{Blocks: 32, Warps: 1, MostWarps: 64, Limit: "blocks", Registers: 16, MostBlocks: 32, Assembled: true}},
		{"shared", "sm_90a", "", 128, 100000, 64, Occupancy{Blocks: 2, Warps: 4, MostWarps: 64, Limit: "shared memory", Registers: 64, MostBlocks: 2, Assembled: true}},
		{"registers", "sm_80", "", 256, 0, 81, Occupancy{Blocks: 2, Warps: 8, MostWarps: 64, Limit: "registers", Registers: 81, MostBlocks: 2, Assembled: true}},
		{"small", "sm_89", "", 128, 40000, 32, Occupancy{Blocks: 2, Warps: 4, MostWarps: 48, Limit: "shared memory", Registers: 32, MostBlocks: 2, Assembled: true}},
		{"by directives", "sm_90a", ".maxntid 256, 1, 1 .minnctapersm 2", 256, 0, 0, Occupancy{Blocks: 2, Warps: 8, MostWarps: 64, Limit: "registers", Registers: 128, MostBlocks: 8}},
		{"by .maxnreg", "sm_90a", ".maxnreg 64", 128, 0, 0, Occupancy{Blocks: 8, Warps: 4, MostWarps: 64, Limit: "registers", Registers: 64, MostBlocks: 16}},
	} {
		text := ".version 8.4\n.target " + c.target + "\n.address_size 64\n.visible .entry k() " + c.directives + " { ret; }"
		m, err := Parse(text)
		require.NoError(t, err)
		assert.Equal(t, c.want, m.Kernels["k"].occupancy(c.threads, c.shared, c.registers), c.name)
	}
}

// A launch whose threads have more registers than a multiprocessor is refused, as the driver refuses it.
func TestRegisterLimit(t *testing.T) {
	text := func(n string) string {
		return ".version 8.4\n.target sm_90a\n.address_size 64\n.visible .entry k(.param .u64 p) .maxnreg " + n + " { ret; }"
	}
	launch := func(n string, o Options) (*Report, error) {
		m, err := Parse(text(n))
		require.NoError(t, err)
		return Launch(m, "k", [3]int{1, 1, 1}, [3]int{512, 1, 1}, 0, binary.LittleEndian.AppendUint64(nil, 0), NewMemory(), o)
	}
	report, err := launch("128", Options{})
	require.NoError(t, err)
	var b bytes.Buffer
	report.Print(&b, "k")
	require.Contains(t, b.String(), "occupancy: 16 of 64 warps (25%), 1 to 4 blocks a multiprocessor, limited by registers; a thread has at most 128 registers")
	_, err = launch("136", Options{})
	require.ErrorContains(t, err, "512 threads of 136 registers, a multiprocessor has 65536 registers")
	_, err = launch("64", Options{Registers: 168})
	require.ErrorContains(t, err, "512 threads of 168 registers")
}
