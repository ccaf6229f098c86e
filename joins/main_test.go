package joins_test

import (
	"testing"

	"tidemark/testing/streamtest"
)

func TestMain(m *testing.M) { streamtest.Main(m) }
