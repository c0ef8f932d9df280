package jit

// poisonByte is NaN in every float type and -1 in every integer type.
const poisonByte = 0xff

// poisoning is the switch that devices have for tests.
type poisoning struct{ on bool }

// turnOn turns the poisoning of memory on.
func (p *poisoning) turnOn() { p.on = true }

func (p *poisoning) poisons() bool { return p.on }
