//go:build unix && !solaris && !aix

package sink

import (
	"os"
	"syscall"
)

// lock waits until no other process has f locked, and locks it.
func lock(f *os.File) error {
	for {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX)
		if err != syscall.EINTR {
			return err
		}
	}
}

func unlock(f *os.File) { _ = syscall.Flock(int(f.Fd()), syscall.LOCK_UN) }
