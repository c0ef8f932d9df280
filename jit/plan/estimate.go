package plan

// This file gives out what the planner reckoned of the plan that it chose, and of the one that came next.

// Estimate is what the planner predicts of a launch, and what the prediction is made of. Times are in seconds.
type Estimate struct {
	// Choice is the candidate, by the names that can be pinned.
	Choice string `json:"choice"`
	// Seconds is the whole of it. Terms are what each part of the machine takes for its share, and the latency and the launch that come on top
	// of the longest of these; Bound is the term that decides.
	Seconds float64 `json:"seconds"`
	Terms   []Term  `json:"terms"`
	Bound   string  `json:"bound"`
	// Blocks is the blocks of the launch, and WaveEfficiency which part of the multiprocessors' time has blocks, from 0 to 1.
	Blocks         int64   `json:"blocks"`
	WaveEfficiency float64 `json:"wave_efficiency"`
	// Residency is how many blocks a multiprocessor holds at once, Registers what the live tiles of a thread take, and SharedBytes the
	// shared memory of a block; 0 on the CPU.
	Residency   int64 `json:"residency,omitempty"`
	Registers   int64 `json:"registers,omitempty"`
	SharedBytes int64 `json:"shared_bytes,omitempty"`
	// Shorter is by how many seconds the launch takes less than if all blocks had as many steps as the longest, as those at the end of causal attention.
	// Where SharesSteps, blocks of a cluster share them, and Seconds is less by that: only without can it be held against plans whose blocks do not.
	Shorter     float64 `json:"shorter,omitempty"`
	SharesSteps bool    `json:"shares_steps,omitempty"`
	// KeepsRows: blocks keep rows in shared memory that they would read again otherwise.
	KeepsRows bool `json:"keeps_rows,omitempty"`
	// Copies is what threads take to copy windows that they bring in short pieces of many rows; Seconds do not know of it (AgainstCopies).
	Copies float64 `json:"copies,omitempty"`
}

// keptFaster is by how much less time rows take that blocks keep than is predicted, held against ways to read them again (H200s, f32, measured and predicted, us: softmax of 4,096 x 50,257 489
// and 552, of 256 x 393,216 298 and 310, layernorm of 4,096 x 50,304 483 and 728, an instance norm of 256 x 262,144 170 and 223; read again the second takes 327, 278 predicted, the last 195, 199 predicted).
const keptFaster = 1.5

// AgainstReading is the time to hold against a launch, or launches, that read rows again.
func (e *Estimate) AgainstReading() float64 {
	if e.KeepsRows {
		return e.Seconds / keptFaster
	}
	return e.Seconds
}

// AgainstCopies is the time to hold against launches that lay operands out anew: few warps copy and multiply by turns (lineOfCopy has what was measured).
func (e *Estimate) AgainstCopies() float64 { return e.Seconds + e.Copies }

// Longest is the whole of the time as if all blocks had as many steps as the longest, whether blocks share these or not.
func (e *Estimate) Longest() float64 {
	if e.SharesSteps {
		return e.Seconds + e.Shorter
	}
	return e.Seconds
}

// Term is one part of an estimate, in seconds.
type Term struct {
	Name    string  `json:"name"`
	Seconds float64 `json:"seconds"`
}

// terms are the parts of an estimate in their order; the last two come on top of the longest of the others.
func (e *estimate) terms() []Term {
	return []Term{{"compute", e.compute}, {"l2", e.l2}, {"dram", e.dram}, {"shared", e.shared}, {"issue", e.issue}, {"latency", e.latency}, {"launch", e.launch}}
}

// estimate is the candidate's, to be given out; nil where there is none.
func (s *scored) estimate(m *model) *Estimate {
	e := s.e
	if e == nil {
		return nil
	}
	return &Estimate{
		Choice: at{m, s.c, 0}.describe(), Seconds: e.time, Terms: e.terms(), Bound: e.bound(), Blocks: e.blocks, WaveEfficiency: e.waves,
		Residency: e.perSM, Registers: e.registers, SharedBytes: e.sharedBytes, Shorter: e.shorter, SharesSteps: s.c.sharers > 1, KeepsRows: e.keeps, Copies: e.copies,
	}
}
