package oracle_test

import (
	"testing"

	"tidemark/testing/oracle"
)

// With an allowed lateness L an element at t is late when WM > t + L.
func TestJoinLate(t *testing.T) {
	for _, c := range []joinCase{
		{
			// WM == t is in time, WM == t + 1 is not.
			name: "at the watermark, and one past it", cfg: within("inner", 0, 0, 0),
			steps: []oracle.JoinStep{wm(5), left("a", 5), right("x", 5), wm(6), left("b", 5), right("y", 5)},
			want: `
k a x at 5 @2
late left b at 5 @4
late right y at 5 @5
held 0,0 1,0 1,1 0,0 0,0 0,0 0,0
2 = 1 + 0 + 1
2 = 1 + 0 + 1`,
		},
		{
			// WM == t + L is in time, WM == t + L + 1 is not.
			name: "at the watermark less L, and one past it", cfg: within("inner", 0, 0, 3),
			steps: []oracle.JoinStep{wm(8), left("a", 5), right("x", 5), wm(9), left("b", 5), right("y", 5)},
			want: `
k a x at 5 @2
late left b at 5 @4
late right y at 5 @5
held 0,0 1,0 1,1 0,0 0,0 0,0 0,0
2 = 1 + 0 + 1
2 = 1 + 0 + 1`,
		},
		{
			// a can get partners until 0+10+3, x until 2-(-4)+3.
			name: "unmatched rows come one past the last chance", cfg: within("full", -4, 10, 3),
			steps: []oracle.JoinStep{
				left("a", 0),
				oracle.Right(oracle.JoinElement{Key: "m", ID: "x", TimeMs: 2}),
				wm(9), wm(10), wm(13), wm(14),
			},
			want: `
m - x at 2 @3
k a - at 0 @5
held 1,0 1,1 1,1 1,0 1,0 0,0 0,0
1 = 0 + 1 + 0
1 = 0 + 1 + 0`,
		},
		{
			name: "exclusive bounds bring them one earlier", cfg: oracle.JoinConfig{
				Type: "full", LowerMs: -4, UpperMs: 10, LatenessMs: 3, ExclusiveLower: true, ExclusiveUpper: true,
			},
			steps: []oracle.JoinStep{
				left("a", 0),
				oracle.Right(oracle.JoinElement{Key: "m", ID: "x", TimeMs: 2}),
				wm(8), wm(9), wm(12), wm(13),
			},
			want: `
m - x at 2 @3
k a - at 0 @5
held 1,0 1,1 1,1 1,0 1,0 0,0 0,0
1 = 0 + 1 + 0
1 = 0 + 1 + 0`,
		},
		{
			// x is 3 behind the watermark, which is as late as it may be, and takes the
			// last chance of a: never both a row without and one with a partner.
			name: "the last partner at the last moment", cfg: within("left", 0, 10, 3),
			steps: []oracle.JoinStep{left("a", 0), wm(13), right("x", 10), wm(14)},
			want: `
k a x at 10 @2
held 1,0 1,0 1,1 0,0 0,0
1 = 1 + 0 + 0
1 = 1 + 0 + 0`,
		},
		{
			name: "a late partner after the row without one", cfg: within("left", 0, 10, 3),
			steps: []oracle.JoinStep{left("a", 0), wm(14), right("x", 10)},
			want: `
k a - at 0 @1
late right x at 10 @2
held 1,0 0,0 0,0 0,0
1 = 0 + 1 + 0
1 = 0 + 0 + 1`,
		},
		{
			// b is accepted at the watermark 12, and can get partners until 9+2+3.
			name: "accepted late, unmatched later", cfg: within("left", 0, 2, 3),
			steps: []oracle.JoinStep{wm(12), left("b", 9), wm(14), wm(15)},
			want: `
k b - at 9 @3
held 0,0 1,0 1,0 0,0 0,0
1 = 0 + 1 + 0
0 = 0 + 0 + 0`,
		},
		{
			name: "after the end everything is late", cfg: within("full", -4, 10, 3),
			steps: []oracle.JoinStep{left("a", 0), wm(1 << 62), left("b", 0), right("x", 0)},
			want: `
k a - at 0 @1
late left b at 0 @2
late right x at 0 @3
held 1,0 0,0 0,0 0,0 0,0
2 = 0 + 1 + 1
1 = 0 + 0 + 1`,
		},
	} {
		t.Run(c.name, c.run)
	}
}

// Scripts that other systems answer in another way.
func TestJoinUnlikePeers(t *testing.T) {
	for _, c := range []joinCase{
		{
			// Flink's DataStream join removes a at the watermark 999, and accepts x
			// after it: x is neither joined nor reported.
			name: "no hole at the edge", cfg: within("inner", 0, 999, 0),
			steps: []oracle.JoinStep{left("a", 0), wm(999), right("x", 999)},
			want: `
k a x at 999 @2
held 1,0 1,0 1,1 0,0
1 = 1 + 0 + 0
1 = 1 + 0 + 0`,
		},
		{
			// Flink SQL emits a late element of an outer side that has no partner with
			// nulls, at once.
			name: "a late element is in no row", cfg: within("full", -5, 5, 0),
			steps: []oracle.JoinStep{wm(10), left("a", 9), right("x", 4), wm(20)},
			want: `
late left a at 9 @1
late right x at 4 @2
held 0,0 0,0 0,0 0,0 0,0
1 = 0 + 0 + 1
1 = 0 + 0 + 1`,
		},
		{
			// Kafka Streams joins x after it has emitted a without a partner.
			name: "never null and a match", cfg: within("left", -5, 5, 2),
			steps: []oracle.JoinStep{left("a", 0), wm(8), right("x", 5), right("y", 6)},
			want: `
k a - at 0 @1
late right x at 5 @2
held 1,0 0,0 0,0 0,1 0,0
1 = 0 + 1 + 0
2 = 0 + 1 + 1`,
		},
		{
			// Flink SQL counts times at or before 1970 as none.
			name: "rows at 0 and before wait like others", cfg: within("full", -5, 5, 0),
			steps: []oracle.JoinStep{left("a", -10), left("b", 0), wm(-5), right("x", -5), wm(-4), wm(5)},
			want: `
k a x at -5 @3
k b x at 0 @3
held 1,0 2,0 2,0 2,1 1,1 1,0 0,0
2 = 2 + 0 + 0
1 = 1 + 0 + 0`,
		},
	} {
		t.Run(c.name, c.run)
	}
}
