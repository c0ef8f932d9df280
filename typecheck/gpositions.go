package typecheck

// positions are from to to - 1 of an array's elements or of a dimension of a
// tensor; unless known, they may be any.
type positions struct {
	known    bool
	from, to Size
}

func onePosition(n *Size) positions {
	if n == nil {
		return positions{}
	}
	return positions{true, *n, n.Add(ConstSize(1))}
}

// of gives positions of a part as those of the whole.
func (a positions) of(part positions) positions {
	return positions{a.known && part.known, part.from.Add(a.from), part.to.Add(a.from)}
}
