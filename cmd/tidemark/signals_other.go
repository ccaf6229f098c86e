//go:build !unix

package main

import (
	"os"
	"syscall"
)

// ignored are the signals of writes that fail.
var ignored = []os.Signal{syscall.SIGPIPE}
