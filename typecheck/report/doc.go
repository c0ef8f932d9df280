// Package report holds what is said of a program: errors and warnings, each said once, and the texts and edits that mend
// them. It must not know what is right or wrong.
package report
