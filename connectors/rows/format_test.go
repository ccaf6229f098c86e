package rows

import (
	"encoding/csv"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"tidemark/transforms/gmv"
	"tidemark/windowfns"
)

func TestFormats(t *testing.T) {
	previous, count := int64(-5), int64(2)
	first := gmv.Row{Key: "a,\"b\"\n", Currency: "EUR", StartMs: 0, EndMs: 60_500, Pane: "ON_TIME", Minor: 7, Count: 1, MaxTimeMs: new(int64(1))}
	second := first
	second.Pane, second.Revision, second.PreviousMinor, second.PreviousCount = "LATE", 1, &previous, &count
	for _, c := range []struct {
		format   Format
		currency bool
		row      gmv.Row
		header   string
		want     string
	}{
		{
			CSV, false, first, "key,window_start,window_end,pane,revision,sum,previous_sum,count,previous_count,max_event_time",
			"\"a,\"\"b\"\"\n\",1970-01-01T00:00:00Z,1970-01-01T00:01:00.500Z,ON_TIME,0,7,,1,,1970-01-01T00:00:00.001Z",
		},
		{
			CSV, true, second, "key,currency,window_start,window_end,pane,revision,sum,previous_sum,count,previous_count,max_event_time",
			"\"a,\"\"b\"\"\n\",EUR,1970-01-01T00:00:00Z,1970-01-01T00:01:00.500Z,LATE,1,7,-5,1,2,1970-01-01T00:00:00.001Z",
		},
		{Pipe, false, second, "", `a,\"b\"\n|0|7`},
		{
			Table, true, second, "key\tcurrency\twindow_start\twindow_end\tpane\trevision\tsum\tprevious_sum\tcount\tprevious_count\tmax_event_time",
			`a,\"b\"\n` + "\tEUR\t1970-01-01T00:00:00Z\t1970-01-01T00:01:00.500Z\tLATE\t1\t7\t-5\t1\t2\t1970-01-01T00:00:00.001Z",
		},
	} {
		if got := string(appendGMV(nil, c.format, &c.row, c.currency)); got != c.want {
			t.Errorf("%s: %q, want %q", c.format, got, c.want)
		}
		l := GMVLayout(c.format, c.currency)
		if l.Header != c.header {
			t.Errorf("%s: header %q, want %q", c.format, l.Header, c.header)
		}
		if n := strings.Count(c.header, "\t") + 1; c.format == Table && len(l.Right) != n {
			t.Errorf("%d columns are aligned, want %d", len(l.Right), n)
		}
	}
	if got, want := string(appendGMV(nil, JSON, &second, true)), string(AppendGMV(nil, &second, true)); got != want || GMVLayout(JSON, true).Header != "" {
		t.Errorf("json: %q, want %q and no header", got, want)
	}
}

// cells reads one line of comma-separated values.
func cells(t interface{ Fatalf(string, ...any) }, line []byte) []string {
	all, err := csv.NewReader(strings.NewReader(string(line) + "\n")).ReadAll()
	if err != nil || len(all) != 1 {
		t.Fatalf("%q: %q, %v, want one row", line, all, err)
	}
	return all[0]
}

// TestCSVRecords writes late and bad records of any bytes: a reader of CSV gets
// them back.
func TestCSVRecords(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		raw := strings.ReplaceAll(rapid.OneOf(rapid.String(), rapid.StringMatching(`[a",\n ]*`)).Draw(t, "raw"), "\r", "")
		got := cells(t, appendBadCSV(nil, &Bad{Source: "x,y", Position: 7, Raw: []byte(raw), Reason: `no "sense"`}))
		if want := []string{"x,y", "7", raw, `no "sense"`, ""}; !slices.Equal(got, want) {
			t.Fatalf("%q, want %q", got, want)
		}
		got = cells(t, appendLateCSV(nil, &Late{
			Event: []byte(raw), TimeMs: 5, All: true, Source: "-", Position: 2,
			Missed: []windowfns.Window{{StartMs: 0, EndMs: 1000}, {StartMs: 0, EndMs: 2000}},
		}))
		want := []string{
			raw, "1970-01-01T00:00:00.005Z",
			`[{"window_start":"1970-01-01T00:00:00Z","window_end":"1970-01-01T00:00:01Z"},{"window_start":"1970-01-01T00:00:00Z","window_end":"1970-01-01T00:00:02Z"}]`,
			"true", "-", "2",
		}
		if !slices.Equal(got, want) {
			t.Fatalf("%q, want %q", got, want)
		}
	})
	if n, m := len(cells(t, []byte(lateHeader))), len(cells(t, []byte(badHeader))); n != 6 || m != 5 {
		t.Errorf("headers of %d and %d columns", n, m)
	}
	if got := cells(t, appendBadCSV(nil, &Bad{Raw: []byte("a\xff")})); got[2] != "a\ufffd" || got[4] != "Yf8=" {
		t.Errorf("bytes that are no text: %q", got)
	}
	over := gmv.Overflow{Key: "k", EndMs: 1000, Pane: "ON_TIME", Total: "9223372036854775808", Count: 2, Reason: "overflow"}
	if got := cells(t, appendOverflowCSV(nil, &over, false)); got[0] != "total" || !strings.Contains(got[2], `"sum":9223372036854775808`) {
		t.Errorf("a sum that could not be shown: %q", got)
	}
}
