// Package graph types graphs and tests: whole tensors, structs of them and state, calls of kernels and graphs, and
// elementwise expressions, of which it makes kernels. Of a kernel it must know no more than its signature.
package graph
