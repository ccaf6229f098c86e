package mart

import (
	"context"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"tidemark/connectors/rows"
	"tidemark/transforms/gmv"
	"tidemark/windowfns"
)

// documentation is docs/mart.md.
func documentation(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("../../docs/mart.md")
	ok(t, err)
	return string(text)
}

// TestDocumentedColumns compares the tables with what is said about them.
func TestDocumentedColumns(t *testing.T) {
	m := newMart(t)
	documented := map[string][]string{}
	for _, section := range strings.Split(documentation(t), "\n### ")[1:] {
		name, rest, _ := strings.Cut(section, "\n")
		for _, c := range regexp.MustCompile("(?m)^\\| (\\**)`(\\w+)`\\** \\| ([A-Z]+) \\|").FindAllStringSubmatch(rest, -1) {
			key := "0"
			if c[1] != "" {
				key = "1"
			}
			documented[strings.Trim(name, "`")] = append(documented[strings.Trim(name, "`")], c[2]+"|"+c[3]+"|"+key)
		}
	}
	for _, name := range query(t, m, "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite%'") {
		same(t, name, query(t, m, "SELECT name, type, pk > 0 FROM pragma_table_info(?)", name), documented[name])
	}
	if want := fmt.Sprintf("`PRAGMA application_id` is %d (\"Tide\" in ASCII), `PRAGMA user_version` the version of the schema: %d.", applicationID, schemaVersion); !strings.Contains(documentation(t), want) {
		t.Errorf("the documentation does not say: %s", want)
	}
}

// TestDocumentedQueries runs the queries of the documentation over the orders
// that it tells of.
func TestDocumentedQueries(t *testing.T) {
	m := newMart(t)
	const nine, hour = 1_772_442_000_000, 3_600_000 // 2026-03-02T09:00:00Z
	gmvRow := func(key string, startMs, sum, count int64) string {
		return string(rows.AppendGMV(nil, &gmv.Row{
			Key: key, Currency: "EUR", StartMs: startMs, EndMs: startMs + hour, Pane: "ON_TIME", Minor: sum, Count: count, MaxTimeMs: new(int64(startMs)),
		}, true))
	}
	countsOf := func(start string, assigned, added, corrected, late, assignedSum, addedSum, correctedSum, lateSum int) string {
		return fmt.Sprintf(`{"window_start":"%sT%02d:00:00Z","window_end":"%[1]sT%02[3]d:00:00Z","currency":"EUR","assigned":%d,"added":%d,"corrected":%d,"late":%d,`+
			`"assigned_sum":"%d","added_sum":"%d","corrected_sum":"%d","late_sum":"%d"}`,
			start, 9, 10, assigned, added, corrected, late, assignedSum, addedSum, correctedSum, lateSum)
	}
	ok(t, begin(t, m, "orders-03-02").Replace(map[Kind]Lines{
		Rows: of(gmvRow("acme", nine, 19_799, 3), gmvRow("zeta", nine, 4551, 2), gmvRow("acme", nine+hour, 12_100, 2)),
		Late: of(string(rows.AppendLate(nil, &rows.Late{
			Event: []byte(`{"company_id":"acme","amount_cents":1200}`), TimeMs: nine + 1, All: true,
			Missed: []windowfns.Window{{StartMs: nine, EndMs: nine + hour}}, Source: "orders-03-02.ndjson", Position: 9,
		}))),
		Counts: of(countsOf("2026-03-02", 6, 5, 1, 1, 25_550, 24_350, 1000, 1200)),
	}, Summary{}))
	ok(t, begin(t, m, "orders-03-03").Replace(map[Kind]Lines{
		Rows:   of(gmvRow("zeta", nine+24*hour, 700, 1)),
		Counts: of(countsOf("2026-03-03", 1, 1, 0, 0, 700, 700, 0, 0)),
	}, Summary{}))

	payments(t, m, nine)

	found := regexp.MustCompile("(?s)<!-- query -->\n```sql\n(.*?)```\n\n<!-- rows -->\n```\n(.*?)```\n").FindAllStringSubmatch(documentation(t), -1)
	if len(found) != 5 {
		t.Fatalf("%d queries, want 5", len(found))
	}
	for _, q := range found {
		r, err := m.conn.QueryContext(context.Background(), q[1])
		ok(t, err)
		names, err := r.Columns()
		ok(t, err)
		ok(t, r.Close())
		got := append([]string{strings.Join(names, "|")}, query(t, m, q[1])...)
		same(t, q[1], strings.Split(strings.TrimSpace(q[2]), "\n"), got)
	}
}

// payments is a left join of three orders with their payments, from the given ms:
// o-1 is paid twice, o-3 once.
func payments(t *testing.T, m *Mart, ms int64) {
	t.Helper()
	row := func(key string, atMs int64, order string, position int, right string) string {
		at := time.UnixMilli(ms + atMs).UTC().Format(time.RFC3339)
		line := fmt.Sprintf(`{"key":%q,"left":{"order":%q},"right":%s,"time":%q,"left_source":"orders.ndjson","left_position":%d`, key, order, right, at, position)
		if right != "null" {
			line += fmt.Sprintf(`,"right_source":"paid.ndjson","right_position":%d`, atMs)
		}
		return line + "}"
	}
	ok(t, beginJoin(t, m, "payments-03-02", "left").Replace(map[Kind]Lines{
		Rows: of(row("acme", 0, "o-1", 1, `{"cents":1200}`), row("acme", 1000, "o-1", 1, `{"cents":500}`), row("zeta", 0, "o-2", 2, "null"), row("acme", 2000, "o-3", 3, `{"cents":90}`)),
		Late: of(fmt.Sprintf(`{"side":"right","event":{"cents":300},"time":%q,"source":"paid.ndjson","position":9,"key":"zeta"}`, time.UnixMilli(ms+2000).UTC().Format(time.RFC3339))),
	}, joinSummary(SideCounts{Assigned: 3, Joined: 2, Unmatched: 1}, SideCounts{Assigned: 4, Joined: 3, Late: 1})))
}

// TestViews has times that are not easy to write.
func TestViews(t *testing.T) {
	m := newMart(t)
	ok(t, begin(t, m, "a").Insert(Rows, of(
		string(rows.AppendGMV(nil, &gmv.Row{Key: "k", StartMs: -1, EndMs: 50, Minor: 1, Count: 1, MaxTimeMs: new(int64(-60_000))}, false)),
		string(rows.AppendGMV(nil, &gmv.Row{Key: "k", StartMs: 0, EndMs: 253_402_300_799_999, Minor: 1, Count: 1, MaxTimeMs: new(int64(-2_208_988_800_001))}, false)),
	)))
	ok(t, begin(t, m, "b").Insert(Rows, of(
		string(rows.AppendGMV(nil, &gmv.Row{Key: "k", StartMs: -1, EndMs: 50, Minor: -5, Count: 2}, false)),
		string(rows.AppendGMV(nil, &gmv.Row{Key: "k", StartMs: 0, EndMs: 50, Revision: 1}, false)), // withdrawn
	)))
	same(t, "readable", []string{
		"1969-12-31T23:59:59.999Z|1970-01-01T00:00:00.050Z|1969-12-31T23:59:00Z",
		"1970-01-01T00:00:00Z|9999-12-31T23:59:59.999Z|1899-12-31T23:59:59.999Z",
	}, query(t, m, "SELECT window_start, window_end, max_event_time FROM gmv_readable WHERE job = 'a'"))
	same(t, "all jobs", []string{"k||-1|50|-4|3|2", "k||0|253402300799999|1|1|1"}, query(t, m, "SELECT * FROM gmv_all_jobs"))
}
