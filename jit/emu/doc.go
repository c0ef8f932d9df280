// Package emu executes PTX on the CPU, and finds what hardware hides.
//
// Parse reads a module, Launch runs one of its kernels over Memory and gives a
// Report: findings (out-of-bounds and misaligned accesses, reads of what was
// never written, races in shared memory, divergence at warp-wide instructions,
// deadlocks ...) in terms of the source lines that .loc names, and figures of
// cost (instructions by class, traffic, sectors, bank conflicts).
//
// The package is written from the text of the PTX ISA and knows nothing of the
// compiler whose output it runs, so that it can be evidence about it. What PTX text
// says is for jit/emu/syntax, what the bits of its values stand for is for
// jit/emu/number, and which accesses to memory are ordered is for jit/emu/race; none
// of them knows of this package, which gives instructions their meaning on the lanes
// of warps.
//
// # What executes and what finds
//
// Instructions are decoded by family (integer.go, loadstore.go, wgmma.go ...) and run
// by warps, blocks and clusters over memory. What finds is apart: order.go tells
// jit/emu/race of accesses, undefined.go follows undefined values, unwritten.go,
// proxy.go and matrixorder.go check reads, asynchronous accesses and registers of
// wgmma, and finding.go collects what all of them report.
//
// # How it executes
//
// Parse decodes every instruction into a closure over register rows: a row is the
// value of one register in the 32 lanes of a warp. Immediates and most special
// registers are rows too, filled in when a warp starts, so that an instruction
// never asks what its operands are. A warp is a set of fragments, groups of lanes
// with one program counter; the fragment with the lowest counter runs first, and
// fragments that meet join. Warps of a block take turns between barriers; blocks
// run in parallel.
//
// Blocks of a cluster run together and reach each other's shared memory. What an
// instruction begins and does not end (bulk and tensor copies, remote stores and
// reductions) ends as late as it can, when no thread can go on without it, or at
// random moments drawn from Options.Seed; its bytes are locked until a wait, of
// mbarrier phase or bulk group, says that it is over. A wgmma computes at once and
// locks its registers and its matrices until its wait. The checks follow what each
// warp can know by vector clocks, with a second clock of what fence.proxy.async has
// put in order for asynchronous reads. A wait at an mbarrier that nothing will
// complete is a deadlock, told with the counts of the mbarrier.
//
// Tensor maps are opaque to programs: Options.TensorMaps describes those among the
// parameters. Three things that the ISA leaves to be seen are as an H200 has them: a
// box to store may not begin below the tensor, a store goes on to the end of a chunk
// of 16 bytes, and what is out of bounds is filled with 0x7ff7 in every 16 bits.
//
// # Numbers
//
// Approximate functions (.approx) are computed in double precision and rounded to
// nearest, which is within every documented error. The order in which tensor cores add is not documented: mma
// keeps products exact, adds in double precision from the accumulator on by rising
// k, and rounds once.
package emu
