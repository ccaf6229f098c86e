package joins_test

import (
	"fmt"
	"reflect"
	"sort"
	"testing"
	"time"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/register"

	"tidemark/joins"
	"tidemark/testing/streamtest"
)

type event struct {
	Side string
	Key  string
	ID   string
}

type lrow struct{ ID string }
type rrow struct{ ID string }

type pair struct{ Key, Left, Right string }

func init() {
	beam.RegisterType(reflect.TypeFor[event]())
	beam.RegisterType(reflect.TypeFor[lrow]())
	beam.RegisterType(reflect.TypeFor[rrow]())
	beam.RegisterType(reflect.TypeFor[pair]())
	register.Function3x0(part)
	register.Function3x1(pairOf)
	register.Emitter2[string, lrow]()
	register.Emitter2[string, rrow]()
}

func part(e event, l func(string, lrow), r func(string, rrow)) {
	if e.Side == "left" {
		l(e.Key, lrow{e.ID})
	} else {
		r(e.Key, rrow{e.ID})
	}
}

func pairOf(k string, l *lrow, r *rrow) pair {
	p := pair{Key: k, Left: "-", Right: "-"}
	if l != nil {
		p.Left = l.ID
	}
	if r != nil {
		p.Right = r.ID
	}
	return p
}

func TestSmoke(t *testing.T) {
	var tl streamtest.Timeline
	tl.At(0, event{"left", "k", "l0"})
	tl.Watermark(999)
	tl.At(999, event{"right", "k", "r999"})
	tl.Watermark(1000)
	tl.At(999, event{"right", "k", "late"})
	tl.At(1000, event{"left", "k", "l1000"})
	var rows, ll, lr *streamtest.Captured
	streamtest.Run(t, func(s beam.Scope) {
		l, r := beam.ParDo2(s, part, tl.Create(s))
		j := joins.Interval(s, joins.Config{Upper: 999 * time.Millisecond, Type: joins.Full}, pairOf, l, r)
		rows, ll, lr = streamtest.Capture(s, j.Rows), streamtest.Capture(s, j.LateLeft), streamtest.Capture(s, j.LateRight)
	})
	var got []string
	for _, e := range streamtest.Elements[pair](rows) {
		got = append(got, fmt.Sprint(e.Value, e.TimeMs))
	}
	sort.Strings(got)
	t.Log(got)
	t.Log(streamtest.Values[streamtest.KV[string, lrow]](ll), streamtest.Values[streamtest.KV[string, rrow]](lr))
}
