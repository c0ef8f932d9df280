package interp

import (
	"slices"
	"strings"
	"testing"

	"tilec/jit/block"
	"tilec/jit/layout"
)

// The programs in which faults are put: a product whose copies threads start, one whose copies a producer does, one of blocks that stay
// and of two teams, and an attention whose products overlap, in turns.
var (
	added       = examples[0]
	byThreads   = examples[6]
	byProducer  = examples[7]
	byTeams     = examples[8]
	overlapping = examples[12]
	kept        = examples[13]
	unaligned   = examples[16]
	throughRows = examples[17]
	words       = examples[18]
)

// pipeline is the program's loop with stages.
func pipeline(p *block.Program) *block.Pipeline {
	for _, op := range p.Func.Body.Ops {
		if x := p.Pipelines[op]; x != nil {
			return x
		}
	}
	return nil
}

// row is the program's row that is copied.
func row(p *block.Program) *block.RowCopy {
	for _, op := range p.Func.Body.Ops {
		for _, c := range p.RowCopies[op] {
			return c
		}
	}
	return nil
}

// drop leaves out the first act of a verb.
func drop(acts *[]block.Act, v block.Verb) {
	i := slices.IndexFunc(*acts, func(a block.Act) bool { return a.Do == v })
	*acts = slices.Delete(slices.Clone(*acts), i, i+1)
}

// find is the first act of a verb.
func find(acts []block.Act, v block.Verb) *block.Act {
	return &acts[slices.IndexFunc(acts, func(a block.Act) bool { return a.Do == v })]
}

