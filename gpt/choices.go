package gpt

import (
	"sync"

	"tilec/jit"
	"tilec/stdlib"
	"tilec/typecheck/typed"
)

// choices is std/sample, by which tokens are chosen: read and checked once, for all models.
var choices = sync.OnceValues(func() (*typed.Program, error) {
	const path = "sample.tile"
	source, err := stdlib.FS.ReadFile(path)
	if err != nil {
		return nil, err
	}
	program, problems := jit.Load("std/"+path, source, nil)
	if len(problems) > 0 {
		return nil, problems
	}
	return program, nil
})

// Prepare begins with what every text needs, whatever the model is, and returns at once: a program that is about to load a
// model calls it first.
func Prepare() {
	go func() { _, _ = choices() }() // whoever needs them gets the error
}
