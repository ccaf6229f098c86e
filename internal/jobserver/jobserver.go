// Package jobserver is a job server for tests: the embedded runner, behind the
// interface that clusters have.
package jobserver

import (
	"context"
	"fmt"
	"net"
	"testing"

	"github.com/apache/beam/sdks/v2/go/pkg/beam/runners/prism"

	"tidemark/internal/local"
)

// Start starts a job server, which lasts as long as the process, and returns its
// endpoint.
func Start(t testing.TB) string {
	t.Helper()
	local.Prepare()
	free, err := net.Listen("tcp", "localhost:0")
	if err != nil {
		t.Fatal(err)
	}
	port := free.Addr().(*net.TCPAddr).Port
	if err := free.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := prism.CreateJobServer(context.Background(), prism.Options{Port: port}); err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("localhost:%d", port)
}
