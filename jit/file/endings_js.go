package file

import "os"

// endings are the signals that ask a process to end: none reaches a page of a browser.
var endings []os.Signal
