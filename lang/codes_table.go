package lang

// The codes, by kind.
const (
	// syntax
	ErrSyntax     Code = "E0101" // a token that cannot stand where it stands
	ErrCharacter  Code = "E0102" // a character that no token begins with
	ErrString     Code = "E0103" // a string that does not end, or has a bad escape
	ErrNumber     Code = "E0104" // a malformed or too large number
	ErrEncoding   Code = "E0105" // text that is not UTF-8
	ErrUnbalanced Code = "E0106" // a bracket without its partner
	ErrNesting    Code = "E0107" // expressions nested too deep
)

var codeTable = map[Code]CodeRow{}
