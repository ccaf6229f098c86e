package mart

import (
	"os"
	"testing"
)

// asChild makes the test binary be a process that is killed; see crash_test.go.
const asChild = "TIDEMARK_TEST_MART_CHILD"

func TestMain(m *testing.M) {
	if job := os.Getenv(asChild); job != "" {
		child(job, os.Args[len(os.Args)-1])
	}
	os.Exit(m.Run())
}