// Each fault is found, in some order of the processes, and named.
func TestFaultsAreFound(t *testing.T) {
	for _, c := range []struct {
		name  string
		of    program
		fault func(p *block.Program)
		// found is what the interpreter says, and verified what the verifier does, "" where only running the program shows the fault.
		found, verified string
	}{
		{"a wait for copies is left out", byProducer, func(p *block.Program) { drop(&pipeline(p).Schedule.Step, block.AwaitCopies) },
			"reads stage 0 of %9, to which nothing was copied", "is read for step 0, whose copies were not waited for"},
		{"a stage is given back while a product reads it", byProducer, func(p *block.Program) {
			s := &pipeline(p).Schedule
			drop(&s.Step, block.ReturnKept)
			find(s.Step, block.Keep).Do = block.Return
		}, "which %11 still reads", "which %11 of step 0 still reads"},
		{"a stage is given back twice", byProducer, func(p *block.Program) {
			s := &pipeline(p).Schedule
			s.Step = append([]block.Act{{Do: block.Return}}, s.Step...)
		}, "the copies of the step at", "is read for step 0, and has the copies of step 4"},
		{"no stage is given back", byProducer, func(p *block.Program) { drop(&pipeline(p).Schedule.Step, block.Keep) },
			"the producer of block 0 waits for stage 0 of the loop over k to be given back", "the producer waits for a stage to be given back"},
		{"stages are never handed over", byProducer, func(p *block.Program) { drop(&pipeline(p).Schedule.Begin, block.HandOver) },
			"nobody can go on", "the producer waits for a stage to be given back"},
		{"the producer does not wait for room", byProducer, func(p *block.Program) { drop(&pipeline(p).Schedule.Producer, block.AwaitRoom) },
			"which has no place yet", "is read for step 0, and has the copies of step 8"},
		{"the last product is not waited for", byProducer, func(p *block.Program) { pipeline(p).Schedule.End = nil },
			"while the product that makes it is under way", "%11 is not waited for behind the loop"},
		{"a stage has too little room", byProducer, func(p *block.Program) { pipeline(p).Copies[0].Tile.Extents[1] /= 2 },
			"which has", "has room for 64 of 128 positions along i"},
		{"a copy brings more boxes than its stage has room for", byProducer, func(p *block.Program) { pipeline(p).Copies[0].Box.Map.Box[1] *= 2 },
			"which has", "have 32768 bytes in rows of 128, and the tile 16384"},
		{"a box lies otherwise than its tile", byProducer, func(p *block.Program) { pipeline(p).Copies[0].Tile.Swizzle = 4 },
			"the tile IR gives", "does not lie as boxes do"},
		{"a box has its dimensions swapped", byProducer, func(p *block.Program) {
			x := pipeline(p)
			x.Copies[0].Box.Map.Order[0], x.Copies[0].Box.Map.Order[1] = x.Copies[0].Box.Map.Order[1], x.Copies[0].Box.Map.Order[0]
		}, "the tile IR gives", ""},
		{"warps do not meet behind their copies", byThreads, func(p *block.Program) { drop(&pipeline(p).Schedule.Step, block.Barrier) },
			"before that has come and the warps have met", "whose copies were not waited for"},
		{"too few copies are waited for", byThreads, func(p *block.Program) { find(pipeline(p).Schedule.Step, block.AwaitCopies).UnderWay++ },
			"before it has waited for the copies", "whose copies were not waited for"},
		{"there are too few stages", byThreads, func(p *block.Program) { pipeline(p).Stages-- },
			"reads stage 0", "loads run 2 steps ahead in 2 stages"},
		{"there are too few stages for the schedule", byThreads, func(p *block.Program) {
			pipeline(p).Stages--
			pipeline(p).Ahead--
		}, "reads stage 0", "and has the copies of step 2"},
		{"copies run too far ahead", byThreads, func(p *block.Program) {
			s := &pipeline(p).Schedule
			find(s.Step, block.StartCopies).Step++
		}, "reads stage", "and has the copies of step 3"},
		{"a copy moves more neighbours than follow one another", unaligned, func(p *block.Program) {
			c := &pipeline(p).Copies[1]
			c.Vector *= 2
			c.Layout = layout.Blocked(c.Tile.Axes, c.Tile.Extents, c.Vector, p.Warps)
		}, "bytes at once at element", ""},
		{"a team takes no turn to store", byTeams, func(p *block.Program) { drop(&pipeline(p).Schedule.End, block.TakeTurn) },
			"where storing %29 was written since", "0 times for a tile"},
		{"a team passes no turn on", byTeams, func(p *block.Program) { drop(&pipeline(p).Schedule.End, block.PassTurn) },
			"waits for its turn at barrier", "0 times for a tile"},
		{"a team counts only its own stages", byTeams, func(p *block.Program) { drop(&pipeline(p).Schedule.End, block.SkipStages) },
			"the copies of the step at", "0 times for a tile"},
		{"scores are used before they are waited for", overlapping, func(p *block.Program) { drop(&pipeline(p).Schedule.Step, block.AwaitProducts) },
			"%23 is used while the product that makes it is under way", "%23 is under way"},
		{"a product's sums are rescaled while it is under way", overlapping, func(p *block.Program) {
			s := &pipeline(p).Schedule
			i := slices.IndexFunc(s.Step, func(a block.Act) bool { return a.Do == block.AwaitProducts && a.UnderWay == 0 })
			s.Step = slices.Delete(slices.Clone(s.Step), i, i+1)
		}, "%19(acc) is used while the product that makes it is under way", "which %39 of step 0 still reads"},
		{"the load before the loop is not waited for", overlapping, func(p *block.Program) { drop(&pipeline(p).Schedule.First, block.AwaitLoads) },
			"before it has waited for the copies", "the load of %6(qi) was not waited for"},
		{"copies of the other set are waited for", overlapping, func(p *block.Program) { find(pipeline(p).Schedule.Next, block.AwaitCopies).Set = block.LastSet },
			"before it has waited for the copies", "whose copies were not waited for"},
		{"no warpgroup begins", overlapping, func(p *block.Program) { drop(&pipeline(p).Schedule.First, block.PassTurn) },
			"waits for its turn at barrier 1", "the warpgroups take 1 and 0 turns"},
		{"the producer copies to slots of the other set", overlapping, func(p *block.Program) {
			s := slices.Clone(pipeline(p).Schedule.Producer)
			s[1].Set, s[3].Set = s[3].Set, s[1].Set
			pipeline(p).Schedule.Producer = s
		}, "still reads", "and has the copies of step 2"},
		{"a phase is too long", overlapping, func(p *block.Program) { p.Phases[pipeline(p).Op].Limit.Offset += 64 },
			"does not hold in a step in which it is to hold", ""},
		{"a layout leaves elements out", added, func(p *block.Program) {
			for v, l := range p.Homes {
				if len(l.Reg) > 0 {
					last := &l.Reg[len(l.Reg)-1]
					l.Reg = append(slices.Clone(l.Reg[:len(l.Reg)-1]), layout.Digit{Axis: last.Axis, Stride: last.Stride, Size: last.Size / 2})
					p.Homes[v] = l
				}
			}
		}, "the tile IR gives", "which has 512 of 1024 positions along i"},
		{"half of a row is copied", kept, func(p *block.Program) {
			for _, cs := range p.RowCopies {
				cs[0].Bytes /= 2
			}
		}, "of kept.x is read, and nobody has written there", ""},
		{"a row takes the room of another", kept, func(p *block.Program) { p.Func.Tensors[2].Shape[1].Value = 500 }, "of kept.x, which has", ""},
		{"a row's parts are sent for before the last loop has read them", throughRows, func(p *block.Program) { row(p).Last = row(p).Loop },
			"of a row of x", ""},
		{"a row is in other parts than the loop's steps", throughRows, func(p *block.Program) { row(p).Step *= 2 }, "of a row of x", ""},
		{"a row's words are taken for shorter ones", words, func(p *block.Program) { p.Words.Unit /= 2 }, "in no word of theirs", ""},
		{"a last block has no masks", added, func(p *block.Program) { p.Func.Dims[0].Divisor = 1024 }, "and no masks", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			wrong := c.of.decide(t)
			if err := wrong.Verify(); err != nil {
				t.Fatal(err)
			}
			c.fault(wrong)
			if err := wrong.Verify(); c.verified == "" && err != nil || c.verified != "" && (err == nil || !strings.Contains(err.Error(), c.verified)) {
				t.Errorf("the verifier says %v, and not %q", err, c.verified)
			}
			var found []string
			for order := ProducersFirst; order < 12; order++ {
				p := c.of.decide(t)
				c.fault(p)
				if err := c.of.compare(t, p, order, 1.0/64); err != nil {
					if found = append(found, err.Error()); strings.Contains(err.Error(), c.found) {
						return
					}
				}
			}
			t.Errorf("found %q, and not %q", found, c.found)
		})
	}
}
