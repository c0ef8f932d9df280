package block

// This file decides in which order what is asynchronous in a loop begins, is waited for and is given back: copies to the stages of
// the ring, products that tensor cores compute beside the warps, and turns that warps take.

// Schedule is what is done about what is under way in a loop with stages, in order.
type Schedule struct {
	// Producer is what the producer does for each step; nil where the threads that compute copy.
	Producer []Act
	// Begin is done before the loop, First before its first step where there is one, and End behind the loop.
	Begin, First, End []Act
	// Step is done in each step; behind it Next where a step follows, and Last where none does.
	Step, Next, Last []Act
}

// Act is one thing that is done about what is under way.
type Act struct {
	Do Verb
	// Set is the set of copies that the act is about (Pipeline.Sets). Step is the step whose copies or product it is about, counted from
	// the one that runs.
	Set, Step int
	// Product is the product that is started or made ready.
	Product *Product
	// UnderWay is how many that began last need not be over behind a wait.
	UnderWay int
	// Turn is the first of the two named barriers of a turn, and By which of those who take turns does this: 0 for each of them, 1 for
	// the first alone, 2 for the second alone.
	Turn, By int
}

// Verb says what an act does.
type Verb uint8

// The verbs. Copies of a step have a token, which AwaitCopies takes, and a product has one, which AwaitProducts takes; until then what
// they write may not be read, nor what they read be written.
const (
	// Barrier has all warps that compute meet.
	Barrier Verb = iota
	// HandOver gives each stage of the ring to the producer for the first time.
	HandOver
	// AwaitRoom waits until a stage has been given back.
	AwaitRoom
	// StartCopies starts copies to a stage.
	StartCopies
	// AwaitCopies waits for those of a step, AwaitLoads for what the producer loads outside of loops.
	AwaitCopies
	AwaitLoads
	// Wipe puts 0 where copies brought what lies beyond the end of the loop, in a step that is not whole.
	Wipe
	// Compute computes what of a step no other act does.
	Compute
	// Ready makes the operands of a product ready that it takes from registers; StartProduct starts it.
	Ready
	StartProduct
	// AwaitProducts waits for products.
	AwaitProducts
	// Rescale changes what the last product adds to (Overlap.Rescale), and Carry hands on what the loop carries.
	Rescale
	Carry
	// Return gives a stage back; Keep does not yet, and ReturnKept gives back the one that was kept, where there is one.
	Return
	Keep
	ReturnKept
	// TakeTurn waits for the turn, PassTurn lets the other have it.
	TakeTurn
	PassTurn
	// SkipStages goes on past the stages of a tile that the other team computes.
	SkipStages
	// endStep is the end of a step, to who verifies; no schedule has it.
	endStep
)

// verb is what an act is called, and which of its fields stand behind that.
type verb struct {
	name string
	with fields
}

// fields are those of an act that not all verbs have.
type fields uint8

const (
	withSet fields = 1 << iota
	withTurn
	withProduct
)

// verbs are the verbs.
var verbs = [...]verb{
	Barrier: {"barrier", 0}, HandOver: {"hand over", 0}, AwaitRoom: {"await room", withSet}, StartCopies: {"start copies", withSet},
	AwaitCopies: {"await copies", withSet}, AwaitLoads: {"await loads", 0}, Wipe: {"wipe", 0}, Compute: {"compute", 0},
	Ready: {"ready", withProduct}, StartProduct: {"start", withProduct}, AwaitProducts: {"await products", 0}, Rescale: {"rescale", 0}, Carry: {"carry", 0},
	Return: {"return", withSet}, Keep: {"keep", withSet}, ReturnKept: {"return kept", withSet},
	TakeTurn: {"take turn", withTurn}, PassTurn: {"pass turn", withTurn}, SkipStages: {"skip stages", 0}, endStep: {"end step", 0},
}

// String is the verb.
func (v Verb) String() string { return verbs[v].name }

// String is the act on a few words.
func (a Act) String() string { return written(func(t *text) { t.act(&[]Act{a}, 0) }) }

// Sets are the numbers of the copies of a step that come and go together: all of them, or each alone where the products that read
// them overlap.
func (x *Pipeline) Sets() [][]int {
	all := make([]int, len(x.Copies))
	for i := range all {
		all[i] = i
	}
	if x.Overlap == nil {
		return [][]int{all}
	}
	alone := make([][]int, len(all))
	for i := range all {
		alone[i] = all[i : i+1]
	}
	return alone
}

// The sets of a loop whose products overlap: what the first product reads, and what the last one does.
const (
	FirstSet = 0
	LastSet  = 1
)

// GroupTurn is the turn of two warpgroups that start products: the barrier of the first; that of the second is the next one.
const GroupTurn = 1

