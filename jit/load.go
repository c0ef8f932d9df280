package jit

import (
	"strings"

	"tilec/jit/log"
	"tilec/lang"
	"tilec/parser"
	"tilec/typecheck/load"
	"tilec/typecheck/typed"
)

// Load parses and checks a file and everything that it imports. The program
// comes even with diagnostics, as far as it could be checked. A failure of the
// compiler is a panic with a *Bug, which Compiler.Load makes an error.
func Load(path string, text []byte, logs *log.Logs) (*typed.Program, lang.Diagnostics) {
	l := &load.Loader{Parsed: func(path string, m *lang.Module) {
		logs.Print(log.AST, path, func() string {
			var b strings.Builder
			parser.Print(&b, m)
			return b.String()
		})
	}}
	watch := logs.Stopwatch("load")
	program, ds := l.Load(path, text)
	watch.Lap(path)
	if len(ds) == 0 {
		logs.Print(log.Typed, path, func() string {
			var b strings.Builder
			typed.Write(&b, program)
			return b.String()
		})
	}
	return program, ds
}
