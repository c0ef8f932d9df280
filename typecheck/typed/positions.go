package typed

import "tilec/typecheck/size"

// Positions are from to to - 1 of an array's elements or of a dimension of a
// tensor; unless known, they may be any.
type Positions struct {
	Known    bool
	From, To size.Size
}

// OnePosition is the position n alone; any position where n is nil.
func OnePosition(n *size.Size) Positions {
	if n == nil {
		return Positions{}
	}
	return Positions{true, *n, n.Add(size.Const(1))}
}

// Of gives positions of a part as those of the whole.
func (a Positions) Of(part Positions) Positions {
	return Positions{a.Known && part.Known, part.From.Add(a.From), part.To.Add(a.From)}
}
