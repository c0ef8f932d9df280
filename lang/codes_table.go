package lang

import "strings"

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
	ErrComment    Code = "E0108" // a comment that reads as a division
)

var codeTable = map[Code]CodeRow{
	ErrSyntax: {
		Title: "a token that cannot stand where it stands",
		Doc: `The text does not follow the grammar. The message names what could stand at
the place and what was found there. A statement ends with its line, unless the
line ends with an operator or a comma, or stands in ( ) or [ ].`,
		Fails: "fn twice(x) = x *\n",
		Works: "fn twice(x) = x * 2\n",
	},
	ErrCharacter: {
		Title: "a character that no token begins with",
		Doc: `Outside of strings and comments a text has names, numbers, strings, operators
and brackets, and nothing else.`,
		Fails: "fn cost(x) = x * 2 $\n",
		Works: "fn cost(x) = x * 2  // $\n",
	},
	ErrString: {
		Title: "a string that does not end, or has a bad escape",
		Doc: `A string ends on the line on which it begins. Its escapes are those of Go:
\n \t \r \\ \" \x41 \u00e9 \U0001f600.`,
		Fails: "import \"std/nn\n",
		Works: "import \"std/nn\"\n",
	},
	ErrNumber: {
		Title: "a malformed or too large number",
		Doc: `Integers are written 42, 0x2a or 1_000 and have at most 64 bits. Floats are
written 1.5 or 1e-5, with a digit on both sides of the point.`,
		Fails: "const HALF = 0x1.8\nconst LIMIT = 12ab\n",
		Works: "const HALF = 1.5\nconst LIMIT = 0x12ab\n",
	},
	ErrEncoding: {
		Title: "text that is not UTF-8",
		Doc:   `A .tile file is UTF-8 text. The message gives the first byte that is not.`,
		Fails: "// caf\xe9\nconst N = 1\n",
		Works: "// café\nconst N = 1\n",
	},
	ErrUnbalanced: {
		Title: "a bracket without its partner",
		Doc: `Every ( [ and { has its ) ] and }. The error stands at the bracket that opens,
once, and the text behind it is read as if the bracket were closed.`,
		Fails: "fn half(x) = (x + 1 / 2\n",
		Works: "fn half(x) = (x + 1) / 2\n",
	},
	ErrComment: {
		Title: "a comment that reads as a division",
		Doc: `` + "`" + `//` + "`" + ` divides, rounding down, where it touches its operands on both sides (` + "`" + `a//b` + "`" + `)
or stands inside brackets (` + "`" + `(a // b)` + "`" + `, ` + "`" + `x[i // 2]` + "`" + `). Everywhere else it begins a
comment. One behind an operand that is nothing but an expression over names of its
declaration was meant to divide. A comment that says something in words is none.`,
		Fails: "fn row(i, w) = i // w\n",
		Works: "fn row(i, w) = i//w  // rounds down\n",
	},
	ErrNesting: {
		Title: "expressions nested too deep",
		Doc: `Expressions and blocks may be nested 400 deep, and 5000 operations may follow
each other in one expression. Name a part with let. Functions are inlined where they are
called: calls may be 200 deep in one another, and a body may unfold to 10000.`,
		Fails: "const DEEP = " + strings.Repeat("(", 1000) + "1" + strings.Repeat(")", 1000) + "\n",
		Works: "const DEEP = 1\n",
	},
}
