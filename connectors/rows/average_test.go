package rows

import (
	"bytes"
	"cmp"
	"encoding/json"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	gocmp "github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"tidemark/connectors/sink"
	"tidemark/internal/halt"
	"tidemark/transforms/average"
)

func of[T any](v T) *T { return &v }

// averages are rows in their forms.
var averages = []struct {
	row              average.Row
	json, csv, table string
}{
	{
		row: average.Row{
			Key: "s\t\"1\"", StartMs: 1_563_955_440_000, EndMs: 1_563_955_500_000, Pane: "ON_TIME",
			Average: of(12.8), Sum: of(64.0), Count: 5, MaxTimeMs: of(int64(1_563_955_499_250)),
		},
		json: `{"key":"s\t\"1\"","window_start":"2019-07-24T08:04:00Z","window_end":"2019-07-24T08:05:00Z","pane":"ON_TIME","revision":0,` +
			`"average":12.8,"previous_average":null,"sum":64,"count":5,"previous_count":null,"max_event_time":"2019-07-24T08:04:59.250Z"}`,
		csv:   "\"s\t\"\"1\"\"\",2019-07-24T08:04:00Z,2019-07-24T08:05:00Z,ON_TIME,0,12.8,,64,5,,2019-07-24T08:04:59.250Z",
		table: "s\\t\\\"1\\\"\t2019-07-24T08:04:00Z\t2019-07-24T08:05:00Z\tON_TIME\t0\t12.8\t\t64\t5\t\t2019-07-24T08:04:59.250Z",
	},
	{
		row: average.Row{
			Key: "k", StartMs: -1, EndMs: 0, Pane: "LATE", Revision: 2, Average: of(1.7e308), PreviousAverage: of(-1e-7),
			Count: 3, PreviousCount: of(int64(2)), MaxTimeMs: of(int64(-1)),
		},
		json: `{"key":"k","window_start":"1969-12-31T23:59:59.999Z","window_end":"1970-01-01T00:00:00Z","pane":"LATE","revision":2,` +
			`"average":1.7e+308,"previous_average":-1e-7,"sum":null,"count":3,"previous_count":2,"max_event_time":"1969-12-31T23:59:59.999Z"}`,
		csv:   "k,1969-12-31T23:59:59.999Z,1970-01-01T00:00:00Z,LATE,2,1.7e+308,-1e-7,,3,2,1969-12-31T23:59:59.999Z",
		table: "k\t1969-12-31T23:59:59.999Z\t1970-01-01T00:00:00Z\tLATE\t2\t1.7e+308\t-1e-7\t\t3\t2\t1969-12-31T23:59:59.999Z",
	},
	{
		row: average.Row{Key: "k", EndMs: 1, Pane: "LATE", Revision: 1, PreviousAverage: of(0.5), Sum: of(0.0), PreviousCount: of(int64(1))},
		json: `{"key":"k","window_start":"1970-01-01T00:00:00Z","window_end":"1970-01-01T00:00:00.001Z","pane":"LATE","revision":1,` +
			`"average":null,"previous_average":0.5,"sum":0,"count":0,"previous_count":1,"max_event_time":null}`,
		csv:   "k,1970-01-01T00:00:00Z,1970-01-01T00:00:00.001Z,LATE,1,,0.5,0,0,1,",
		table: "k\t1970-01-01T00:00:00Z\t1970-01-01T00:00:00.001Z\tLATE\t1\t\t0.5\t0\t0\t1\t",
	},
}

func TestAppendAverage(t *testing.T) {
	for _, c := range averages {
		if got := string(AppendAverage([]byte("before"), &c.row)); got != "before"+c.json {
			t.Errorf("AppendAverage\n got %s\nwant %s", got, c.json)
		}
		for format, want := range map[Format]string{JSON: c.json, CSV: c.csv, Table: c.table} {
			if got := string(appendAverage(nil, format, &c.row)); got != want {
				t.Errorf("%s: %q, want %q", format, got, want)
			}
		}
	}
	const header = "key,window_start,window_end,pane,revision,average,previous_average,sum,count,previous_count,max_event_time"
	csv, table := AverageLayout(CSV), AverageLayout(Table)
	if csv.Header != header || table.Header != strings.ReplaceAll(header, ",", "\t") || AverageLayout(JSON).Header != "" {
		t.Errorf("headers %q, %q and %q", csv.Header, table.Header, AverageLayout(JSON).Header)
	}
	if diff := gocmp.Diff([]bool{false, false, false, false, true, true, true, true, true, true, false}, table.Right); diff != "" {
		t.Errorf("alignment: mismatch (-want +got):\n%s", diff)
	}
}

// TestNumbers writes floats of any size: they look as those of encoding/json.
func TestNumbers(t *testing.T) {
	near := rapid.SampledFrom([]float64{
		0, 1, 1e-6, math.Nextafter(1e-6, 0), 1e-7, -1e-9, 1e-10, 1e-99, 1e-100, 1e21, math.Nextafter(1e21, 0), -1e22,
		math.MaxFloat64, math.SmallestNonzeroFloat64, 0.1, 12.5, -3,
	})
	rapid.Check(t, func(t *rapid.T) {
		x := rapid.OneOf(near, rapid.Float64Range(-math.MaxFloat64, math.MaxFloat64), rapid.Float64Range(-100, 100)).Draw(t, "x")
		want, err := json.Marshal(x)
		if err != nil {
			t.Fatal(err)
		}
		if got := string(appendNumber([]byte("x"), x)); got != "x"+string(want) {
			t.Fatalf("%s, want %s", got, want)
		}
	})
}

