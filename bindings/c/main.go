// Libtilec is tilec as a C library, built by `go build -buildmode=c-shared -o libtilec.so ./bindings/c`. tilec.h is its interface, which
// the functions of export.go have; what they do needs no C.
package main

func main() {} // of a library, never called
