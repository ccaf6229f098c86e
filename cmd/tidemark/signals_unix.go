//go:build unix

package main

import (
	"os"
	"syscall"
)

// ignored are the signals of writes that fail: what they say is an error like any
// other, after which temporary files go away. One says that nobody reads a pipe
// any more, the other that a file has reached the limit of this process.
var ignored = []os.Signal{syscall.SIGPIPE, syscall.SIGXFSZ}
