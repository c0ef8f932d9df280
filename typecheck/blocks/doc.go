// Package blocks proves what holds of all blocks of a typed kernel together: that no two write one element, which elements
// are stored, and that no result depends on how a plan cuts axes into blocks and steps. Its Facts are gathered while the body
// is typed. It must not know the syntax tree, beyond places in it, nor what names stand for.
package blocks
