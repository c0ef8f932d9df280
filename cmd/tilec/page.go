package main

import (
	"fmt"
	"runtime"
)

// inPage says that this program is WebAssembly in a page of a browser: the playground. What a page has no use for is left out there, and
// the compiler sees by this constant that nothing needs that code: a page is loaded over a network.
const inPage = runtime.GOOS == "js"

// notInPage says that something is left out of the playground.
func notInPage(what string) error {
	return usageError{fmt.Errorf("%s is left out of the playground: install tilec for it", what)}
}
