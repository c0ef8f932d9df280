package main

import (
	"fmt"
	"strings"
)

// program makes a text whose size is given by n: its shape is what a person or a generator of code may write in earnest,
// or by mistake, and much of it.
type program struct {
	name string
	// least is about how many parts make a program whose work shows how it grows: sizes gives those that are measured.
	least int
	// few is the smallest number of parts that is measured, where an eighth of the next size is another matter: not refused, or
	// shown in another way; 0 for that eighth.
	few  int
	text func(n int) string
	// files are what the text imports, by the names of files; nil for a text that imports nothing.
	files func(n int) map[string]string
	// asks is a text before whose last occurrence the cursor of an editor stands; "" where none is asked for anything.
	asks string
}

// each is a text for every number below n.
func each(n int, format string) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(strings.ReplaceAll(format, "#", fmt.Sprint(i)))
	}
	return b.String()
}

// list is items with commas between.
func list(n int, format string) string { return strings.TrimSuffix(each(n, format+", "), ", ") }

// nested is n times open, a middle and n times closed.
func nested(n int, open, middle, closed string) string {
	return each(n, open) + middle + strings.Repeat(closed, n)
}

// kernel is a kernel along i with statements.
func kernel(stmts string) string {
	return "kernel k(x: f32[N], z: f32[M, N]) -> y: f32[N]\n    grid i in N by B\n{\n" + stmts + "}\n"
}

// value is a kernel that stores one expression.
func value(x string) string { return kernel("    y[i] = " + x + "\n") }

// graph is a graph of x and y with statements.
func graph(stmts string) string {
	return "graph g(x: f32[N]) -> y: f32[N] {\n" + stmts + "}\n"
}

const scale = "kernel scale(x: f32[N]) -> y: f32[N]\n    grid i in N by B\n{\n    y[i] = x[i] * 2\n}\n"

