package cpu

// fma32 is a*b + c, rounded once: the compiler makes one instruction of it.
// Nothing but its tests (TestFma32, TestNothingElseIsFused) says that it does.
func fma32(a, b, c float32) float32 { return a*b + c }