func TestAverageRoundTrips(t *testing.T) {
	type row struct {
		Key string `json:"key"`
		Window
		Pane            string     `json:"pane"`
		Revision        int64      `json:"revision"`
		Average         *float64   `json:"average"`
		PreviousAverage *float64   `json:"previous_average"`
		Sum             *float64   `json:"sum"`
		Count           int64      `json:"count"`
		PreviousCount   *int64     `json:"previous_count"`
		MaxEventTime    *time.Time `json:"max_event_time"`
	}
	float := rapid.Ptr(rapid.Float64Range(-math.MaxFloat64, math.MaxFloat64), true)
	rapid.Check(t, func(t *rapid.T) {
		r := average.Row{
			Key: anyText.Draw(t, "key"), StartMs: anyTime.Draw(t, "start"), EndMs: anyTime.Draw(t, "end"), Pane: anyText.Draw(t, "pane"),
			Revision: rapid.Int64().Draw(t, "revision"), Average: float.Draw(t, "average"), PreviousAverage: float.Draw(t, "previous"),
			Sum: float.Draw(t, "sum"), Count: rapid.Int64().Draw(t, "count"), PreviousCount: rapid.Ptr(rapid.Int64(), true).Draw(t, "previous count"),
			MaxTimeMs: rapid.Ptr(anyTime, true).Draw(t, "max"),
		}
		var latest *time.Time
		if r.MaxTimeMs != nil {
			latest = of(time.UnixMilli(*r.MaxTimeMs).UTC())
		}
		decode(t, AppendAverage(nil, &r), row{
			readable(r.Key), windowOf(r.StartMs, r.EndMs), readable(r.Pane), r.Revision,
			r.Average, r.PreviousAverage, r.Sum, r.Count, r.PreviousCount, latest,
		})
	})
}

func TestOrderAverage(t *testing.T) {
	few := rapid.Int64Range(-1, 1)
	row := rapid.Custom(func(t *rapid.T) average.Row {
		return average.Row{
			EndMs: few.Draw(t, "end"), StartMs: few.Draw(t, "start"), Key: orderedText.Draw(t, "key"), Revision: few.Draw(t, "revision"),
			Count: few.Draw(t, "count"), // has no effect
		}
	})
	rapid.Check(t, func(t *rapid.T) {
		a, b := row.Draw(t, "a"), row.Draw(t, "b")
		equal := rapid.IntRange(0, 4).Draw(t, "equal")
		for i, copyField := range []func(){
			func() { b.EndMs = a.EndMs }, func() { b.StartMs = a.StartMs }, func() { b.Key = a.Key }, func() { b.Revision = a.Revision },
		} {
			if i < equal {
				copyField()
			}
		}
		want := cmp.Or(
			cmp.Compare(a.EndMs, b.EndMs), cmp.Compare(a.StartMs, b.StartMs), strings.Compare(a.Key, b.Key), cmp.Compare(a.Revision, b.Revision),
		)
		if got := bytes.Compare(OrderAverage(nil, &a), OrderAverage(nil, &b)); got != want {
			t.Fatalf("%+v and %+v compare as %d, want %d", a, b, got, want)
		}
	})
}

// TestAverageLines packs a bundle of rows, without those of windows that were
// open when the run was asked to end.
func TestAverageLines(t *testing.T) {
	fn := &averageLinesFn{Format: CSV, rowLiner: rowLiner{LatenessMs: 5}}
	var lines, orders []string
	emit := func(_ beam.EventTime, batch []byte) {
		err := sink.Batch(batch).Each(func(order, line []byte) error {
			orders, lines = append(orders, string(order)), append(lines, string(line))
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	}
	stop := halt.Start()
	defer halt.Start()
	stop.Ask(false)
	stop.Stopped(1)

	fn.Setup()
	fn.StartBundle(emit)
	var want, wantOrders []string
	for _, c := range averages {
		// A FINAL row is due when what is allowed has passed too.
		final := c.row
		final.Pane = "FINAL"
		final.EndMs = 2 - fn.LatenessMs
		fn.ProcessElement(0, final, emit)
		fn.ProcessElement(0, c.row, emit)
		if c.row.EndMs <= 1 {
			want, wantOrders = append(want, c.csv), append(wantOrders, string(OrderAverage(nil, &c.row)))
		}
	}
	fn.FinishBundle(emit)
	if diff := gocmp.Diff(want, lines); diff != "" {
		t.Errorf("lines: mismatch (-want +got):\n%s", diff)
	}
	if diff := gocmp.Diff(wantOrders, orders); diff != "" {
		t.Errorf("orders: mismatch (-want +got):\n%s", diff)
	}
}