// programs of one file are in the order of the stages that they load most.
var programs = []program{
	// text
	{name: "comments", least: 4000, text: func(n int) string { return each(n, "// comment #\n") + "const A = 1\n" }},
	{name: "comments in a row of tokens", least: 1000, text: func(n int) string { return "const A = (1\n" + each(n, "    // comment #\n    + 1 // and #\n") + ")\n" }},
	{name: "docs", least: 4000, text: func(n int) string { return each(n, "/// doc #\n") + "const A = 1\n" }},
	{name: "docs apart", least: 4000, text: func(n int) string { return each(n, "/// doc #\n\n") + "const A = 1\n" }},
	{name: "block comments", least: 1000, text: func(n int) string { return each(n, "/* # */\n") + "const A = 1\n" }},
	{name: "open block comments", least: 1000, text: func(n int) string { return strings.Repeat("/*\n", n) + "const A = 1\n" }},
	{name: "block comments on a line", least: 1000, text: func(n int) string { return strings.Repeat("/* */ ", n) + "\nconst A = 1\n" }},
	{name: "floor divisions on a line", least: 1000, text: func(n int) string { return "const A = (1" + strings.Repeat(" // 1", n) + ")\n" }},
	{name: "long comment chain", least: 1000, text: func(n int) string { return "const A = (1 " + strings.Repeat("// ( ", n) + "\n" }},
	{name: "doubtful comments", least: 500, text: func(n int) string { return kernel(each(n, "    let a# = i.start // N\n")) }},
	{name: "long string", least: 40000, text: func(n int) string { return "test \"" + strings.Repeat("a", n) + "\" { }\n" }},
	{name: "long name", least: 40000, text: func(n int) string { return "const " + strings.Repeat("a", n) + " = 1\n" }},
	{name: "long unknown name", least: 10000, text: func(n int) string {
		return "const b" + strings.Repeat("a", n) + " = 1\nconst C = " + strings.Repeat("a", n) + "\n"
	}},
	{name: "long number", least: 10000, text: func(n int) string { return "const A = " + strings.Repeat("1", n) + "\n" }},
	{name: "long float", least: 10000, text: func(n int) string { return "const A = 0." + strings.Repeat("1", n) + "\n" }},
	{name: "wrong characters", least: 1000, few: 750, text: func(n int) string { return strings.Repeat("$ ", n) + "\n" }},
	{name: "wrong characters in lines", least: 1000, text: func(n int) string { return each(n, "const A# = 1 $\n") }},
	{name: "semicolons", least: 1000, text: func(n int) string { return kernel(strings.Repeat("    let a = 1;\n", n)) }},
	{name: "semicolons on a line", least: 1000, text: func(n int) string { return kernel("    " + strings.Repeat("let a = 1; ", n) + "\n") }},
	{name: "open strings", least: 1000, text: func(n int) string { return each(n, "import \"a#\n") }},
	{name: "bad escapes", least: 1000, text: func(n int) string { return each(n, "import \"\\q#\"\n") }},
	{name: "open brackets", least: 1000, text: func(n int) string { return "const A = " + strings.Repeat("(", n) + "\n" }},
	{name: "open brackets apart", least: 1000, text: func(n int) string { return "const A = " + strings.Repeat("( ", n) + "\n" }},
	{name: "closing brackets", least: 1000, text: func(n int) string { return "const A = 1 " + strings.Repeat(") ", n) + "\n" }},
	{name: "mismatched brackets", least: 1000, text: func(n int) string { return "const A = " + strings.Repeat("(1] + ", n) + "1\n" }},
	{name: "open braces", least: 1000, text: func(n int) string { return "kernel k() " + strings.Repeat("{ ", n) + "\n" }},
	{name: "open braces in lines", least: 200, text: func(n int) string { return kernel(each(n, "    if a {\n")) }},
	{name: "closing braces", least: 1000, text: func(n int) string { return strings.Repeat("}\n", n) }},
	{name: "open calls in lines", least: 1000, text: func(n int) string { return kernel(each(n, "    let a# = exp(x[i]\n")) }},
	{name: "junk", least: 1000, text: func(n int) string { return strings.Repeat("foo bar\n", n) }},
	{name: "half declarations", least: 1000, text: func(n int) string { return each(n, "kernel k#(\n") }},
	{name: "half statements", least: 1000, text: func(n int) string { return kernel(each(n, "    let a# =\n")) }},
	{name: "typed lets", least: 1000, text: func(n int) string { return kernel(each(n, "    let a#: f32 = 1\n")) }},
	{name: "assigned names", least: 1000, text: func(n int) string { return kernel(each(n, "    a# = 1\n")) }},
	// syntax; what is in one another is measured below the depth that is allowed
	{name: "parentheses", least: 80, text: func(n int) string { return "const A = " + nested(n, "(", "1", ")") + "\n" }},
	{name: "lists", least: 80, text: func(n int) string { return graph("    let a = " + nested(n, "[", "1", "]") + "\n    y = x\n") }},
	{name: "signs", least: 20, text: func(n int) string { return value(nested(n, "-", "x[i]", "")) }},
	{name: "nots", least: 20, text: func(n int) string { return value("where(" + nested(n, "not ", "x[i] > 0", "") + ", 1, 0)") }},
	{name: "sum of terms", least: 1000, text: func(n int) string { return value("x[i]" + strings.Repeat(" + x[i]", n)) }},
	{name: "sum of constants", least: 1000, text: func(n int) string { return "const A = 1" + strings.Repeat(" + 1", n) + "\n" }},
	{name: "sum of floats", least: 1000, text: func(n int) string { return "const A = 1.5" + strings.Repeat(" + 1.5", n) + "\n" }},
	{name: "conversions", least: 6000, few: 6000, text: func(n int) string { return value("x[i]" + strings.Repeat(" as f16 as f32", n)) }},
	{name: "powers", least: 20, text: func(n int) string { return value("x[i]" + strings.Repeat(" ** x[i]", n)) }},
	{name: "elses", least: 20, text: func(n int) string { return value("x[i + 1]" + strings.Repeat(" else x[i + 1]", n) + " else 0") }},
	{name: "else ifs", least: 20, text: func(n int) string {
		return value("if N > 1 { 1 }" + each(n, " else if N > # { 2 }") + " else { x[i] }")
	}},
	{name: "ifs in ifs", least: 20, text: func(n int) string { return value(nested(n, "if N > # { ", "x[i]", " } else { 0 }")) }},
	{name: "ifs in conditions", least: 20, text: func(n int) string {
		return value(nested(n, "if ", "N > 1", " { N > 2 } else { N > 3 }") + " { 1 } else { 2 }")
	}},
	{name: "lambdas in lambdas", least: 20, text: func(n int) string { return "fn f(g) = g(1)\n" + value(nested(n, "f((a#) => ", "x[i]", ")")) }},
	{name: "calls in calls", least: 20, text: func(n int) string { return value(nested(n, "exp(", "x[i]", ")")) }},
	{name: "indexes in indexes", least: 20, text: func(n int) string {
		return "kernel k(x: i32[N]) -> y: i32[N]\n    grid i in N by B\n{\n    y[i] = " + nested(n, "x[", "i", "] else 0") + "\n}\n"
	}},
	{name: "arguments", least: 1000, text: func(n int) string { return value("max(" + list(n, "x[i]") + ")") }},
	{name: "tuple", least: 1000, text: func(n int) string {
		return kernel("    let (" + list(n, "a#") + ") = (" + list(n, "x[i]") + ")\n    y[i] = a0\n")
	}},
	{name: "attributes", least: 1000, text: func(n int) string { return strings.Repeat("@warps(4)\n", n) + scale }},
	{name: "attributes on a line", least: 1000, text: func(n int) string { return strings.Repeat("@warps(4) ", n) + scale }},
	{name: "targets", least: 500, text: func(n int) string { return strings.Repeat("@target(sm_90a, B = 64)\n", n) + scale }},
	{name: "splits", least: 500, text: func(n int) string { return strings.Repeat("@split(i, 1)\n", n) + scale }},
	{name: "sizes", least: 1000, text: func(n int) string { return "@sizes(" + list(n, "N = 4") + ")\n" + scale }},
	{name: "hints", least: 500, text: func(n int) string { return value("x[i]" + strings.Repeat(" @evict_first", n)) }},
	// declarations
	{name: "constants", least: 1000, text: func(n int) string { return each(n, "const A# = #\n") }},
	{name: "constants of constants", least: 200, text: func(n int) string { return "const A0 = 1\n" + each(n, "const B# = A#\nconst A#1 = 1\n") }},
	{name: "chain of constants", least: 200, text: func(n int) string { return chain(n, "const C% = C# + 1\n", "const C0 = 1\n") }},
	{name: "chain of constants, last first", least: 200, text: func(n int) string { return backwards(n, "const C% = C# + 1\n") + "const C0 = 1\n" }},
	{name: "constants that double", least: 20, text: func(n int) string { return chain(n, "const C% = C# + C#\n", "const C0 = 1\n") }},
	{name: "kernels", least: 200, text: func(n int) string { return each(n, strings.Replace(scale, "scale", "scale#", 1)) }},
	{name: "kernels of one name", least: 200, text: func(n int) string { return strings.Repeat(scale, n) }},
	{name: "functions", least: 500, text: func(n int) string { return each(n, "fn f_#(x) = x + 1\n") }},
	{name: "functions, called", least: 200, text: func(n int) string {
		return each(n, "fn f_#(x) = x + 1\n") + kernel(each(n, "    let a# = f_#(x[i])\n")+"    y[i] = a0\n")
	}},
	{name: "chain of functions", least: 250, text: func(n int) string {
		return chain(n, "fn f_%(x) = f_#(x) + 1\n", "fn f_0(x) = x\n") + value(fmt.Sprintf("f_%d(x[i])", n))
	}},
	{name: "chain of functions, not called", least: 100, text: func(n int) string { return chain(n, "fn f_%(x) = f_#(x) + 1\n", "fn f_0(x) = x\n") }},
	{name: "functions that call two", least: 20, text: func(n int) string {
		return chain(n, "fn f_%(x) = f_#(x) + f_#(x)\n", "fn f_0(x) = x\n") + value(fmt.Sprintf("f_%d(x[i])", n))
	}},
	{name: "functions that call two, not called", least: 10, text: func(n int) string { return chain(n, "fn f_%(x) = f_#(x) + f_#(x)\n", "fn f_0(x) = x\n") }},
	{name: "recursive functions", least: 100, text: func(n int) string { return each(n, "fn f_#(x) = f_#(x)\n") }},
	{name: "cycle of functions", least: 100, text: func(n int) string { return chain(n, "fn f_%(x) = f_#(x)\n", fmt.Sprintf("fn f_0(x) = f_%d(x)\n", n)) }},
	{name: "cycles through one function", least: 30, text: func(n int) string {
		return "fn h(x) = " + strings.TrimSuffix(each(n, "f_#(x) + "), " + ") + "\n" + each(n, "fn f_#(x) = h(x)\n")
	}},
	{name: "calls of one function", least: 200, text: func(n int) string { return "fn f(x) = x * 2 + 1\n" + value("x[i]"+strings.Repeat(" + f(x[i])", n)) }},
	{name: "function of functions", least: 20, text: func(n int) string { return "fn f(g, x) = g(x)\n" + value(nested(n, "f(exp, ", "x[i]", ")")) }},
	{name: "function parameters", least: 300, text: func(n int) string { return "fn f(" + list(n, "a#") + ") = a0\n" + value("f("+list(n, "x[i]")+")") }},
	{name: "function generics", least: 300, text: func(n int) string {
		return "fn f<" + list(n, "T#: float") + ">(" + list(n, "a#: T#") + ") = a0\n" + value("f("+list(n, "x[i]")+")")
	}},
	{name: "parameters", least: 300, text: func(n int) string {
		return "kernel k(" + list(n, "x#: f32[N]") + ") -> y: f32[N]\n    grid i in N by B\n{\n    y[i] = x0[i]\n}\n"
	}},
	{name: "parameters, all read", least: 300, text: func(n int) string {
		return "kernel k(" + list(n, "x#: f32[N]") + ") -> y: f32[N]\n    grid i in N by B\n{\n    y[i] = 0" + each(n, " + x#[i]") + "\n}\n"
	}},
	{name: "dimensions", least: 300, text: func(n int) string {
		return "kernel k(" + list(n, "x#: f32[N#]") + ") -> y: f32[N0]\n    grid i in N0 by B\n{\n    y[i] = x0[i]\n}\n"
	}},
	{name: "dimensions of one tensor", least: 20, text: func(n int) string {
		return "kernel k(x: f32[" + list(n, "N#") + "]) -> y: f32[" + list(n, "N#") + "] {\n    y[" + list(n, "i#") + "] = x[" + list(n, "i#") + "]\n}\n"
	}},
	{name: "tensor of many dimensions", least: 10, text: func(n int) string {
		return "kernel k(x: f32[" + list(n, "N#") + "]) -> y: f32[N0]\n    grid i in N0 by B\n{\n" + each(n, "    axis a# in N#\n") + "    y[i] = sum(x[" + list(n, "a#") + "], over (" + list(n, "a#") + "))\n}\n"
	}},
	{name: "sum over many axes", least: 10, text: func(n int) string {
		return "kernel k(x: f32[M, " + list(n, "N#") + "]) -> y: f32[M]\n    grid i in M by B\n{\n" + each(n, "    axis a# in N#\n") + "    y[i] = sum(x[i, " + list(n, "a#") + "], over (" + list(n, "a#") + "))\n}\n"
	}},
	{name: "formula over many axes", least: 10, text: func(n int) string {
		return "kernel k(x: f32[M, " + list(n, "N#") + "]) -> y: f32[M] {\n    y[i] = sum(x[i, " + list(n, "a#") + "], over (" + list(n, "a#") + "))\n}\n"
	}},
	{name: "contraction over many axes", least: 10, text: func(n int) string {
		return "kernel k(x: f32[M, " + list(n, "N#") + "], z: f32[" + list(n, "N#") + ", K]) -> y: f32[M, K] {\n    y[i, j] = sum(x[i, " + list(n, "a#") + "] * z[" + list(n, "a#") + ", j], over (" + list(n, "a#") + "))\n}\n"
	}},
	{name: "split of many axes", least: 10, text: func(n int) string {
		return "kernel k(x: f32[M, " + product(n, "N#") + "], " + list(n, "s#: f32[N#]") + ") -> y: f32[M, " + list(n, "N#") + "]\n    grid i in M by B\n{\n    axis c in " + product(n, "N#") + "\n" + each(n, "    axis a# in N#\n") + "    y[i, " + list(n, "a#") + "] = split(x[i, c], c -> (" + list(n, "a#") + "))\n}\n"
	}},
	{name: "index that flattens", least: 10, text: func(n int) string {
		return "kernel k(x: f32[" + product(n, "N#") + "], " + list(n, "s#: f32[N#]") + ") -> y: f32[" + list(n, "N#") + "] {\n    y[" + list(n, "a#") + "] = x[" + flat(n) + "]\n}\n"
	}},
	{name: "store that flattens", least: 100, text: func(n int) string {
		return "kernel k(x: f32[" + list(n, "N#") + "]) -> y: f32[" + product(n, "N#") + "]\n    grid " + list(n, "a# in N# by B#") + "\n{\n    y[" + flat(n) + "] = x[" + list(n, "a#") + "]\n}\n"
	}},
	{name: "size that expands", least: 20, text: func(n int) string {
		return "kernel k(x: f32[N, M]) -> y: f32[" + product(n, "(N + M)") + "]\n    grid i in N by B\n{\n    y[i] = x[i, 0]\n}\n"
	}},
	{name: "size of many symbols", least: 20, text: func(n int) string {
		return "kernel k(" + list(n, "x#: f32[N#, M#]") + ") -> y: f32[" + product(n, "(N# + M#)") + "]\n    grid i in N0 by B\n{\n    y[i] = x0[i, 0]\n}\n"
	}},
	{name: "size divided again", least: 20, text: func(n int) string {
		return "kernel k(x: f32[N]) -> y: f32[N" + strings.Repeat(" / 2 + 1", n) + "]\n    grid i in N by B\n{\n    y[i] = x[i]\n}\n"
	}},
	{name: "size in brackets, divided", least: 500, few: 400, text: func(n int) string {
		return "kernel k(x: f32[N]) -> y: f32[" + nested(n, "(", "N", " + 1) / 2") + "]\n    grid i in N by B\n{\n    y[i] = x[i]\n}\n"
	}},
	{name: "size of remainders", least: 200, text: func(n int) string {
		return "kernel k(x: f32[N]) -> y: f32[1" + each(n, " + N % (# + 2)") + "]\n    grid i in N by B\n{\n    y[i] = x[i]\n}\n"
	}},
	{name: "outputs", least: 100, text: func(n int) string {
		return "kernel k(x: f32[N]) -> (" + list(n, "y#: f32[N]") + ")\n    grid i in N by B\n{\n" + each(n, "    y#[i] = x[i]\n") + "}\n"
	}},
	{name: "constants as parameters", least: 200, text: func(n int) string {
		return "kernel k<" + list(n, "const C#: int = 1") + ">(x: f32[N]) -> y: f32[N]\n    grid i in N by B\n{\n    y[i] = x[i]\n}\n"
	}},
	{name: "grid axes", least: 20, text: func(n int) string {
		return "kernel k(x: f32[" + list(n, "N#") + "]) -> y: f32[" + list(n, "N#") + "]\n    grid " + list(n, "i# in N# by B#") + "\n{\n    y[" + list(n, "i#") + "] = x[" + list(n, "i#") + "]\n}\n"
	}},
	{name: "tune choices", least: 500, text: func(n int) string {
		return strings.Replace(scale, "    grid", "    tune B in {"+list(n, "1#")+"}\n    grid", 1)
	}},
	{name: "tunes", least: 20, text: func(n int) string {
		return "kernel k(x: f32[" + list(n, "N#") + "]) -> y: f32[" + list(n, "N#") + "]\n    tune " + list(n, "B# in {1, 2, 4}") + "\n    grid " + list(n, "i# in N# by B#") + "\n{\n    y[" + list(n, "i#") + "] = x[" + list(n, "i#") + "]\n}\n"
	}},
	{name: "tunes of one name", least: 500, text: func(n int) string {
		return strings.Replace(scale, "    grid", "    tune "+list(n, "B = 4")+"\n    grid", 1)
	}},
	// statements
	{name: "stores to one tensor", least: 50, text: func(n int) string {
		return "kernel k(x: f32[N]) -> y: f32[N, " + fmt.Sprint(n) + "]\n    grid i in N by B\n{\n" + each(n, "    y[i, #] = x[i]\n") + "}\n"
	}},
	{name: "stores side by side", least: 50, text: func(n int) string {
		return "kernel k(x: f32[N]) -> y: f32[N * " + fmt.Sprint(n) + "]\n    grid i in N by B\n{\n" + each(n, fmt.Sprintf("    y[i * %d + #] = x[i]\n", n)) + "}\n"
	}},
	{name: "stores one behind the other", least: 100, text: func(n int) string {
		return "kernel k(x: f32[N]) -> y: f32[N * " + fmt.Sprint(n) + "]\n    grid i in N by B\n{\n" + each(n, "    y[i + # * N] = x[i]\n") + "}\n"
	}},
	{name: "stores to one element", least: 50, text: func(n int) string { return kernel(each(n, "    y[i] = x[i] + #\n")) }},
	{name: "stores that race", least: 50, text: func(n int) string { return kernel(each(n, "    y[i + #] = x[i]\n")) }},
	{name: "stores at tiles", least: 50, text: func(n int) string {
		return "kernel k(x: f32[N], at: i32[N]) -> y: f32[N, N]\n    grid i in N by B\n{\n" + each(n, "    y[i, at[i]] = x[i]\n") + "}\n"
	}},
	{name: "atomics", least: 50, text: func(n int) string {
		return "kernel k(x: f32[N], inout y: f32[N])\n    grid i in N by B\n{\n" + each(n, "    atomic_add(y[i], x[i])\n") + "}\n"
	}},
	{name: "stores and loads of inout", least: 50, text: func(n int) string {
		return "kernel k(inout y: f32[N])\n    grid i in N by B\n{\n" + each(n, "    y[i] = y[i] + 1\n") + "}\n"
	}},
	{name: "stores and loads of inout, apart", least: 50, text: func(n int) string {
		return "kernel k(inout y: f32[N, " + fmt.Sprint(n) + "])\n    grid i in N by B\n{\n" + each(n, "    y[i, #] = y[i, #] + 1\n") + "}\n"
	}},
	{name: "loads", least: 300, text: func(n int) string { return kernel(each(n, "    let a# = x[i]\n") + "    y[i] = a0\n") }},
	{name: "loads that need a proof", least: 100, text: func(n int) string { return kernel(each(n, "    let a# = x[i + #] else 0\n") + "    y[i] = a0\n") }},
	{name: "loads with a wrong index", least: 100, text: func(n int) string { return kernel(each(n, "    let a# = x[i + # + 1]\n") + "    y[i] = x[i]\n") }},
	{name: "lets", least: 500, text: func(n int) string { return kernel(each(n, "    let a# = x[i] * #\n") + "    y[i] = a0\n") }},
	{name: "lets of one name", least: 500, text: func(n int) string {
		return kernel("    let a = x[i]\n" + strings.Repeat("    let a = a * 2\n", n) + "    y[i] = a\n")
	}},
	{name: "lets that double", least: 20, text: func(n int) string {
		return kernel("    let a = x[i]\n" + strings.Repeat("    let a = a + a\n", n) + "    y[i] = a\n")
	}},
	{name: "integers that double", least: 10, text: func(n int) string {
		return kernel("    let a = i.start\n" + strings.Repeat("    let a = a + a\n", n) + "    y[i] = a as f32\n")
	}},
	{name: "integers that square", least: 10, text: func(n int) string {
		return kernel("    let a = i.start + N\n" + strings.Repeat("    let a = a * a\n", n) + "    y[i] = x[a] else 0\n")
	}},
	{name: "sizes that square", least: 10, text: func(n int) string {
		return kernel("    let a = N + M\n" + strings.Repeat("    let a = a * a\n", n) + "    y[i] = x[a] else 0\n")
	}},
	{name: "sum of positions", least: 100, text: func(n int) string { return value("x[" + nested(n, "", "i", " + 1") + "] else 0") }},
	{name: "sum of many parameters", least: 30, text: func(n int) string {
		return "kernel k(x: f32[N], " + list(n, "n#: i32") + ") -> y: f32[N]\n    grid i in N by B\n{\n    y[i] = x[i" + each(n, " + n#") + "] else 0\n}\n"
	}},
	{name: "assumed parameters", least: 100, text: func(n int) string {
		return "kernel k(x: f32[N], " + list(n, "n#: i32") + ") -> y: f32[N]\n    grid i in N by B\n{\n" + each(n, "    assume(0 <= n# and n# < N)\n") + each(n, "    y[i] = x[n#]\n") + "}\n"
	}},
	{name: "assumed chain", least: 100, text: func(n int) string {
		return "kernel k(x: f32[N], " + list(n+1, "n#: i32") + ") -> y: f32[N]\n    grid i in N by B\n{\n    assume(0 <= n0)\n" + chain(n, "    assume(n# <= n%)\n", "") + fmt.Sprintf("    assume(n%d < N)\n", n) + "    y[i] = x[n0]\n}\n"
	}},
	{name: "assumed of one", least: 100, text: func(n int) string {
		return "kernel k(x: f32[N], n: i32) -> y: f32[N]\n    grid i in N by B\n{\n" + each(n, "    assume(n % (# + 2) == 0)\n") + "    y[i] = x[i]\n}\n"
	}},
	{name: "static asserts", least: 300, text: func(n int) string {
		return kernel(each(n, "    static_assert(N >= #, \"text\")\n") + "    y[i] = x[i]\n")
	}},
	{name: "prints", least: 300, text: func(n int) string { return kernel(each(n, "    print(\"# {}\", i.start)\n") + "    y[i] = x[i]\n") }},
	{name: "print of many", least: 300, text: func(n int) string {
		return kernel("    print(\"" + strings.Repeat("{} ", n) + "\", " + list(n, "i.start") + ")\n    y[i] = x[i]\n")
	}},
	{name: "axes", least: 200, text: func(n int) string { return kernel(each(n, "    axis a# in 1#\n") + "    y[i] = x[i]\n") }},
	{name: "axes over one dimension", least: 200, text: func(n int) string { return kernel(each(n, "    axis a# in N\n") + "    y[i] = x[i]\n") }},
	{name: "reductions", least: 200, text: func(n int) string {
		return kernel("    axis j in M\n" + each(n, "    let s# = sum(z[j, i], over j)\n") + "    y[i] = s0\n")
	}},
	{name: "loops", least: 100, text: func(n int) string {
		return kernel(each(n, "    let s# = for k in M by BK# with s = zeros(f32, i) { s + sum(z[k, i], over k) }\n") + "    y[i] = s0\n")
	}},
	{name: "loops in loops", least: 20, text: func(n int) string { return value(nested(n, "for k# in M with s = zeros(f32, i) { s + ", "1", " }")) }},
	{name: "loop that carries many", least: 50, text: func(n int) string {
		return kernel("    let (" + list(n, "b#") + ") = for k in M with (" + list(n, "a#") + ") = (" + list(n, "x[i]") + ") { (" + list(n, "a# + 1") + ") }\n    y[i] = b0\n")
	}},
	{name: "ifs", least: 200, text: func(n int) string { return kernel("    y[i] = 0\n" + each(n, "    if N > # { y[i] = x[i] }\n")) }},
	{name: "reduce of many", least: 20, text: func(n int) string {
		return kernel("    axis j in M\n    let (" + list(n, "r#") + ") = reduce((" + list(n, "z[j, i]") + "), over j, (" + list(n, "0.0") + "), ((" + list(n, "a#") + "), (" + list(n, "b#") + ")) => (" + list(n, "a# + b#") + "))\n    y[i] = r0\n")
	}},
	{name: "cat of many", least: 30, text: func(n int) string {
		return "kernel k(x: f32[N, 2]) -> y: f32[N, " + fmt.Sprint(2*n) + "]\n    grid i in N by B\n{\n    axis a in 2\n    axis c in " + fmt.Sprint(2*n) + "\n    y[i, c] = cat(" + list(n, "x[i, a]") + ", over c)\n}\n"
	}},
	{name: "sort of many", least: 30, text: func(n int) string {
		return kernel("    axis j in M\n    let (" + list(n, "r#") + ") = sort((" + list(n, "z[j, i]") + "), over j)\n    y[i] = sum(r0, over j)\n")
	}},
	{name: "statements that are no store", least: 300, text: func(n int) string { return kernel(strings.Repeat("    x[i]\n", n) + "    y[i] = x[i]\n") }},
	// formulas
	{name: "formula of lines", least: 30, text: func(n int) string {
		return "kernel k(x: f32[N]) -> (" + list(n, "y#: f32[N]") + ") {\n" + each(n, "    y#[i] = x[i]\n") + "}\n"
	}},
	{name: "formula of lines that follow", least: 15, text: func(n int) string {
		return "kernel k(x: f32[N]) -> (" + list(n+1, "y#: f32[N]") + ") {\n    y0[i] = x[i]\n" + chain(n, "    y%[i] = y#[i] + 1\n", "") + "}\n"
	}},
	{name: "formula of launches", least: 10, text: func(n int) string {
		return "kernel k(x: f32[" + list(n, "N#") + "]) -> (" + list(n, "y#: f32[N#]") + ") {\n" + each(n, "    y#[i#] = #\n") + "}\n"
	}},
	{name: "formula of lets", least: 100, text: func(n int) string {
		return "kernel k(x: f32[N]) -> y: f32[N] {\n    let a0 = x[i]\n" + chain(n, "    let a% = a# + 1\n", "") + fmt.Sprintf("    y[i] = a%d\n}\n", n)
	}},
	{name: "formula of lets that nothing needs", least: 50, text: func(n int) string {
		return "kernel k(x: f32[N]) -> y: f32[N] {\n" + each(n, "    let a# = x[i] + #\n") + "    y[i] = x[i]\n}\n"
	}},
	{name: "formula of prints", least: 50, text: func(n int) string {
		return "kernel k(x: f32[N]) -> y: f32[N] {\n" + each(n, "    print(\"#\")\n") + "    y[i] = x[i]\n}\n"
	}},
	// structs
	{name: "wide struct", least: 300, text: func(n int) string {
		return "struct W { " + list(n, "f_#: f32[N]") + " }\ngraph g(x: f32[N], w: W) -> y: f32[N] {\n    y = x + w.f_0\n}\n"
	}},
	{name: "wide struct, all read", least: 300, text: func(n int) string {
		return "struct W { " + list(n, "f_#: f32[N]") + " }\ngraph g(x: f32[N], w: W) -> y: f32[N] {\n" + each(n, "    let a# = x + w.f_#\n") + "    y = a0\n}\n"
	}},
	{name: "fields of one name", least: 300, text: func(n int) string { return "struct W { " + list(n, "f: f32[N]") + " }\n" }},
	{name: "structs", least: 300, text: func(n int) string { return each(n, "struct S# { f: f32[N] }\n") }},
	{name: "chain of structs", least: 120, text: func(n int) string { return "struct S0 { f: f32[N] }\n" + chain(n, "struct S% { s: S# }\n", "") }},
	{name: "structs that double", least: 20, text: func(n int) string {
		return "struct S0 { f: f32[N] }\n" + chain(n, "struct S% { a: S#\n b: S# }\n", "") + fmt.Sprintf("graph g(x: f32[N], w: S%d) -> y: f32[N] {\n    y = x\n}\n", n)
	}},
	{name: "arrays that double", least: 20, text: func(n int) string {
		return "struct S0 { f: f32[N] }\n" + chain(n, "struct S% { a: [2]S#\n b: [2]S# }\n", "") + fmt.Sprintf("graph g(x: f32[N], w: S%d) -> y: f32[N] {\n    y = x\n}\n", n)
	}},
	{name: "structs of dimensions", least: 120, text: func(n int) string {
		return "struct S0 { f: f32[N0] }\n" + chain(n, "struct S% { s: S#\n f: f32[N%] }\n", "")
	}},
	{name: "long array", least: 1000, text: func(n int) string {
		return "struct S { f: f32[N] }\ngraph g(x: f32[N], w: [" + fmt.Sprint(n) + "]S) -> y: f32[N] {\n    y = for s in w with a = x { a + s.f }\n}\n"
	}},
	// graphs
	{name: "graph of calls", least: 100, text: func(n int) string {
		return scale + graph("    let a0 = x\n"+chain(n, "    let a% = scale(a#)\n", "")+fmt.Sprintf("    y = a%d\n", n))
	}},
	{name: "graph of sums", least: 100, text: func(n int) string { return graph("    y = x" + strings.Repeat(" + x", n) + "\n") }},
	{name: "graph of lets that double", least: 10, text: func(n int) string {
		return graph("    let a = x\n" + strings.Repeat("    let a = a + a\n", n) + "    y = a\n")
	}},
	{name: "graph of counts that double", least: 10, text: func(n int) string {
		return graph("    let a = N\n" + strings.Repeat("    let a = a + a\n", n) + "    y = x * (a as f32)\n")
	}},
	{name: "graphs that call two", least: 5, text: func(n int) string {
		return scale + "graph g0(x: f32[N]) -> y: f32[N] {\n    y = scale(x)\n}\n" + chain(n, "graph g%(x: f32[N]) -> y: f32[N] {\n    y = g#(g#(x))\n}\n", "")
	}},
	{name: "chain of graphs", least: 50, text: func(n int) string {
		return scale + "graph g0(x: f32[N]) -> y: f32[N] {\n    y = scale(x)\n}\n" + chain(n, "graph g%(x: f32[N]) -> y: f32[N] {\n    y = g#(x)\n}\n", "")
	}},
	{name: "graph loops in loops", least: 20, text: func(n int) string {
		return scale + graph("    y = "+nested(n, "for n# in 10 with a# = x { ", "scale(x)", " }")+"\n")
	}},
	{name: "graph loops", least: 50, text: func(n int) string {
		return scale + graph(each(n, "    let b# = for n in 10 with a = x { scale(a) }\n")+"    y = b0\n")
	}},
	{name: "graph of functions that call two", least: 20, text: func(n int) string {
		return chain(n, "fn f_%(x) = f_#(x) + f_#(x)\n", "fn f_0(x) = x + 1\n") + graph(fmt.Sprintf("    y = f_%d(x)\n", n))
	}},
	{name: "graph of a chain of functions", least: 250, text: func(n int) string {
		return chain(n, "fn f_%(x) = f_#(x) + 1\n", "fn f_0(x) = x\n") + graph(fmt.Sprintf("    y = f_%d(x)\n", n))
	}},
	{name: "slices", least: 50, text: func(n int) string { return graph(each(n, "    let a# = x[0 .. N]\n") + "    y = a0\n") }},
	{name: "slices of slices", least: 20, text: func(n int) string { return graph("    y = x" + strings.Repeat("[0 .. N]", n) + "\n") }},
	{name: "views", least: 50, text: func(n int) string { return graph(each(n, "    let a# = view(x, [N, 1])\n") + "    y = x\n") }},
	{name: "list", least: 1000, text: func(n int) string { return graph("    let a = [" + list(n, "#.0") + "]\n    y = x\n") }},
	{name: "list of lists", least: 300, text: func(n int) string { return graph("    let a = [" + list(n, "[1.0, 2.0]") + "]\n    y = x\n") }},
	{name: "writes of parts of state", least: 20, text: func(n int) string {
		return "kernel w(inout s: f32[N], inout t: f32[N])\n    grid i in N by B\n{\n    s[i] = 0\n    t[i] = 1\n}\n" + graph("    inout s = zeros(f32, [1000])\n"+each(n, "    w(s[0 .. 2], s[2 .. 4])\n")+"    y = x\n")
	}},
	{name: "call of many parts of state", least: 10, text: func(n int) string {
		return "kernel w(" + list(n, "inout s#: f32[N]") + ")\n    grid i in N by B\n{\n" + each(n, "    s#[i] = 0\n") + "}\n" + graph("    inout s = zeros(f32, ["+fmt.Sprint(2*n)+"])\n    w("+list(n, "s[2 * # .. 2 * # + 2]")+")\n    y = x\n")
	}},
	{name: "language models", least: 200, text: func(n int) string {
		return each(n, "@logits\ngraph g_#(tokens: i32[B, S], start: i32[B]) -> y: f32[B, S, V] {\n    y = zeros(f32, [B, S, V])\n}\n")
	}},
	{name: "tests", least: 200, text: func(n int) string { return each(n, "test \"t#\" {\n    check 1 == 1\n}\n") }},
	{name: "tests of one name", least: 500, text: func(n int) string { return strings.Repeat("test \"t\" {\n    check 1 == 1\n}\n", n) }},
	{name: "checks", least: 200, text: func(n int) string { return "test \"t\" {\n" + each(n, "    check # == #\n") + "}\n" }},
	// errors
	{name: "unknown names", least: 500, text: func(n int) string { return each(n, "const A# = B#\n") }},
	{name: "unknown names in a kernel", least: 300, text: func(n int) string { return kernel(each(n, "    let a# = b#\n") + "    y[i] = x[i]\n") }},
	{name: "unknown axes", least: 1000, text: func(n int) string { return kernel(each(n, "    let a# = sum(x[i], over b#)\n") + "    y[i] = x[i]\n") }},
	{name: "unknown types", least: 1000, text: func(n int) string { return "struct S { " + list(n, "f_#: Foo#<A>") + " }\n" }},
	{name: "unknown attributes", least: 1000, text: func(n int) string { return each(n, "@foo#\n") + scale }},
	{name: "names declared twice", least: 500, text: func(n int) string { return strings.Repeat("const A = 1\n", n) }},
	{name: "mixed types", least: 300, text: func(n int) string { return kernel(each(n, "    let a# = x[i] + i.start\n") + "    y[i] = x[i]\n") }},
	{name: "errors in one function", least: 100, text: func(n int) string {
		return "fn f(x) = x + i\n" + kernel(each(n, "    let a# = f(x[i])\n")+"    y[i] = x[i]\n")
	}},
	{name: "errors deep in functions", least: 20, text: func(n int) string {
		return chain(n, "fn f_%(x) = f_#(x) + 1\n", "fn f_0(x) = x & 1\n") + value(fmt.Sprintf("f_%d(x[i])", n))
	}},
	{name: "errors on one line", least: 300, text: func(n int) string { return value("x[i]" + strings.Repeat(" + q", n)) }},
	{name: "outputs that are not stored", least: 200, text: func(n int) string {
		return "kernel k(x: f32[N]) -> (" + list(n, "y#: f32[N]") + ")\n    grid i in N by B\n{\n}\n"
	}},
}

// chain is a first text and n more, of which each has the number # of the one before it and its own, %.
func chain(n int, format, first string) string {
	var b strings.Builder
	b.WriteString(first)
	for i := range n {
		b.WriteString(link(format, i))
	}
	return b.String()
}

// backwards is the texts of a chain, the last one first.
func backwards(n int, format string) string {
	var b strings.Builder
	for i := n - 1; i >= 0; i-- {
		b.WriteString(link(format, i))
	}
	return b.String()
}

func link(format string, i int) string {
	return strings.NewReplacer("#", fmt.Sprint(i), "%", fmt.Sprint(i+1)).Replace(format)
}

func product(n int, format string) string { return strings.TrimSuffix(each(n, format+" * "), " * ") }

// flat is the place of an element of n dimensions in row-major order.
func flat(n int) string {
	text := "a0"
	for i := 1; i < n; i++ {
		text = fmt.Sprintf("(%s) * N%d + a%d", text, i, i)
	}
	return text
}
