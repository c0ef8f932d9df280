package jit

// Version is the compiler's version.
const Version = "0.3.2"
