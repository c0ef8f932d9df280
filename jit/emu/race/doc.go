// Package race knows which accesses to memory are ordered, and finds those that are not.
//
// It keeps a vector clock a warp. Every access is stamped with the number of the warp's
// present stretch between synchronisations; an access happens before another when the
// other's warp has, through barriers, seen that stretch end. Lanes of one warp are
// ordered by barriers too, not by their running in step: that the ISA does not promise.
//
// The package knows clocks, stamps of bytes and of words, and who was first. It must not
// know of instructions, registers or what executes: jit/emu says when a warp
// synchronises and what it touches, and makes findings of the conflicts.
package race
