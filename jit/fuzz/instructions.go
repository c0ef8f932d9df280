package fuzz

import (
	"bytes"
	"io"

	"tilec/jit"
	"tilec/jit/backend"
	"tilec/jit/log"
)

// instructions are the families of PTX that reach different parts of a GPU, by
// text that only they have.
var instructions = map[string]string{
	"mma.sync":       "mma.sync.",
	"wgmma":          "wgmma.mma_async",
	"ldmatrix":       "ldmatrix.",
	"async copy":     "cp.async.c",
	"bulk copy":      "cp.async.bulk.",
	"tensor copy":    "cp.async.bulk.tensor.",
	"multicast":      "multicast::cluster",
	"setmaxnreg":     "setmaxnreg.",
	"stmatrix":       "stmatrix.",
	"mbarrier":       "mbarrier.",
	"cluster":        "barrier.cluster",
	"shuffle":        "shfl.sync",
	"barrier":        "bar.sync",
	"atomic":         "atom.global",
	"reduction":      "red.global",
	"shared memory":  "ld.shared",
	"vectors of 4":   ".v4.",
	"packed halves":  "f16x2",
	"double":         "fma.rn.f64",
	"loop or branch": "bra ",
}

// instructionLog gets the PTX of compiled kernels and notes which instructions are in it.
type instructionLog struct{ seen map[string]bool }

// Write takes what the log of the stages prints.
func (l *instructionLog) Write(text []byte) (int, error) {
	for name, mark := range instructions {
		if !l.seen[name] && bytes.Contains(text, []byte(mark)) {
			l.seen[name] = true
		}
	}
	return len(text), nil
}

// watched is a compiler for a device that notes the instructions it makes.
func watched(d backend.Device, seen map[string]bool) *jit.Compiler {
	logs, err := log.Parse(string(log.PTX), &instructionLog{seen})
	if err != nil {
		panic(err) // the stage has its own name
	}
	c := jit.NewCompiler(d, logs)
	c.Output = io.Discard
	return c
}
