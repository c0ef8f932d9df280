package backend

// PoisonByte is NaN in every float type and -1 in every integer type.
const PoisonByte = 0xff

// Poisoning is the switch that devices have for tests.
type Poisoning struct{ on bool }

// TurnOn turns the poisoning of memory on.
func (p *Poisoning) TurnOn() { p.on = true }

// Poisons reports whether it is on.
func (p *Poisoning) Poisons() bool { return p.on }
