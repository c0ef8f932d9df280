package ir

// The memory in which the blocks of a Timed kernel leave times, in nanoseconds of the GPU's clock, each in 64 bits at so many bytes: when
// the first and the last of them began, when the first and the last had the results of the launches before, and when the last ended. A launch
// begins with the greatest number there is in those that are the least of all blocks, and with 0 in the others. A launch has so many
// slots of this, of which a block takes that of its number: atomics on one address take a nanosecond each, one after the other, which
// of thousands of blocks is longer than what is measured.
const (
	TimesBegan         = 0
	TimesFirstReleased = 8
	TimesLastReleased  = 16
	TimesEnded         = 24
	TimesLastBegan     = 32
	TimesSlotBytes     = 40
	TimesSlots         = 64
	TimesBytes         = TimesSlots * TimesSlotBytes
)
