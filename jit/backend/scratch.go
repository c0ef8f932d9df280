package backend

// This file runs kernels that keep tiles in scratch memory, of which each of the blocks that run needs its own.

// ScratchLimit is the scratch memory of a launch, in bytes, where one block does not need more: what it holds of
// blocks at once fills a device many times over, but for blocks with a million elements or more.
var ScratchLimit int64 = 1 << 30

// InBatches launches blocks, so many at once, one part after the other; all together where atOnce is 0.
func InBatches(blocks, atOnce int64, launch func(first, blocks int64) error) error {
	if atOnce == 0 {
		atOnce = blocks
	}
	for first := int64(0); first < blocks; first += atOnce {
		if err := launch(first, min(atOnce, blocks-first)); err != nil {
			return err
		}
	}
	return nil
}
