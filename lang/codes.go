package lang

// Code is the stable name of a kind of error, "E0312", or of warning, "W0601". The
// first two digits are the kind: 01 syntax, 02 name, 03 type, 04 shape, 05 bounds,
// 06 race, 07 constant, 08 resource, 09 launch, 10 import.
type Code string

// CodeRow describes one code. Fails and Works are whole programs: the first
// gives the error or the warning, the second is how to write what was meant.
type CodeRow struct {
	Title string
	Doc   string
	Fails string
	Works string
}

// CodeInfo gives the row of a code.
func CodeInfo(c Code) (CodeRow, bool) {
	r, ok := codeTable[c]
	return r, ok
}
