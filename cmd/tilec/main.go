// Command tilec compiles and runs programs in the tile language.
package main

import (
	"os"
	"time"
)

// slack is memory that is never touched. The garbage collector runs when the memory in use has doubled, of which this is a part:
// so it leaves a short run alone, of which it was a fifth.
var slack = make([]byte, 64<<20)

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr, time.Now())) }
