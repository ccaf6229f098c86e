package oracle_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tidemark/testing/oracle"
)

func left(id string, timeMs int64) oracle.JoinStep {
	return oracle.Left(oracle.JoinElement{Key: "k", ID: id, TimeMs: timeMs})
}

func right(id string, timeMs int64) oracle.JoinStep {
	return oracle.Right(oracle.JoinElement{Key: "k", ID: id, TimeMs: timeMs})
}

func wm(ms int64) oracle.JoinStep { return oracle.JoinWatermark(ms) }

func within(kind string, lower, upper, lateness int64) oracle.JoinConfig {
	return oracle.JoinConfig{Type: kind, LowerMs: lower, UpperMs: upper, LatenessMs: lateness}
}

// joinCase is a script with what has to come out: rows in their order, with the
// step that brings each; late elements; how many elements of the left and right
// are held after each step and after the end; and the counts of each side:
// assigned = joined + unmatched + late.
type joinCase struct {
	name  string
	cfg   oracle.JoinConfig
	steps []oracle.JoinStep
	want  string
}

func (c joinCase) run(t *testing.T) {
	res := c.cfg.Play(c.steps)
	var b strings.Builder
	dash := func(id string) string {
		if id == "" {
			return "-"
		}
		return id
	}
	for _, r := range res.Rows {
		fmt.Fprintf(&b, "%s %s %s at %d @%d\n", r.Key, dash(r.Left), dash(r.Right), r.TimeMs, r.Step)
	}
	for _, l := range res.Late {
		fmt.Fprintf(&b, "late %s %s at %d @%d\n", l.Side, l.Element.ID, l.Element.TimeMs, l.Step)
	}
	b.WriteString("held")
	for _, h := range res.Held {
		fmt.Fprintf(&b, " %d,%d", h.Left, h.Right)
	}
	for _, n := range []oracle.JoinCounts{res.Left, res.Right} {
		fmt.Fprintf(&b, "\n%d = %d + %d + %d", n.Assigned, n.Joined, n.Unmatched, n.Late)
	}
	if diff := cmp.Diff(strings.TrimPrefix(c.want, "\n"), b.String()); diff != "" {
		t.Errorf("mismatch (-want +got):\n%s", diff)
	}
}

