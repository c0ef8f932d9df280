package race

// warpSize is how many threads a warp has.
const warpSize = 32

// A Clock says which stretches of each warp are known to have ended: to a warp, or to
// those who leave a barrier.
type Clock struct {
	Stretch uint32   // the present one of the warp itself
	Seen    []uint32 // by warp of the cluster: stretches up to this number have ended
	fenced  []uint32 // and their writes were fenced for the async proxy
	phases  []uint32 // by mbarrier of the cluster: phases known to be complete
}

// Start begins the clock of one of so many warps, in a stretch.
func (c *Clock) Start(stretch uint32, warps int, t *Timeline) {
	c.Stretch = stretch
	c.Clear(warps)
	for i := range c.Seen {
		c.Seen[i], c.fenced[i] = t.floor, t.floor
	}
}

// Clear makes the clock one that knows nothing of so many warps.
func (c *Clock) Clear(warps int) {
	if len(c.Seen) != warps {
		c.Seen, c.fenced = make([]uint32, warps), make([]uint32, warps)
	}
	clear(c.Seen)
	clear(c.fenced)
	c.phases = c.phases[:0]
}

// Join makes c know what o knows.
func (c *Clock) Join(o *Clock) {
	for i, s := range o.Seen {
		c.Seen[i] = max(c.Seen[i], s)
		c.fenced[i] = max(c.fenced[i], o.fenced[i])
	}
	for i, p := range o.phases {
		c.Complete(i, p)
	}
}

// Release ends the present stretch of a warp, whose clock this is; whoever joins the
// clock from now on is after it.
func (c *Clock) Release(warp int, t *Timeline) {
	c.Stretch = t.Tick()
	c.Seen[warp] = c.Stretch - 1
}

// Fence puts the writes that are known to be over in order for asynchronous accesses
// too, and with all those of the warp itself. It does not make those of other lanes
// known: Seen stays as it is.
func (c *Clock) Fence(warp int, t *Timeline, all bool) {
	own := c.Seen[warp]
	c.Stretch = t.Tick()
	if all {
		own = c.Stretch - 1
	}
	for i, s := range c.Seen {
		if i == warp {
			s = own
		}
		c.fenced[i] = max(c.fenced[i], s)
	}
}

// Fenced tells whether what a thread wrote in a stretch is in order for asynchronous accesses.
func (c *Clock) Fenced(stretch uint32, thread int) bool {
	return stretch <= c.fenced[thread/warpSize]
}

// Complete notes that phases of an mbarrier up to a number are known to be complete.
func (c *Clock) Complete(barrier int, phases uint32) {
	for len(c.phases) <= barrier {
		c.phases = append(c.phases, 0)
	}
	c.phases[barrier] = max(c.phases[barrier], phases)
}

// Completed tells whether a phase of an mbarrier is known to be complete.
func (c *Clock) Completed(barrier, phase int) bool {
	return barrier < len(c.phases) && int(c.phases[barrier]) > phase
}

// A Timeline numbers the stretches of a cluster.
type Timeline struct {
	now   uint32 // stretches so far
	floor uint32 // stretches up to this one have ended for all warps
}

// maxStretch leaves room for the lane in readers.
const maxStretch = 1 << 25

// Begin says that all stretches so far have ended. It tells whether numbers start
// again from 0, for which stamps must be forgotten.
func (t *Timeline) Begin() (again bool) {
	if t.now > maxStretch/2 {
		t.now, again = 0, true
	}
	t.floor = t.now
	return again
}

// Tick begins a stretch.
func (t *Timeline) Tick() uint32 {
	t.now++
	return t.now
}

// Now is the newest stretch.
func (t *Timeline) Now() uint32 { return t.now }

// Settle notes that the stretches up to one are over for all warps.
func (t *Timeline) Settle(floor uint32) { t.floor = max(t.floor, floor) }

// A Thread is who accesses memory: a lane of a warp of the cluster, with the warp's clock.
type Thread struct {
	Clock      *Clock
	Warp, Lane int
}

// ID numbers the thread in the cluster.
func (t Thread) ID() int { return t.Warp*warpSize + t.Lane }

// After tells whether what another thread did in a stretch is ordered before what this one does now.
func (t Thread) After(stretch uint32, other int) bool {
	return stretch <= t.Clock.Seen[other/warpSize] || other == t.ID()
}

// A Conflict is two accesses that nothing orders: a thread Does "reads what" Other Did "wrote".
type Conflict struct {
	At    int // the offset of the byte, in shared memory
	Does  string
	Other int
	Did   string
}
