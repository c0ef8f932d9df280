package jit

// Version is the compiler's version. It is part of the keys of cached code:
// change it whenever the same IR may compile to other PTX.
const Version = "0.3.2"