// Every expectation is derived by hand from the documentation of JoinConfig and
// Play. Steps count from 0.
func TestJoin(t *testing.T) {
	for _, c := range []joinCase{
		{
			name: "nothing", cfg: within("full", 0, 0, 0),
			want: "held 0,0\n0 = 0 + 0 + 0\n0 = 0 + 0 + 0",
		},
		{
			// a is held until 0+10, b until 10-(-5).
			name: "both bounds are inclusive", cfg: within("full", -5, 10, 0),
			steps: []oracle.JoinStep{left("a", 0), right("w", -6), right("x", -5), right("y", 10), right("z", 11)},
			want: `
k a x at 0 @2
k a y at 10 @3
k - w at -6 @5
k - z at 11 @5
held 1,0 1,1 1,2 1,3 1,4 0,0
1 = 1 + 0 + 0
4 = 2 + 2 + 0`,
		},
		{
			name: "both exclusive", cfg: oracle.JoinConfig{Type: "inner", LowerMs: -5, UpperMs: 10, ExclusiveLower: true, ExclusiveUpper: true},
			steps: []oracle.JoinStep{left("a", 0), right("w", -5), right("x", -4), right("y", 9), right("z", 10)},
			want: `
k a x at 0 @2
k a y at 9 @3
held 1,0 1,1 1,2 1,3 1,4 0,0
1 = 1 + 0 + 0
4 = 2 + 2 + 0`,
		},
		{
			name: "one instant", cfg: within("inner", 3, 3, 0),
			steps: []oracle.JoinStep{right("x", 4), right("y", 5), right("z", 6), left("a", 2)},
			want: `
k a y at 5 @3
held 0,1 0,2 0,3 1,3 0,0
1 = 1 + 0 + 0
3 = 1 + 2 + 0`,
		},
		{
			name: "keys stay apart, the empty one is a key", cfg: within("left", 0, 0, 0),
			steps: []oracle.JoinStep{
				left("a", 0),
				oracle.Right(oracle.JoinElement{Key: "", ID: "x"}),
				oracle.Left(oracle.JoinElement{Key: "", ID: "b"}),
			},
			want: `
 b x at 0 @2
k a - at 0 @3
held 1,0 1,1 2,1 0,0
2 = 1 + 1 + 0
1 = 1 + 0 + 0`,
		},
		{
			// Partners are 2 to 5 before a left element. At the watermark 10, b at 10
			// is not late, and nothing at 5 to 8 can come any more: its row comes
			// with it. Left elements are never held.
			name: "partners in the past only", cfg: within("left", -5, -2, 0),
			steps: []oracle.JoinStep{right("x", 4), left("a", 9), wm(10), left("b", 10), right("y", 10), left("c", 12)},
			want: `
k a x at 9 @1
k b - at 10 @3
k c y at 12 @5
held 0,1 1,1 0,0 0,0 0,1 1,1 0,0
3 = 2 + 1 + 0
2 = 2 + 0 + 0`,
		},
		{
			// The mirror: partners are 2 to 5 after a left element.
			name: "partners in the future only", cfg: within("right", 2, 5, 0),
			steps: []oracle.JoinStep{left("x", 4), right("a", 9), wm(10), right("b", 10), left("y", 10), right("c", 12)},
			want: `
k x a at 9 @1
k - b at 10 @3
k y c at 12 @5
held 1,0 1,1 0,0 0,0 1,0 1,1 0,0
2 = 2 + 0 + 0
3 = 2 + 1 + 0`,
		},
		{
			name: "before 1970", cfg: within("full", -1, 1, 0),
			steps: []oracle.JoinStep{left("a", -1), right("x", 0), right("y", -2), right("z", -3), wm(-1), right("v", -2), left("b", -1)},
			want: `
k a x at 0 @1
k a y at -1 @2
k - z at -3 @4
k b x at 0 @6
k b y at -1 @6
late right v at -2 @5
held 1,0 1,1 1,2 1,3 1,2 1,2 2,2 0,0
2 = 2 + 0 + 0
4 = 2 + 1 + 1`,
		},
		{
			name: "twice is twice", cfg: within("inner", 0, 0, 0),
			steps: []oracle.JoinStep{left("a", 0), left("a", 0), right("x", 0), right("x", 0)},
			want: `
k a x at 0 @2
k a x at 0 @2
k a x at 0 @3
k a x at 0 @3
held 1,0 2,0 2,1 2,2 0,0
2 = 2 + 0 + 0
2 = 2 + 0 + 0`,
		},
		{
			name: "twice unmatched is twice", cfg: within("left_anti", 0, 0, 0),
			steps: []oracle.JoinStep{left("a", 0), left("a", 0), wm(1)},
			want: `
k a - at 0 @2
k a - at 0 @2
held 1,0 2,0 0,0 0,0
2 = 0 + 2 + 0
0 = 0 + 0 + 0`,
		},
		{
			name: "a semi join says a left element once, and forgets it", cfg: within("left_semi", -5, 5, 0),
			steps: []oracle.JoinStep{left("a", 0), right("x", 3), right("y", 0), wm(4), left("b", 4)},
			want: `
k a - at 3 @1
k b - at 4 @4
held 1,0 0,1 0,2 0,2 0,2 0,0
2 = 2 + 0 + 0
2 = 2 + 0 + 0`,
		},
		{
			// x came first, y is the earliest: max(2, 1).
			name: "of several that wait, a semi join takes the earliest", cfg: within("left_semi", -5, 5, 0),
			steps: []oracle.JoinStep{right("x", 4), right("y", 1), right("z", 3), left("a", 2)},
			want: `
k a - at 2 @3
held 0,1 0,2 0,3 0,3 0,0
1 = 1 + 0 + 0
3 = 3 + 0 + 0`,
		},
		{
			name: "an anti join says what has no partner, and forgets what has", cfg: within("left_anti", 0, 5, 0),
			steps: []oracle.JoinStep{left("a", 0), left("b", 2), left("c", 9), right("x", 7), wm(5), wm(6)},
			want: `
k a - at 0 @5
k c - at 9 @6
held 1,0 2,0 3,0 2,1 2,1 1,1 0,0
3 = 1 + 2 + 0
1 = 1 + 0 + 0`,
		},
		{
			name: "a watermark that falls has no effect", cfg: within("inner", 0, 0, 0),
			steps: []oracle.JoinStep{wm(5), wm(3), left("a", 4)},
			want: `
late left a at 4 @2
held 0,0 0,0 0,0 0,0
1 = 0 + 0 + 1
0 = 0 + 0 + 0`,
		},
	} {
		t.Run(c.name, c.run)
	}
}

func TestJoinConfig(t *testing.T) {
	wide := int64(292 * 365 * 86_400_000)
	for _, c := range []struct {
		name string
		cfg  oracle.JoinConfig
		ok   bool
	}{
		{"one instant", within("inner", 5, 5, 0), true},
		{"one instant, exclusive below", oracle.JoinConfig{Type: "inner", LowerMs: 5, UpperMs: 5, ExclusiveLower: true}, false},
		{"one instant, exclusive above", oracle.JoinConfig{Type: "inner", LowerMs: 5, UpperMs: 5, ExclusiveUpper: true}, false},
		{"(5, 6)", oracle.JoinConfig{Type: "inner", LowerMs: 5, UpperMs: 6, ExclusiveLower: true, ExclusiveUpper: true}, false},
		{"(5, 7)", oracle.JoinConfig{Type: "inner", LowerMs: 5, UpperMs: 7, ExclusiveLower: true, ExclusiveUpper: true}, true},
		{"crossed", within("inner", 1, 0, 0), false},
		{"as wide as a Duration", within("full", -wide, wide, wide), true},
		{"no type", within("", 0, 0, 0), false},
		{"another type", within("right_semi", 0, 0, 0), false},
		{"negative lateness", within("inner", 0, 0, -1), false},
	} {
		if err := c.cfg.Validate(); (err == nil) != c.ok {
			t.Errorf("%s: error %v", c.name, err)
		}
	}
}
