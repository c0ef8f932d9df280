package lang

// Pages of the errors of print, assert, static_assert and assume.
func init() {
	for code, row := range map[Code]CodeRow{
		ErrFormat: {
			Title: "a text whose {} do not fit its values",
			Doc:   "The text of a print or an assert has one `{}` for each value behind it. A brace\nof its own is written twice.",
			Fails: `kernel copy(x: f32[N]) -> y: f32[N]
    grid i in N by B
{
    print("{} of {}", i.start)
    y[i] = x[i]
}
`,
			Works: `kernel copy(x: f32[N]) -> y: f32[N]
    grid i in N by B
{
    print("{} of {}", i.start, N)
    y[i] = x[i]
}
`,
		},
		ErrPure: {
			Title: "a fn that would print, assert or assume",
			Doc:   "A fn only computes a value. What it gives can be printed where it is called.",
			Fails: `fn root(x) {
    assert(x >= 0, "no root of {}", x)
    sqrt(x)
}

kernel roots(x: f32[N]) -> y: f32[N]
    grid i in N by B
{
    y[i] = root(x[i])
}
`,
			Works: `kernel roots(x: f32[N]) -> y: f32[N]
    grid i in N by B
{
    assert(x[i] >= 0, "no root of {}", x[i])
    y[i] = sqrt(x[i])
}
`,
		},
		ErrStaticAssert: {
			Title: "a static_assert, or an assume, that constants make false",
			Doc:   "A condition of constants is decided when the file is read, one of dimensions or\nconstant parameters when a launch gives these.",
			Fails: `const WIDTH = 12

kernel copy(x: f32[N]) -> y: f32[N]
    grid i in N by B
{
    static_assert(WIDTH % 8 == 0, "WIDTH must be a multiple of 8")
    y[i] = x[i]
}
`,
			Works: `const WIDTH = 16

kernel copy(x: f32[N]) -> y: f32[N]
    grid i in N by B
{
    static_assert(WIDTH % 8 == 0, "WIDTH must be a multiple of 8")
    y[i] = x[i]
}
`,
		},
	} {
		codeTable[code] = row
	}
}

// Quoted is a text for a message with values, with its braces doubled.
func Quoted(text string) string {
	out := make([]rune, 0, len(text))
	for _, r := range text {
		if r == '{' || r == '}' {
			out = append(out, r)
		}
		out = append(out, r)
	}
	return string(out)
}
