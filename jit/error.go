package jit

import (
	"fmt"
	"tilec/lang"
)

// launchError is an error of what a launch gives: a size, a type, a condition that does not hold.
func launchError(at lang.Span, code lang.Code, format string, args ...any) error {
	return &lang.Diagnostic{Code: code, At: at, Message: fmt.Sprintf(format, args...)}
}

// adviseError is a launchError that says what to do.
func adviseError(at lang.Span, code lang.Code, advice, format string, args ...any) error {
	return &lang.Diagnostic{Code: code, At: at, Message: fmt.Sprintf(format, args...), Fix: &lang.Fix{Message: advice}}
}
