package spec

import (
	"fmt"
	"tilec/lang"
)

// Errorf is an error of what a launch gives: a size, a type, a condition that does not hold.
// It is called, not copied to its many callers: the binary is smaller.
//
//go:noinline
func Errorf(at lang.Span, code lang.Code, format string, args ...any) error {
	return &lang.Diagnostic{Code: code, At: at, Message: fmt.Sprintf(format, args...)}
}

// Advise is a launchError that says what to do.
func Advise(at lang.Span, code lang.Code, advice, format string, args ...any) error {
	return &lang.Diagnostic{Code: code, At: at, Message: fmt.Sprintf(format, args...), Fix: &lang.Fix{Message: advice}}
}
