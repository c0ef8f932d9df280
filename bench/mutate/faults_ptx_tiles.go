package main

// tileFaults are in blocks that go through tiles, and in what is computed as it is stored.
var tileFaults = []Fault{
	{ID: "tiles-turn", File: "jit/block/schedule.go", Class: "barrier", First: "jit/ptx TestBlocksGoThroughTiles",
		Old: `s.Begin = []Act{{Do: TakeTurn, Turn: ProductTurn}}`, New: `s.Begin = []Act{{Do: TakeTurn, Turn: ResultTurn}}`,
		Note: "a team waits for the wrong turn, and teams wait for each other"},
	{ID: "tiles-result-turn", File: "jit/block/schedule.go", Class: "race", First: "jit/ptx TestResultsByMatrices",
		Old: `{Do: SkipStages}, {Do: TakeTurn, Turn: ResultTurn}}`, New: `{Do: SkipStages}}`,
		Note: "both teams use the shared memory for results at once"},
	{ID: "tiles-last-stage", File: "jit/block/schedule.go", Class: "pipeline", First: "jit/ptx TestBlocksGoThroughTiles",
		Old: `{Do: AwaitProducts}, {Do: ReturnKept, Step: -1}, {Do: SkipStages}`, New: `{Do: AwaitProducts}, {Do: SkipStages}`,
		Note: "the last stage of a tile never goes back to the producer, which waits for ever"},
	{ID: "tiles-skip", File: "jit/ptx/tiles.go", Class: "pipeline", First: "jit/ptx TestBlocksGoThroughTiles",
		Old: `a.Set(r.phase, "xor.b32", r.phase, odd)`, New: `a.Set(r.phase, "xor.b32", r.phase, rounds)`,
		Note: "a team that skips the other's stages waits for a phase that is none"},
	{ID: "tiles-stores-read", File: "jit/ptx/tiles.go", Class: "race", First: "jit/ptx TestResultsByMatrices",
		Old: `			k.storesAreRead()
			k.leaveTurn(block.ResultTurn)`, New: `			k.leaveTurn(block.ResultTurn)`,
		Note: "the next team overwrites results that are still being stored"},
	{ID: "tiles-pair-end", File: "jit/ptx/tiles.go", Class: "race", First: "jit/ptx TestPairsOfBlocksShareCopies",
		Old: `	if k.paired() { // the other block may still copy to this one, and arrive
		k.clusterBarrier()
	}`, New: ``,
		Note:   "a block ends while the other of its cluster still arrives at its barriers",
		Missed: "the emulator runs the blocks of a cluster in step, so that the last arrivals come before either ends"},
	{ID: "tiles-half", File: "jit/ptx/boxcopy.go", Class: "address", First: "jit/ptx TestPairsOfBlocksShareCopies",
		Old: `from.At[1] = a.Op(asm.B32, "add.s32", from.At[1], rows)`, New: `from.At[1] = a.Op(asm.B32, "add.s32", from.At[1], asm.Int(0))`,
		Note: "both blocks of a cluster copy the first half"},
	{ID: "matrices-order", File: "jit/ptx/boxcopy.go", Class: "layout", First: "jit/ptx TestResultsByMatrices",
		Old: `at := 2 * (matrices*(i/others+columns*(i%others)) + n)`, New: `at := 2 * (matrices*i + n)`,
		Note: "matrices of a second run of rows go where those of other columns belong"},
	{ID: "late-elsewhere", File: "jit/block/late.go", Class: "order", First: "jit/ptx TestTwoStoresOfOneProduct",
		Old: `alone = alone && by != nil && (store == nil || store == by)`, New: `alone = alone && by != nil`,
		Note: "what two stores take is computed for one of them"},
	{ID: "late-wait", File: "jit/ptx/late.go", Class: "race", First: "jit/ptx TestResultsByMatrices",
		Old: `k.a.Do("cp.async.wait_group", asm.Int(0))`, New: `k.a.Comment("no wait")`,
		Note: "a bias is read before it has come"},
	{ID: "tiles-odd-row", File: "jit/block/tiles.go", Class: "mask", First: "jit/ptx TestSumsOfTilesBeginWithResiduals",
		Old: `along.Dim.Multiple()%(pair*along.Extent) != 0`, New: `along.Dim.Multiple()%along.Extent != 0`,
		Note: "residuals of a tile that does not exist are read"},
}