// schedule decides the schedules of all loops with stages.
func (p *Program) schedule() {
	for _, x := range p.Pipelines {
		switch {
		case x.Overlap != nil:
			x.Schedule = x.overlapping()
		case x.Produced:
			x.Schedule = p.produced(x)
		default:
			x.Schedule = x.byThreads()
		}
	}
}

// byThreads is the schedule of a loop whose copies the threads that compute start themselves.
func (x *Pipeline) byThreads() (s Schedule) {
	if x.Early == nil { // and otherwise the stages have their memory from the kernel's start
		s.Begin = []Act{{Do: Barrier}} // what used the stages' memory before must be done with
	}
	for n := range x.Ahead {
		s.Begin = append(s.Begin, Act{Do: StartCopies, Step: n})
	}
	s.Step = []Act{{Do: AwaitCopies, UnderWay: x.Ahead - 1}, {Do: Barrier}, {Do: StartCopies, Step: x.Ahead}, {Do: Compute}}
	if x.Overlapped {
		s.End = []Act{{Do: AwaitProducts}}
	}
	return s
}

// produced is the schedule of a loop whose copies a producer does.
func (p *Program) produced(x *Pipeline) (s Schedule) {
	s.Producer = x.byProducer()
	s.Begin = []Act{{Do: HandOver}}
	s.Step = []Act{{Do: AwaitCopies}, {Do: Wipe}, {Do: Compute}, {Do: Return}}
	if x.Overlapped {
		s.Step = []Act{{Do: AwaitCopies}, {Do: Wipe}, {Do: Compute}, {Do: ReturnKept, Step: -1}, {Do: Keep}}
		s.End = []Act{{Do: AwaitProducts}}
	}
	if p.Tiles == nil {
		return s
	}
	// The ring goes on from tile to tile, and the producer counts on its stages from the start.
	s.Begin, s.End = nil, []Act{{Do: AwaitProducts}, {Do: ReturnKept, Step: -1}}
	if p.Teams() > 1 {
		s.Begin = []Act{{Do: TakeTurn, Turn: ProductTurn}}
		s.End = []Act{{Do: PassTurn, Turn: ProductTurn}, {Do: AwaitProducts}, {Do: ReturnKept, Step: -1}, {Do: SkipStages}, {Do: TakeTurn, Turn: ResultTurn}}
	}
	return s
}

// byProducer is what the producer does for a step.
func (x *Pipeline) byProducer() (acts []Act) {
	for n := range x.Sets() {
		acts = append(acts, Act{Do: AwaitRoom, Set: n}, Act{Do: StartCopies, Set: n})
	}
	return acts
}

// overlapping is the schedule of a loop whose products overlap. A step begins while its first product, started in the step before, is
// under way, and behind it that step's last product.
func (x *Pipeline) overlapping() (s Schedule) {
	o := x.Overlap
	s.Producer = x.byProducer()
	s.Begin = []Act{{Do: HandOver}}
	s.First = []Act{{Do: AwaitLoads}, {Do: AwaitCopies, Set: FirstSet}, {Do: Ready, Product: o.First}, {Do: StartProduct, Product: o.First}, {Do: AwaitProducts}}
	s.Step = []Act{
		{Do: AwaitProducts, UnderWay: 1}, {Do: Return, Set: FirstSet}, {Do: Compute},
		{Do: AwaitProducts}, {Do: ReturnKept, Set: LastSet, Step: -1}, {Do: Rescale}, {Do: Carry}, {Do: Ready, Product: o.Last},
	}
	first := []Act{{Do: AwaitCopies, Set: FirstSet, Step: 1}, {Do: Ready, Product: o.First, Step: 1}, {Do: StartProduct, Product: o.First, Step: 1}}
	last := []Act{{Do: AwaitCopies, Set: LastSet}, {Do: StartProduct, Product: o.Last}}
	keep := Act{Do: Keep, Set: LastSet}
	s.Next = append(append(first, last...), keep)
	s.Last = []Act{last[0], {Do: Wipe}, last[1], {Do: AwaitProducts}}
	if o.Turns {
		turn := func(v Verb, by int) Act { return Act{Do: v, Turn: GroupTurn, By: by} }
		s.First = append(s.First, turn(PassTurn, 2)) // the first warpgroup begins
		s.Next = []Act{first[0], first[1], turn(TakeTurn, 0), first[2], last[0], last[1], turn(PassTurn, 0), keep}
		s.Last = []Act{last[0], {Do: Wipe}, last[1], turn(TakeTurn, 1), {Do: AwaitProducts}} // the turn that nobody takes any more
	}
	return s
}
