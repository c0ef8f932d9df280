package plan

import (
	"errors"
	"fmt"

	"tilec/jit/ir"
	"tilec/jit/target"
	"tilec/lang"
)

// PinError is a pin that is impossible by itself.
type PinError struct {
	Name  string
	Value int64
	// Message says which limit it breaks, and by how much.
	Message string
	// Fits is a value that would do; 0 where none is known.
	Fits int64
	// Axis is what is split, where Name is split.
	Axis string
}

// Error is the pin and what is wrong with it.
func (e *PinError) Error() string { return fmt.Sprintf("%s = %d: %s", e.Name, e.Value, e.Message) }

// FitError says that no candidate is within the limits of the target.
type FitError struct {
	// Where is the candidate that comes nearest, by the names that can be pinned.
	Where string
	Limit violation
}

// ErrUncut says that a pin cuts an axis, and that what the kernel does with tiles over it
// cannot be computed again in parts: they have to be kept (ir.Func.Spill).
var ErrUncut = errors.New("tiles over an axis that a pin cuts have to be kept")

// Uses is what takes the room, a line each, where that is known.
func (e *FitError) Uses() []string { return e.Limit.uses }

// Error says what does not fit.
func (e *FitError) Error() string {
	return fmt.Sprintf("nothing fits: with %s it %s", e.Where, &e.Limit)
}

// asked gives a setting that a launch or the source pins; 0 where neither does.
func (m *model) asked(name string, pins map[string]int64) (int64, error) {
	n, ok := pins[name]
	if !ok {
		n, ok = m.f.Hints[name]
	}
	if !ok {
		return 0, nil
	}
	s, _ := lang.FindSetting(name, lang.AtLaunch)
	if f := s.Check(n); f != nil {
		return 0, &PinError{name, n, f.Reason, f.Fits, ""}
	}
	return n, nil
}

// setting gives the values of a setting: the one asked for, or those given.
func (m *model) setting(name string, pins map[string]int64, open ...int) ([]int, error) {
	n, err := m.asked(name, pins)
	if err != nil || n == 0 {
		return open, err
	}
	return []int{int(n)}, nil
}

// share finds out how blocks share a multiprocessor, a cluster and an axis, and whether the target lets them.
func (m *model) share(pins map[string]int64) error {
	private := 0
	for _, pin := range []struct {
		name string
		to   *int
	}{
		{"occupancy", &m.occupancy}, {"cluster", &m.cluster}, {"producer", &m.producer}, {"private", &private}, {"relayout", &m.relayout}, {"cut", &m.cut}, {"online", &m.online}, {"wgmma", &m.wgmma},
	} {
		n, err := m.asked(pin.name, pins)
		if err != nil {
			return err
		}
		*pin.to = int(n)
	}
	m.mostPrivate = int64(private)
	if m.producer == 2 {
		return &PinError{"producer", 2, "one warp only copies, or 4, which are a warpgroup and can give registers away", 4, ""}
	}
	m.forms = map[string]int64{}
	for _, name := range lang.Forms() {
		if n, err := m.asked(name, pins); err != nil {
			return err
		} else if n > 0 {
			m.forms[name] = n
		}
	}
	for _, a := range m.f.Axes {
		if a.Split > 1 {
			m.split = max(m.split, a.Split)
		}
	}
	t := m.target
	if !t.IsGPU() {
		return nil
	}
	if limit := int64(t.BlocksPerSM); int64(m.occupancy) > limit {
		return &PinError{"occupancy", int64(m.occupancy), fmt.Sprintf("a multiprocessor of %s holds at most %d blocks: %d too many", t.Name, limit, int64(m.occupancy)-limit), limit, ""}
	}
	for _, a := range m.f.Axes {
		switch {
		case a.Split <= 1:
		case !t.Has(target.Clusters):
			return &PinError{"split", a.Split, fmt.Sprintf("axis %s is split over the %d blocks of a cluster, and %s has no clusters; %s", a.Name, a.Split, t.Name, clustersFrom()), 1, a.Name}
		case a.Split != m.split:
			return &PinError{"split", a.Split, fmt.Sprintf("axis %s is split over %d blocks and another axis over %d: all are split over the blocks of one cluster", a.Name, a.Split, m.split), m.split, a.Name}
		case m.cluster > 0 && int64(m.cluster) != m.split:
			return &PinError{"cluster", int64(m.cluster), fmt.Sprintf("axis %s is split over %d blocks, which are a cluster", a.Name, a.Split), m.split, ""}
		case a.Kind == ir.Whole && !m.streamable[m.place[a]]:
			return ErrUncut
		}
	}
	if m.split > 1 {
		m.cluster = int(m.split)
	}
	if m.cluster > 1 && !t.Has(target.Clusters) {
		return &PinError{"cluster", int64(m.cluster), fmt.Sprintf("%s has no clusters of blocks; %s", t.Name, clustersFrom()), 1, ""}
	}
	return nil
}

// sharings is over how many blocks of a cluster an axis may be spread that the source does not split.
func (m *model) sharings(pins map[string]int64) ([]int, error) {
	m.shared = m.shareable()
	m.repeats = m.repeated()
	n, err := m.asked("split", pins)
	switch {
	case err != nil:
		return nil, err
	case !m.target.IsGPU() || m.split > 1 && (n == 0 || n == m.split) || n == 1:
		return []int{1}, nil
	case m.split > 1:
		return nil, &PinError{"split", n, fmt.Sprintf("the kernel splits an axis over %d blocks", m.split), m.split, ""}
	case n > 1 && !m.target.Has(target.Clusters):
		return nil, &PinError{"split", n, fmt.Sprintf("%s has no clusters of blocks; %s", m.target.Name, clustersFrom()), 1, ""}
	case n > 1 && m.shared < 0:
		return nil, &PinError{"split", n, fmt.Sprintf("no axis of kernel %s is one that blocks can share: a whole axis that is reduced, or the loop of an online softmax, at the top of a kernel that reads nothing that it writes", m.f.Name), 1, ""}
	case n > 1:
		return []int{int(n)}, nil
	case m.shared < 0 || m.sharedLoop() != nil && !m.growsWithGrid() && !m.repeats:
		return []int{1}, nil
	}
	return splits, nil
}

// tooShort says that an axis has not enough steps for so many blocks.
func (m *model) tooShort(blocks int) error {
	a := m.f.Axes[m.shared]
	return &PinError{"split", int64(blocks), fmt.Sprintf("axis %s has %d positions, which the plan does not go through in as many steps", a.Name, a.Len), 1, ""}
}

// clustersFrom says which machines have clusters.
func clustersFrom() string {
	m, _ := target.First(target.Clusters)
	return fmt.Sprintf("compute capability %s has", m.ComputeCapability())
}

// SharedLimit is the most shared memory that a block of the plan may have, in bytes.
func (p *Plan) SharedLimit(t target.Machine) int { return int(t.SharedShare(p.Occupancy)) }
