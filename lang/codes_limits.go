package lang

import (
	"fmt"
	"strings"
)

func init() {
	stores := func(index func(n int) string) string {
		var b strings.Builder
		b.WriteString("kernel copies(x: f32[N]) -> y: f32[200 * N]\n    grid i in N by B\n{\n")
		for n := range 200 {
			fmt.Fprintf(&b, "    y[%s] = x[i]\n", index(n))
		}
		return b.String() + "}\n"
	}
	codeTable[ErrLimit] = CodeRow{
		Title: "a program larger than the compiler takes",
		Doc: `Some programs of a few lines stand for very many things: a struct that holds
two of another, which holds two of a third; a loop of a graph, which is unrolled; stores
that have to be compared with each other. The compiler takes so many of each, which the message and
the reference of the language name, and refuses more at once in place of taking hours.`,
		Fails: stores(func(n int) string { return fmt.Sprintf("i + %d * N", n) }),
		Works: stores(func(n int) string { return fmt.Sprintf("200 * i + %d", n) }),
	}
}
