package local_test

import (
	"testing"

	"github.com/apache/beam/sdks/v2/go/pkg/beam/log"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/testing/ptest"

	"tidemark/internal/local"
)

func TestMain(m *testing.M) {
	log.LogLevel = "error"
	local.Prepare()
	ptest.Main(m)
}
