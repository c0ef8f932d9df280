package lang

// Function describes a function of the language that is written with other
// operations: the type checker knows it, no backend does.
type Function struct {
	Name  string
	Group Group
	// Written shows a call.
	Written string
	Doc     string
	// CuTile is its name in CUDA Tile Python; "" where it has none.
	CuTile string
}

// functions is in the order of the reference.
var functions = []Function{
	{"iota", GroupCreate, "iota(i)", "the elements of an axis counted from 0 where the axis begins: index(i) for an axis from 0 on", "ct.arange"},
	{"split", GroupShape, "split(x, d -> (h, e))", "one axis as several: element h * E + e of d is element (h, e)", "ct.reshape"},
	{"merge", GroupShape, "merge(x, (h, e) -> d)", "several axes as one, the last of them fastest", "ct.reshape"},
	{"slice", GroupShape, "slice(x, d[lo .. hi] -> r)", "the positions lo to hi - 1 of an axis as an axis of their own", "ct.extract"},
	{"cat", GroupShape, "cat(a, b, over d)", "tiles one behind the other along d; `cat(a, b, (p, q) -> d)` names the axes that are joined", "ct.cat"},
	{"insert", GroupShape, "insert(x, d, n, v)", "v at position n of d, x elsewhere; a position outside d changes nothing", ""},
	{"broadcast", GroupShape, "broadcast(x, i, j)", "the same values over these axes too", "ct.broadcast_to"},
}

// Functions lists the functions that are no rows of the operation table.
func Functions() []Function { return append([]Function(nil), functions...) }

// FindFunction finds a function by its name.
func FindFunction(name string) (Function, bool) {
	for _, f := range functions {
		if f.Name == name {
			return f, true
		}
	}
	return Function{}, false
}
