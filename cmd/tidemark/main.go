package main

import (
	_ "github.com/apache/beam/sdks/v2/go/pkg/beam/testing/ptest"
	_ "github.com/apache/beam/sdks/v2/go/pkg/beam/x/beamx"
	_ "github.com/cespare/xxhash/v2"
	_ "github.com/cockroachdb/apd/v3"
	_ "github.com/google/go-cmp/cmp"
	_ "github.com/tidwall/gjson"
	_ "pgregory.net/rapid"
)

func main() {}
