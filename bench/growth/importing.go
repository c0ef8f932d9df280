package main

import (
	"fmt"
	"strings"
)

// importing are programs of several files: f0.tile and so on, beside the one that is checked.
var importing = []program{
	{name: "imports that are not there", least: 200, text: func(n int) string { return each(n, "import \"a#\"\n") }},
	{name: "fan of imports", least: 500, text: func(n int) string { return each(n, "import \"f#\"\n") + uses(n) },
		files: func(n int) map[string]string { return files(n, func(int) string { return "fn f_#(x) = x + #\n" }) }},
	{name: "fan of imports of one file", least: 400, text: func(n int) string { return each(n, "import \"f#\"\n") + uses(n) },
		files: func(n int) map[string]string {
			all := files(n, func(int) string { return "import \"base\"\nfn f_#(x) = base(x) + #\n" })
			all["base.tile"] = "fn base(x) = x * 2\n"
			return all
		}},
	{name: "one file, imported again", least: 800, text: func(n int) string { return strings.Repeat("import \"f0\"\n", n) + uses(1) },
		files: func(int) map[string]string { return files(1, func(int) string { return "fn f_#(x) = x + #\n" }) }},
	{name: "chain of imports", least: 500, text: func(int) string { return "import \"f0\"\n" + uses(1) },
		files: func(n int) map[string]string {
			return files(n, func(i int) string { return following(i, n) + "fn f_#(x) = x + #\n" })
		}},
	{name: "chain of imports, called", least: 60, text: func(int) string { return "import \"f0\"\n" + uses(1) },
		files: func(n int) map[string]string {
			return files(n, func(i int) string {
				if i == n-1 {
					return "fn f_#(x) = x\n"
				}
				return following(i, n) + "fn f_#(x) = f_%(x) + #\n"
			})
		}},
	{name: "imports of all that come behind", least: 15, text: func(int) string { return "import \"f0\"\n" + uses(1) },
		files: func(n int) map[string]string { // the text of these files is quadratic in their number: of a few, each line counts
			n = isqrt(n * 40)
			return files(n, func(i int) string {
				var b strings.Builder
				for j := i + 1; j < n; j++ {
					fmt.Fprintf(&b, "import \"f%d\"\n", j)
				}
				return b.String() + "fn f_#(x) = x + #\n"
			})
		}},
	{name: "levels of two files that import two", least: 200, text: func(int) string { return "import \"f0\"\nimport \"g0\"\n" + uses(1) },
		files: func(n int) map[string]string {
			all := map[string]string{}
			for i := range n {
				next := ""
				if i+1 < n {
					next = fmt.Sprintf("import \"f%d\"\nimport \"g%d\"\n", i+1, i+1)
				}
				all[fmt.Sprintf("f%d.tile", i)] = next + fmt.Sprintf("fn f_%d(x) = x + 1\n", i)
				all[fmt.Sprintf("g%d.tile", i)] = next + fmt.Sprintf("fn g_%d(x) = x + 1\n", i)
			}
			return all
		}},
	{name: "cycle of imports", least: 500, text: func(int) string { return "import \"f0\"\n" + uses(1) },
		files: func(n int) map[string]string {
			return files(n, func(i int) string { return fmt.Sprintf("import \"f%d\"\n", (i+1)%n) + "fn f_#(x) = x + #\n" })
		}},
	{name: "imports of one name", least: 500, text: func(n int) string { return each(n, "import \"f#\"\n") + uses(1) },
		files: func(n int) map[string]string { return files(n, func(int) string { return "fn f_0(x) = x + #\n" }) }},
	{name: "errors in imported files", least: 400, text: func(n int) string { return each(n, "import \"f#\"\n") + uses(1) },
		files: func(n int) map[string]string { return files(n, func(int) string { return "const A = b#\n" }) }},
	{name: "syntax errors in imported files", least: 400, text: func(n int) string { return each(n, "import \"f#\"\n") + uses(1) },
		files: func(n int) map[string]string { return files(n, func(int) string { return "fn f_#(x = x\n" }) }},
}

// uses is a kernel that calls f_0 to f_n.
func uses(n int) string { return kernel(each(n, "    let a# = f_#(x[i])\n") + "    y[i] = a0\n") }

// files are n files, in whose texts # is the number of the file and % the next one.
func files(n int, text func(i int) string) map[string]string {
	all := map[string]string{}
	for i := range n {
		all[fmt.Sprintf("f%d.tile", i)] = link(text(i), i)
	}
	return all
}

// following imports the file behind number i of n, if there is one.
func following(i, n int) string {
	if i+1 < n {
		return fmt.Sprintf("import \"f%d\"\n", i+1)
	}
	return ""
}

// isqrt is the largest integer whose square is at most n.
func isqrt(n int) int {
	r := 0
	for (r+1)*(r+1) <= n {
		r++
	}
	return r
}
