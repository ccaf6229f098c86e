package windowfns_test

import (
	"reflect"
	"testing"
	"time"

	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/graph/window"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/runtime"

	"tidemark/windowfns"
)

func TestFromBeam(t *testing.T) {
	const want = ", want fixed or sliding windows, or a windowfns.Fn in the Config"
	cases := []struct {
		fn      *window.Fn
		want    windowfns.Fn
		wantErr string
	}{
		{window.NewFixedWindows(minute), windowfns.Tumbling{Size: minute}, ""},
		{window.NewSlidingWindows(minute, hour), windowfns.Sliding{Size: hour, Period: minute}, ""},
		{nil, nil, "windowfns.FromBeam: got nil" + want},
		{window.NewGlobalWindows(), nil, "windowfns.FromBeam: got global windows" + want},
		{window.NewSessions(minute), nil, "windowfns.FromBeam: got sessions with gap 1m0s" + want},
		{&window.Fn{Kind: "CUS"}, nil, `windowfns.FromBeam: got window kind "CUS"` + want},
		{
			window.NewFixedWindows(time.Microsecond), nil,
			"windowfns.FromBeam: windowfns.Tumbling: Size = 1µs, want a positive whole number of milliseconds",
		},
		{
			window.NewSlidingWindows(hour, minute), nil,
			"windowfns.FromBeam: windowfns.Sliding: Period = 1h0m0s, want at most Size = 1m0s",
		},
	}
	for _, c := range cases {
		got, err := windowfns.FromBeam(c.fn)
		gotErr := ""
		if err != nil {
			gotErr = err.Error()
		}
		if got != c.want || gotErr != c.wantErr {
			t.Errorf("FromBeam(%v) = %v, %q, want %v, %q", c.fn, got, gotErr, c.want, c.wantErr)
		}
	}
}

// TestRegistered checks that workers find the types by name.
func TestRegistered(t *testing.T) {
	for _, typ := range []reflect.Type{
		reflect.TypeFor[windowfns.Tumbling](),
		reflect.TypeFor[windowfns.Sliding](),
		reflect.TypeFor[windowfns.Cumulative](),
		reflect.TypeFor[windowfns.Calendar](),
	} {
		key, ok := runtime.TypeKey(typ)
		if !ok {
			t.Fatalf("%v has no key", typ)
		}
		if got, ok := runtime.LookupType(key); !ok || got != typ {
			t.Errorf("LookupType(%q) = %v, %v, want %v", key, got, ok, typ)
		}
	}
}
