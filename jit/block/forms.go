package block

// This file says which of several forms that give the same values a block has.

// Form is which form the block has, by the name of the setting that asks for one (lang.Forms): 1 for the plain one.
func (p *Program) Form(name string) int64 {
	switch name {
	case "longest":
		if p.LongestFirst != nil {
			return p.LongestFirst.Together
		}
	}
	return 1
}
