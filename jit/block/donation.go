package block

// This file decides how many warps the producer is, and who has how many registers. All threads of a launch begin with as many:
// 9 warps have 168 each, for three of them share the registers of one scheduler. A producer of four warps gives those that it
// does not need to the warps that compute, so that their tiles may be larger.

// Donation is the registers of a thread where a warpgroup of producers has given away its own.
type Donation struct {
	// Producer is those that a thread of the producer keeps, Consumer those of the threads that compute.
	Producer, Consumer int
}

const (
	// groupWarps is how many warps a warpgroup has: the registers of all of them are given and taken together.
	groupWarps = 4
	// leastKept is the fewest registers that a thread may keep, mostTaken the most that it may have; fewKept is what a
	// producer keeps beside two warpgroups where these have fewer than manySums for sums, which leaves 232 for each.
	leastKept, mostTaken = 24, 240
	fewKept, manySums    = 40, 192
)

// producers is how many warps the producer has.
func (p *Program) producers() int {
	switch {
	case !p.Producing:
		return 0
	case p.Donation != nil:
		return groupWarps
	}
	return 1
}

// donate decides whether the producer is a warpgroup: where it is pinned, or where two warpgroups or more compute and have the
// multiprocessor to themselves.
func (p *Program) donate() {
	pinned := p.Producer == groupWarps
	warps := p.Warps * p.Teams()
	if !p.Producing || warps%groupWarps != 0 || p.Producer == 1 || !pinned && (warps < 2*groupWarps || p.Resident > 1) {
		return
	}
	groups, blocks := warps/groupWarps, max(p.Resident, 1)
	// What each thread begins with, over all groups.
	entry := p.Target.RegistersPerSM / (blocks * (groups + 1) * groupWarps * warpThreads) / registerStep * registerStep
	entry = min(entry, mostEntry)
	d := &Donation{Producer: leastKept}
	if groups == 2 && blocks == 1 && p.accumulators() < manySums {
		d.Producer = fewKept
	}
	d.Consumer = min((entry*(groups+1)-d.Producer)/groups/registerStep*registerStep, mostTaken)
	if d.Consumer > entry {
		p.Donation = d
	}
}

// registerStep is in which steps registers are given and taken, mostEntry how many a thread begins with at most.
const (
	registerStep = 8
	mostEntry    = 256
	warpThreads  = 32
)

// accumulators is how many registers of a thread the results of products take.
func (p *Program) accumulators() int {
	n := 0
	for _, c := range p.Products {
		n += c.Result.Regs()
	}
	return n
}
