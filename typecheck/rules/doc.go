// Package rules has what kernels and graphs check alike: what names stand for, constants and their arithmetic, element
// types, signatures and structs, and calls: which argument is for which parameter, and what is inlined. It knows operands,
// the meaning of an expression before its context gives it a type; how an expression of a kernel or of a graph is typed it
// must not know: what a call needs of either is the interface Caller.
package rules
