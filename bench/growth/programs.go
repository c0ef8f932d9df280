package main

import (
	"fmt"
	"strings"
)

// program makes a text whose size is given by n: its shape is what a person or a generator of code may write in earnest,
// or by mistake, and much of it.
type program struct {
	name string
	// least is the smallest n that is measured.
	least int
	text  func(n int) string
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

// programs are in the order of the stages that they load most.
var programs = []program{
	// text
	{"comments", 4000, func(n int) string { return each(n, "// comment #\n") + "const A = 1\n" }},
	{"comments in a row of tokens", 1000, func(n int) string { return "const A = (1\n" + each(n, "    // comment #\n    + 1 // and #\n") + ")\n" }},
	{"docs", 4000, func(n int) string { return each(n, "/// doc #\n") + "const A = 1\n" }},
	{"docs apart", 4000, func(n int) string { return each(n, "/// doc #\n\n") + "const A = 1\n" }},
	{"block comments", 1000, func(n int) string { return each(n, "/* # */\n") + "const A = 1\n" }},
	{"open block comments", 1000, func(n int) string { return strings.Repeat("/*\n", n) + "const A = 1\n" }},
	{"block comments on a line", 1000, func(n int) string { return strings.Repeat("/* */ ", n) + "\nconst A = 1\n" }},
	{"floor divisions on a line", 1000, func(n int) string { return "const A = (1" + strings.Repeat(" // 1", n) + ")\n" }},
	{"long comment chain", 1000, func(n int) string { return "const A = (1 " + strings.Repeat("// ( ", n) + "\n" }},
	{"doubtful comments", 500, func(n int) string { return kernel(each(n, "    let a# = i.start // N\n")) }},
	{"long string", 40000, func(n int) string { return "test \"" + strings.Repeat("a", n) + "\" { }\n" }},
	{"long name", 40000, func(n int) string { return "const " + strings.Repeat("a", n) + " = 1\n" }},
	{"long unknown name", 10000, func(n int) string {
		return "const b" + strings.Repeat("a", n) + " = 1\nconst C = " + strings.Repeat("a", n) + "\n"
	}},
	{"long number", 10000, func(n int) string { return "const A = " + strings.Repeat("1", n) + "\n" }},
	{"long float", 10000, func(n int) string { return "const A = 0." + strings.Repeat("1", n) + "\n" }},
	{"wrong characters", 1000, func(n int) string { return strings.Repeat("$ ", n) + "\n" }},
	{"wrong characters in lines", 1000, func(n int) string { return each(n, "const A# = 1 $\n") }},
	{"semicolons", 1000, func(n int) string { return kernel(strings.Repeat("    let a = 1;\n", n)) }},
	{"semicolons on a line", 1000, func(n int) string { return kernel("    " + strings.Repeat("let a = 1; ", n) + "\n") }},
	{"open strings", 1000, func(n int) string { return each(n, "import \"a#\n") }},
	{"bad escapes", 1000, func(n int) string { return each(n, "import \"\\q#\"\n") }},
	{"open brackets", 1000, func(n int) string { return "const A = " + strings.Repeat("(", n) + "\n" }},
	{"open brackets apart", 1000, func(n int) string { return "const A = " + strings.Repeat("( ", n) + "\n" }},
	{"closing brackets", 1000, func(n int) string { return "const A = 1 " + strings.Repeat(") ", n) + "\n" }},
	{"mismatched brackets", 1000, func(n int) string { return "const A = " + strings.Repeat("(1] + ", n) + "1\n" }},
	{"open braces", 1000, func(n int) string { return "kernel k() " + strings.Repeat("{ ", n) + "\n" }},
	{"open braces in lines", 200, func(n int) string { return kernel(each(n, "    if a {\n")) }},
	{"closing braces", 1000, func(n int) string { return strings.Repeat("}\n", n) }},
	{"open calls in lines", 1000, func(n int) string { return kernel(each(n, "    let a# = exp(x[i]\n")) }},
	{"junk", 1000, func(n int) string { return strings.Repeat("foo bar\n", n) }},
	{"half declarations", 1000, func(n int) string { return each(n, "kernel k#(\n") }},
	{"half statements", 1000, func(n int) string { return kernel(each(n, "    let a# =\n")) }},
	{"typed lets", 1000, func(n int) string { return kernel(each(n, "    let a#: f32 = 1\n")) }},
	{"assigned names", 1000, func(n int) string { return kernel(each(n, "    a# = 1\n")) }},
	// syntax; what is in one another is measured below the depth that is allowed
	{"parentheses", 80, func(n int) string { return "const A = " + nested(n, "(", "1", ")") + "\n" }},
	{"lists", 80, func(n int) string { return graph("    let a = " + nested(n, "[", "1", "]") + "\n    y = x\n") }},
	{"signs", 20, func(n int) string { return value(nested(n, "-", "x[i]", "")) }},
	{"nots", 20, func(n int) string { return value("where(" + nested(n, "not ", "x[i] > 0", "") + ", 1, 0)") }},
	{"sum of terms", 1000, func(n int) string { return value("x[i]" + strings.Repeat(" + x[i]", n)) }},
	{"sum of constants", 1000, func(n int) string { return "const A = 1" + strings.Repeat(" + 1", n) + "\n" }},
	{"sum of floats", 1000, func(n int) string { return "const A = 1.5" + strings.Repeat(" + 1.5", n) + "\n" }},
	{"conversions", 6000, func(n int) string { return value("x[i]" + strings.Repeat(" as f16 as f32", n)) }},
	{"powers", 20, func(n int) string { return value("x[i]" + strings.Repeat(" ** x[i]", n)) }},
	{"elses", 20, func(n int) string { return value("x[i + 1]" + strings.Repeat(" else x[i + 1]", n) + " else 0") }},
	{"else ifs", 20, func(n int) string {
		return value("if N > 1 { 1 }" + each(n, " else if N > # { 2 }") + " else { x[i] }")
	}},
	{"ifs in ifs", 20, func(n int) string { return value(nested(n, "if N > # { ", "x[i]", " } else { 0 }")) }},
	{"ifs in conditions", 20, func(n int) string {
		return value(nested(n, "if ", "N > 1", " { N > 2 } else { N > 3 }") + " { 1 } else { 2 }")
	}},
	{"lambdas in lambdas", 20, func(n int) string { return "fn f(g) = g(1)\n" + value(nested(n, "f((a#) => ", "x[i]", ")")) }},
	{"calls in calls", 20, func(n int) string { return value(nested(n, "exp(", "x[i]", ")")) }},
	{"indexes in indexes", 20, func(n int) string {
		return "kernel k(x: i32[N]) -> y: i32[N]\n    grid i in N by B\n{\n    y[i] = " + nested(n, "x[", "i", "] else 0") + "\n}\n"
	}},
	{"arguments", 1000, func(n int) string { return value("max(" + list(n, "x[i]") + ")") }},
	{"tuple", 1000, func(n int) string {
		return kernel("    let (" + list(n, "a#") + ") = (" + list(n, "x[i]") + ")\n    y[i] = a0\n")
	}},
	{"attributes", 1000, func(n int) string { return strings.Repeat("@warps(4)\n", n) + scale }},
	{"attributes on a line", 1000, func(n int) string { return strings.Repeat("@warps(4) ", n) + scale }},
	{"targets", 500, func(n int) string { return strings.Repeat("@target(sm_90a, B = 64)\n", n) + scale }},
	{"splits", 500, func(n int) string { return strings.Repeat("@split(i, 1)\n", n) + scale }},
	{"sizes", 1000, func(n int) string { return "@sizes(" + list(n, "N = 4") + ")\n" + scale }},
	{"hints", 500, func(n int) string { return value("x[i]" + strings.Repeat(" @evict_first", n)) }},
	// declarations
	{"constants", 1000, func(n int) string { return each(n, "const A# = #\n") }},
	{"constants of constants", 200, func(n int) string { return "const A0 = 1\n" + each(n, "const B# = A#\nconst A#1 = 1\n") }},
	{"chain of constants", 200, func(n int) string { return chain(n, "const C% = C# + 1\n", "const C0 = 1\n") }},
	{"chain of constants, last first", 200, func(n int) string { return backwards(n, "const C% = C# + 1\n") + "const C0 = 1\n" }},
	{"constants that double", 20, func(n int) string { return chain(n, "const C% = C# + C#\n", "const C0 = 1\n") }},
	{"kernels", 200, func(n int) string { return each(n, strings.Replace(scale, "scale", "scale#", 1)) }},
	{"kernels of one name", 200, func(n int) string { return strings.Repeat(scale, n) }},
	{"functions", 500, func(n int) string { return each(n, "fn f_#(x) = x + 1\n") }},
	{"functions, called", 200, func(n int) string {
		return each(n, "fn f_#(x) = x + 1\n") + kernel(each(n, "    let a# = f_#(x[i])\n")+"    y[i] = a0\n")
	}},
	{"chain of functions", 250, func(n int) string {
		return chain(n, "fn f_%(x) = f_#(x) + 1\n", "fn f_0(x) = x\n") + value(fmt.Sprintf("f_%d(x[i])", n))
	}},
	{"chain of functions, not called", 100, func(n int) string { return chain(n, "fn f_%(x) = f_#(x) + 1\n", "fn f_0(x) = x\n") }},
	{"functions that call two", 20, func(n int) string {
		return chain(n, "fn f_%(x) = f_#(x) + f_#(x)\n", "fn f_0(x) = x\n") + value(fmt.Sprintf("f_%d(x[i])", n))
	}},
	{"functions that call two, not called", 10, func(n int) string { return chain(n, "fn f_%(x) = f_#(x) + f_#(x)\n", "fn f_0(x) = x\n") }},
	{"recursive functions", 100, func(n int) string { return each(n, "fn f_#(x) = f_#(x)\n") }},
	{"cycle of functions", 100, func(n int) string { return chain(n, "fn f_%(x) = f_#(x)\n", fmt.Sprintf("fn f_0(x) = f_%d(x)\n", n)) }},
	{"cycles through one function", 30, func(n int) string {
		return "fn h(x) = " + strings.TrimSuffix(each(n, "f_#(x) + "), " + ") + "\n" + each(n, "fn f_#(x) = h(x)\n")
	}},
	{"calls of one function", 200, func(n int) string { return "fn f(x) = x * 2 + 1\n" + value("x[i]"+strings.Repeat(" + f(x[i])", n)) }},
	{"function of functions", 20, func(n int) string { return "fn f(g, x) = g(x)\n" + value(nested(n, "f(exp, ", "x[i]", ")")) }},
	{"function parameters", 300, func(n int) string { return "fn f(" + list(n, "a#") + ") = a0\n" + value("f("+list(n, "x[i]")+")") }},
	{"function generics", 300, func(n int) string {
		return "fn f<" + list(n, "T#: float") + ">(" + list(n, "a#: T#") + ") = a0\n" + value("f("+list(n, "x[i]")+")")
	}},
	{"parameters", 300, func(n int) string {
		return "kernel k(" + list(n, "x#: f32[N]") + ") -> y: f32[N]\n    grid i in N by B\n{\n    y[i] = x0[i]\n}\n"
	}},
	{"parameters, all read", 300, func(n int) string {
		return "kernel k(" + list(n, "x#: f32[N]") + ") -> y: f32[N]\n    grid i in N by B\n{\n    y[i] = 0" + each(n, " + x#[i]") + "\n}\n"
	}},
	{"dimensions", 300, func(n int) string {
		return "kernel k(" + list(n, "x#: f32[N#]") + ") -> y: f32[N0]\n    grid i in N0 by B\n{\n    y[i] = x0[i]\n}\n"
	}},
	{"dimensions of one tensor", 20, func(n int) string {
		return "kernel k(x: f32[" + list(n, "N#") + "]) -> y: f32[" + list(n, "N#") + "] {\n    y[" + list(n, "i#") + "] = x[" + list(n, "i#") + "]\n}\n"
	}},
	{"tensor of many dimensions", 10, func(n int) string {
		return "kernel k(x: f32[" + list(n, "N#") + "]) -> y: f32[N0]\n    grid i in N0 by B\n{\n" + each(n, "    axis a# in N#\n") + "    y[i] = sum(x[" + list(n, "a#") + "], over (" + list(n, "a#") + "))\n}\n"
	}},
	{"sum over many axes", 10, func(n int) string {
		return "kernel k(x: f32[M, " + list(n, "N#") + "]) -> y: f32[M]\n    grid i in M by B\n{\n" + each(n, "    axis a# in N#\n") + "    y[i] = sum(x[i, " + list(n, "a#") + "], over (" + list(n, "a#") + "))\n}\n"
	}},
	{"formula over many axes", 10, func(n int) string {
		return "kernel k(x: f32[M, " + list(n, "N#") + "]) -> y: f32[M] {\n    y[i] = sum(x[i, " + list(n, "a#") + "], over (" + list(n, "a#") + "))\n}\n"
	}},
	{"contraction over many axes", 10, func(n int) string {
		return "kernel k(x: f32[M, " + list(n, "N#") + "], z: f32[" + list(n, "N#") + ", K]) -> y: f32[M, K] {\n    y[i, j] = sum(x[i, " + list(n, "a#") + "] * z[" + list(n, "a#") + ", j], over (" + list(n, "a#") + "))\n}\n"
	}},
	{"split of many axes", 10, func(n int) string {
		return "kernel k(x: f32[M, " + product(n, "N#") + "], " + list(n, "s#: f32[N#]") + ") -> y: f32[M, " + list(n, "N#") + "]\n    grid i in M by B\n{\n    axis c in " + product(n, "N#") + "\n" + each(n, "    axis a# in N#\n") + "    y[i, " + list(n, "a#") + "] = split(x[i, c], c -> (" + list(n, "a#") + "))\n}\n"
	}},
	{"index that flattens", 10, func(n int) string {
		return "kernel k(x: f32[" + product(n, "N#") + "], " + list(n, "s#: f32[N#]") + ") -> y: f32[" + list(n, "N#") + "] {\n    y[" + list(n, "a#") + "] = x[" + flat(n) + "]\n}\n"
	}},
	{"store that flattens", 100, func(n int) string {
		return "kernel k(x: f32[" + list(n, "N#") + "]) -> y: f32[" + product(n, "N#") + "]\n    grid " + list(n, "a# in N# by B#") + "\n{\n    y[" + flat(n) + "] = x[" + list(n, "a#") + "]\n}\n"
	}},
	{"size that expands", 20, func(n int) string {
		return "kernel k(x: f32[N, M]) -> y: f32[" + product(n, "(N + M)") + "]\n    grid i in N by B\n{\n    y[i] = x[i, 0]\n}\n"
	}},
	{"size of many symbols", 20, func(n int) string {
		return "kernel k(" + list(n, "x#: f32[N#, M#]") + ") -> y: f32[" + product(n, "(N# + M#)") + "]\n    grid i in N0 by B\n{\n    y[i] = x0[i, 0]\n}\n"
	}},
	{"size divided again", 20, func(n int) string {
		return "kernel k(x: f32[N]) -> y: f32[N" + strings.Repeat(" / 2 + 1", n) + "]\n    grid i in N by B\n{\n    y[i] = x[i]\n}\n"
	}},
	{"size in brackets, divided", 500, func(n int) string {
		return "kernel k(x: f32[N]) -> y: f32[" + nested(n, "(", "N", " + 1) / 2") + "]\n    grid i in N by B\n{\n    y[i] = x[i]\n}\n"
	}},
	{"size of remainders", 200, func(n int) string {
		return "kernel k(x: f32[N]) -> y: f32[1" + each(n, " + N % (# + 2)") + "]\n    grid i in N by B\n{\n    y[i] = x[i]\n}\n"
	}},
	{"outputs", 100, func(n int) string {
		return "kernel k(x: f32[N]) -> (" + list(n, "y#: f32[N]") + ")\n    grid i in N by B\n{\n" + each(n, "    y#[i] = x[i]\n") + "}\n"
	}},
	{"constants as parameters", 200, func(n int) string {
		return "kernel k<" + list(n, "const C#: int = 1") + ">(x: f32[N]) -> y: f32[N]\n    grid i in N by B\n{\n    y[i] = x[i]\n}\n"
	}},
	{"grid axes", 20, func(n int) string {
		return "kernel k(x: f32[" + list(n, "N#") + "]) -> y: f32[" + list(n, "N#") + "]\n    grid " + list(n, "i# in N# by B#") + "\n{\n    y[" + list(n, "i#") + "] = x[" + list(n, "i#") + "]\n}\n"
	}},
	{"tune choices", 500, func(n int) string {
		return strings.Replace(scale, "    grid", "    tune B in {"+list(n, "1#")+"}\n    grid", 1)
	}},
	{"tunes", 20, func(n int) string {
		return "kernel k(x: f32[" + list(n, "N#") + "]) -> y: f32[" + list(n, "N#") + "]\n    tune " + list(n, "B# in {1, 2, 4}") + "\n    grid " + list(n, "i# in N# by B#") + "\n{\n    y[" + list(n, "i#") + "] = x[" + list(n, "i#") + "]\n}\n"
	}},
	{"tunes of one name", 500, func(n int) string {
		return strings.Replace(scale, "    grid", "    tune "+list(n, "B = 4")+"\n    grid", 1)
	}},
	// statements
	{"stores to one tensor", 50, func(n int) string {
		return "kernel k(x: f32[N]) -> y: f32[N, " + fmt.Sprint(n) + "]\n    grid i in N by B\n{\n" + each(n, "    y[i, #] = x[i]\n") + "}\n"
	}},
	{"stores side by side", 50, func(n int) string {
		return "kernel k(x: f32[N]) -> y: f32[N * " + fmt.Sprint(n) + "]\n    grid i in N by B\n{\n" + each(n, fmt.Sprintf("    y[i * %d + #] = x[i]\n", n)) + "}\n"
	}},
	{"stores one behind the other", 100, func(n int) string {
		return "kernel k(x: f32[N]) -> y: f32[N * " + fmt.Sprint(n) + "]\n    grid i in N by B\n{\n" + each(n, "    y[i + # * N] = x[i]\n") + "}\n"
	}},
	{"stores to one element", 50, func(n int) string { return kernel(each(n, "    y[i] = x[i] + #\n")) }},
	{"stores that race", 50, func(n int) string { return kernel(each(n, "    y[i + #] = x[i]\n")) }},
	{"stores at tiles", 50, func(n int) string {
		return "kernel k(x: f32[N], at: i32[N]) -> y: f32[N, N]\n    grid i in N by B\n{\n" + each(n, "    y[i, at[i]] = x[i]\n") + "}\n"
	}},
	{"atomics", 50, func(n int) string {
		return "kernel k(x: f32[N], inout y: f32[N])\n    grid i in N by B\n{\n" + each(n, "    atomic_add(y[i], x[i])\n") + "}\n"
	}},
	{"stores and loads of inout", 50, func(n int) string {
		return "kernel k(inout y: f32[N])\n    grid i in N by B\n{\n" + each(n, "    y[i] = y[i] + 1\n") + "}\n"
	}},
	{"stores and loads of inout, apart", 50, func(n int) string {
		return "kernel k(inout y: f32[N, " + fmt.Sprint(n) + "])\n    grid i in N by B\n{\n" + each(n, "    y[i, #] = y[i, #] + 1\n") + "}\n"
	}},
	{"loads", 300, func(n int) string { return kernel(each(n, "    let a# = x[i]\n") + "    y[i] = a0\n") }},
	{"loads that need a proof", 100, func(n int) string { return kernel(each(n, "    let a# = x[i + #] else 0\n") + "    y[i] = a0\n") }},
	{"loads with a wrong index", 100, func(n int) string { return kernel(each(n, "    let a# = x[i + # + 1]\n") + "    y[i] = x[i]\n") }},
	{"lets", 500, func(n int) string { return kernel(each(n, "    let a# = x[i] * #\n") + "    y[i] = a0\n") }},
	{"lets of one name", 500, func(n int) string {
		return kernel("    let a = x[i]\n" + strings.Repeat("    let a = a * 2\n", n) + "    y[i] = a\n")
	}},
	{"lets that double", 20, func(n int) string {
		return kernel("    let a = x[i]\n" + strings.Repeat("    let a = a + a\n", n) + "    y[i] = a\n")
	}},
	{"integers that double", 10, func(n int) string {
		return kernel("    let a = i.start\n" + strings.Repeat("    let a = a + a\n", n) + "    y[i] = a as f32\n")
	}},
	{"integers that square", 10, func(n int) string {
		return kernel("    let a = i.start + N\n" + strings.Repeat("    let a = a * a\n", n) + "    y[i] = x[a] else 0\n")
	}},
	{"sizes that square", 10, func(n int) string {
		return kernel("    let a = N + M\n" + strings.Repeat("    let a = a * a\n", n) + "    y[i] = x[a] else 0\n")
	}},
	{"sum of positions", 100, func(n int) string { return value("x[" + nested(n, "", "i", " + 1") + "] else 0") }},
	{"sum of many parameters", 30, func(n int) string {
		return "kernel k(x: f32[N], " + list(n, "n#: i32") + ") -> y: f32[N]\n    grid i in N by B\n{\n    y[i] = x[i" + each(n, " + n#") + "] else 0\n}\n"
	}},
	{"assumed parameters", 100, func(n int) string {
		return "kernel k(x: f32[N], " + list(n, "n#: i32") + ") -> y: f32[N]\n    grid i in N by B\n{\n" + each(n, "    assume(0 <= n# and n# < N)\n") + each(n, "    y[i] = x[n#]\n") + "}\n"
	}},
	{"assumed chain", 100, func(n int) string {
		return "kernel k(x: f32[N], " + list(n+1, "n#: i32") + ") -> y: f32[N]\n    grid i in N by B\n{\n    assume(0 <= n0)\n" + chain(n, "    assume(n# <= n%)\n", "") + fmt.Sprintf("    assume(n%d < N)\n", n) + "    y[i] = x[n0]\n}\n"
	}},
	{"assumed of one", 100, func(n int) string {
		return "kernel k(x: f32[N], n: i32) -> y: f32[N]\n    grid i in N by B\n{\n" + each(n, "    assume(n % (# + 2) == 0)\n") + "    y[i] = x[i]\n}\n"
	}},
	{"static asserts", 300, func(n int) string {
		return kernel(each(n, "    static_assert(N >= #, \"text\")\n") + "    y[i] = x[i]\n")
	}},
	{"prints", 300, func(n int) string { return kernel(each(n, "    print(\"# {}\", i.start)\n") + "    y[i] = x[i]\n") }},
	{"print of many", 300, func(n int) string {
		return kernel("    print(\"" + strings.Repeat("{} ", n) + "\", " + list(n, "i.start") + ")\n    y[i] = x[i]\n")
	}},
	{"axes", 200, func(n int) string { return kernel(each(n, "    axis a# in 1#\n") + "    y[i] = x[i]\n") }},
	{"axes over one dimension", 200, func(n int) string { return kernel(each(n, "    axis a# in N\n") + "    y[i] = x[i]\n") }},
	{"reductions", 200, func(n int) string {
		return kernel("    axis j in M\n" + each(n, "    let s# = sum(z[j, i], over j)\n") + "    y[i] = s0\n")
	}},
	{"loops", 100, func(n int) string {
		return kernel(each(n, "    let s# = for k in M by BK# with s = zeros(f32, i) { s + sum(z[k, i], over k) }\n") + "    y[i] = s0\n")
	}},
	{"loops in loops", 20, func(n int) string { return value(nested(n, "for k# in M with s = zeros(f32, i) { s + ", "1", " }")) }},
	{"loop that carries many", 50, func(n int) string {
		return kernel("    let (" + list(n, "b#") + ") = for k in M with (" + list(n, "a#") + ") = (" + list(n, "x[i]") + ") { (" + list(n, "a# + 1") + ") }\n    y[i] = b0\n")
	}},
	{"ifs", 200, func(n int) string { return kernel("    y[i] = 0\n" + each(n, "    if N > # { y[i] = x[i] }\n")) }},
	{"reduce of many", 20, func(n int) string {
		return kernel("    axis j in M\n    let (" + list(n, "r#") + ") = reduce((" + list(n, "z[j, i]") + "), over j, (" + list(n, "0.0") + "), ((" + list(n, "a#") + "), (" + list(n, "b#") + ")) => (" + list(n, "a# + b#") + "))\n    y[i] = r0\n")
	}},
	{"cat of many", 30, func(n int) string {
		return "kernel k(x: f32[N, 2]) -> y: f32[N, " + fmt.Sprint(2*n) + "]\n    grid i in N by B\n{\n    axis a in 2\n    axis c in " + fmt.Sprint(2*n) + "\n    y[i, c] = cat(" + list(n, "x[i, a]") + ", over c)\n}\n"
	}},
	{"sort of many", 30, func(n int) string {
		return kernel("    axis j in M\n    let (" + list(n, "r#") + ") = sort((" + list(n, "z[j, i]") + "), over j)\n    y[i] = sum(r0, over j)\n")
	}},
	{"statements that are no store", 300, func(n int) string { return kernel(strings.Repeat("    x[i]\n", n) + "    y[i] = x[i]\n") }},
	// formulas
	{"formula of lines", 30, func(n int) string {
		return "kernel k(x: f32[N]) -> (" + list(n, "y#: f32[N]") + ") {\n" + each(n, "    y#[i] = x[i]\n") + "}\n"
	}},
	{"formula of lines that follow", 15, func(n int) string {
		return "kernel k(x: f32[N]) -> (" + list(n+1, "y#: f32[N]") + ") {\n    y0[i] = x[i]\n" + chain(n, "    y%[i] = y#[i] + 1\n", "") + "}\n"
	}},
	{"formula of launches", 10, func(n int) string {
		return "kernel k(x: f32[" + list(n, "N#") + "]) -> (" + list(n, "y#: f32[N#]") + ") {\n" + each(n, "    y#[i#] = #\n") + "}\n"
	}},
	{"formula of lets", 100, func(n int) string {
		return "kernel k(x: f32[N]) -> y: f32[N] {\n    let a0 = x[i]\n" + chain(n, "    let a% = a# + 1\n", "") + fmt.Sprintf("    y[i] = a%d\n}\n", n)
	}},
	{"formula of lets that nothing needs", 50, func(n int) string {
		return "kernel k(x: f32[N]) -> y: f32[N] {\n" + each(n, "    let a# = x[i] + #\n") + "    y[i] = x[i]\n}\n"
	}},
	{"formula of prints", 50, func(n int) string {
		return "kernel k(x: f32[N]) -> y: f32[N] {\n" + each(n, "    print(\"#\")\n") + "    y[i] = x[i]\n}\n"
	}},
	// structs
	{"wide struct", 300, func(n int) string {
		return "struct W { " + list(n, "f_#: f32[N]") + " }\ngraph g(x: f32[N], w: W) -> y: f32[N] {\n    y = x + w.f_0\n}\n"
	}},
	{"wide struct, all read", 300, func(n int) string {
		return "struct W { " + list(n, "f_#: f32[N]") + " }\ngraph g(x: f32[N], w: W) -> y: f32[N] {\n" + each(n, "    let a# = x + w.f_#\n") + "    y = a0\n}\n"
	}},
	{"fields of one name", 300, func(n int) string { return "struct W { " + list(n, "f: f32[N]") + " }\n" }},
	{"structs", 300, func(n int) string { return each(n, "struct S# { f: f32[N] }\n") }},
	{"chain of structs", 120, func(n int) string { return "struct S0 { f: f32[N] }\n" + chain(n, "struct S% { s: S# }\n", "") }},
	{"structs that double", 20, func(n int) string {
		return "struct S0 { f: f32[N] }\n" + chain(n, "struct S% { a: S#\n b: S# }\n", "") + fmt.Sprintf("graph g(x: f32[N], w: S%d) -> y: f32[N] {\n    y = x\n}\n", n)
	}},
	{"arrays that double", 20, func(n int) string {
		return "struct S0 { f: f32[N] }\n" + chain(n, "struct S% { a: [2]S#\n b: [2]S# }\n", "") + fmt.Sprintf("graph g(x: f32[N], w: S%d) -> y: f32[N] {\n    y = x\n}\n", n)
	}},
	{"structs of dimensions", 120, func(n int) string {
		return "struct S0 { f: f32[N0] }\n" + chain(n, "struct S% { s: S#\n f: f32[N%] }\n", "")
	}},
	{"long array", 1000, func(n int) string {
		return "struct S { f: f32[N] }\ngraph g(x: f32[N], w: [" + fmt.Sprint(n) + "]S) -> y: f32[N] {\n    y = for s in w with a = x { a + s.f }\n}\n"
	}},
	// graphs
	{"graph of calls", 100, func(n int) string {
		return scale + graph("    let a0 = x\n"+chain(n, "    let a% = scale(a#)\n", "")+fmt.Sprintf("    y = a%d\n", n))
	}},
	{"graph of sums", 100, func(n int) string { return graph("    y = x" + strings.Repeat(" + x", n) + "\n") }},
	{"graph of lets that double", 10, func(n int) string {
		return graph("    let a = x\n" + strings.Repeat("    let a = a + a\n", n) + "    y = a\n")
	}},
	{"graph of counts that double", 10, func(n int) string {
		return graph("    let a = N\n" + strings.Repeat("    let a = a + a\n", n) + "    y = x * (a as f32)\n")
	}},
	{"graphs that call two", 5, func(n int) string {
		return scale + "graph g0(x: f32[N]) -> y: f32[N] {\n    y = scale(x)\n}\n" + chain(n, "graph g%(x: f32[N]) -> y: f32[N] {\n    y = g#(g#(x))\n}\n", "")
	}},
	{"chain of graphs", 50, func(n int) string {
		return scale + "graph g0(x: f32[N]) -> y: f32[N] {\n    y = scale(x)\n}\n" + chain(n, "graph g%(x: f32[N]) -> y: f32[N] {\n    y = g#(x)\n}\n", "")
	}},
	{"graph loops in loops", 20, func(n int) string {
		return scale + graph("    y = "+nested(n, "for n# in 10 with a# = x { ", "scale(x)", " }")+"\n")
	}},
	{"graph loops", 50, func(n int) string {
		return scale + graph(each(n, "    let b# = for n in 10 with a = x { scale(a) }\n")+"    y = b0\n")
	}},
	{"graph of functions that call two", 20, func(n int) string {
		return chain(n, "fn f_%(x) = f_#(x) + f_#(x)\n", "fn f_0(x) = x + 1\n") + graph(fmt.Sprintf("    y = f_%d(x)\n", n))
	}},
	{"graph of a chain of functions", 250, func(n int) string {
		return chain(n, "fn f_%(x) = f_#(x) + 1\n", "fn f_0(x) = x\n") + graph(fmt.Sprintf("    y = f_%d(x)\n", n))
	}},
	{"slices", 50, func(n int) string { return graph(each(n, "    let a# = x[0 .. N]\n") + "    y = a0\n") }},
	{"slices of slices", 20, func(n int) string { return graph("    y = x" + strings.Repeat("[0 .. N]", n) + "\n") }},
	{"views", 50, func(n int) string { return graph(each(n, "    let a# = view(x, [N, 1])\n") + "    y = x\n") }},
	{"list", 1000, func(n int) string { return graph("    let a = [" + list(n, "#.0") + "]\n    y = x\n") }},
	{"list of lists", 300, func(n int) string { return graph("    let a = [" + list(n, "[1.0, 2.0]") + "]\n    y = x\n") }},
	{"writes of parts of state", 20, func(n int) string {
		return "kernel w(inout s: f32[N], inout t: f32[N])\n    grid i in N by B\n{\n    s[i] = 0\n    t[i] = 1\n}\n" + graph("    inout s = zeros(f32, [1000])\n"+each(n, "    w(s[0 .. 2], s[2 .. 4])\n")+"    y = x\n")
	}},
	{"call of many parts of state", 10, func(n int) string {
		return "kernel w(" + list(n, "inout s#: f32[N]") + ")\n    grid i in N by B\n{\n" + each(n, "    s#[i] = 0\n") + "}\n" + graph("    inout s = zeros(f32, ["+fmt.Sprint(2*n)+"])\n    w("+list(n, "s[2 * # .. 2 * # + 2]")+")\n    y = x\n")
	}},
	{"language models", 200, func(n int) string {
		return each(n, "@logits\ngraph g_#(tokens: i32[B, S], start: i32) -> y: f32[B, S, V] {\n    y = zeros(f32, [B, S, V])\n}\n")
	}},
	{"tests", 200, func(n int) string { return each(n, "test \"t#\" {\n    check 1 == 1\n}\n") }},
	{"tests of one name", 500, func(n int) string { return strings.Repeat("test \"t\" {\n    check 1 == 1\n}\n", n) }},
	{"checks", 200, func(n int) string { return "test \"t\" {\n" + each(n, "    check # == #\n") + "}\n" }},
	// errors
	{"unknown names", 500, func(n int) string { return each(n, "const A# = B#\n") }},
	{"unknown names in a kernel", 300, func(n int) string { return kernel(each(n, "    let a# = b#\n") + "    y[i] = x[i]\n") }},
	{"unknown axes", 1000, func(n int) string { return kernel(each(n, "    let a# = sum(x[i], over b#)\n") + "    y[i] = x[i]\n") }},
	{"unknown types", 1000, func(n int) string { return "struct S { " + list(n, "f_#: Foo#<A>") + " }\n" }},
	{"unknown attributes", 1000, func(n int) string { return each(n, "@foo#\n") + scale }},
	{"names declared twice", 500, func(n int) string { return strings.Repeat("const A = 1\n", n) }},
	{"mixed types", 300, func(n int) string { return kernel(each(n, "    let a# = x[i] + i.start\n") + "    y[i] = x[i]\n") }},
	{"errors in one function", 100, func(n int) string {
		return "fn f(x) = x + i\n" + kernel(each(n, "    let a# = f(x[i])\n")+"    y[i] = x[i]\n")
	}},
	{"errors deep in functions", 20, func(n int) string {
		return chain(n, "fn f_%(x) = f_#(x) + 1\n", "fn f_0(x) = x & 1\n") + value(fmt.Sprintf("f_%d(x[i])", n))
	}},
	{"errors on one line", 300, func(n int) string { return value("x[i]" + strings.Repeat(" + q", n)) }},
	{"outputs that are not stored", 200, func(n int) string {
		return "kernel k(x: f32[N]) -> (" + list(n, "y#: f32[N]") + ")\n    grid i in N by B\n{\n}\n"
	}},
	{"imports that are not there", 200, func(n int) string { return each(n, "import \"a#\"\n") }},
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
