package rows

import (
	"encoding/base64"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"tidemark/connectors/records"
	"tidemark/connectors/sink"
	"tidemark/transforms/average"
	"tidemark/transforms/gmv"
)

// Format is how rows are written.
type Format string

// The formats of rows: an object of JSON a line; comma-separated values with
// a header; key|window start in ms|sum; aligned columns for people; JSON with the
// members that only a mart takes, which rows of joins, and their late and bad
// records, have.
const (
	JSON  Format = "json"
	CSV   Format = "csv"
	Pipe  Format = "pipe"
	Table Format = "table"
	Mart  Format = "mart"
)

// column is a column of a row that is not JSON.
type column struct {
	name  string
	right bool // aligned to the right in a table
}

// aggregateColumns are those of any aggregate: what is computed stands between
// the identity of a row and its counts.
func aggregateColumns(withCurrency bool, computed ...string) []column {
	cols := []column{{"key", false}}
	if withCurrency {
		cols = append(cols, column{"currency", false})
	}
	cols = append(cols, []column{
		{"window_start", false},
		{"window_end", false},
		{"pane", false},
		{"revision", true},
	}...)
	for _, name := range computed {
		cols = append(cols, column{name, true})
	}
	return append(cols, []column{
		{"count", true},
		{"previous_count", true},
		{"max_event_time", false},
	}...)
}

func names(cols []column) []string {
	all := make([]string, len(cols))
	for i, c := range cols {
		all[i] = c.name
	}
	return all
}

// GMVLayout is what stands around the rows of sums of money.
func GMVLayout(f Format, withCurrency bool) sink.Layout {
	return layout(f, aggregateColumns(withCurrency, "sum", "previous_sum"))
}

// AverageLayout is what stands around the rows of averages.
func AverageLayout(f Format) sink.Layout {
	return layout(f, aggregateColumns(false, "average", "previous_average", "sum"))
}

func layout(f Format, cols []column) sink.Layout {
	switch f {
	case CSV:
		return sink.Layout{Header: strings.Join(names(cols), ",")}
	case Table:
		l := sink.Layout{Header: strings.Join(names(cols), "\t")}
		for _, c := range cols {
			l.Right = append(l.Right, c.right)
		}
		return l
	default:
		return sink.Layout{}
	}
}

// The columns of late and of bad records. What is not text is JSON.
const (
	lateHeader = "event,time,missed,missed_all,source,position"
	badHeader  = "source,position,raw,reason,raw_base64"
)

// LateLayout is what stands around late records.
func LateLayout(f Format) sink.Layout { return headed(f, lateHeader) }

// BadLayout is what stands around bad records.
func BadLayout(f Format) sink.Layout { return headed(f, badHeader) }

func headed(f Format, header string) sink.Layout {
	if f == CSV {
		return sink.Layout{Header: header}
	}
	return sink.Layout{}
}

// appendGMV appends a row in a format.
func appendGMV(dst []byte, f Format, r *gmv.Row, withCurrency bool) []byte {
	switch f {
	case CSV, Table:
		return appendCells(dst, f, gmvCells(r, withCurrency))
	case Pipe:
		dst = append(append(dst, printable(r.Key)...), '|')
		dst = append(strconv.AppendInt(dst, r.StartMs, 10), '|')
		return strconv.AppendInt(dst, r.Minor, 10)
	default:
		return AppendGMV(dst, r, withCurrency)
	}
}

// appendAverage appends a row in a format.
func appendAverage(dst []byte, f Format, r *average.Row) []byte {
	switch f {
	case CSV, Table:
		return appendCells(dst, f, averageCells(r))
	default:
		return AppendAverage(dst, r)
	}
}

// appendCells appends a row of cells as CSV or for a table.
func appendCells(dst []byte, f Format, cells []string) []byte {
	if f == CSV {
		return appendCSV(dst, cells)
	}
	for i, c := range cells {
		if i > 0 {
			dst = append(dst, '\t')
		}
		dst = append(dst, printable(c)...)
	}
	return dst
}

// gmvCells are the cells of a row, in the order of its columns.
func gmvCells(r *gmv.Row, withCurrency bool) []string {
	cells := []string{r.Key}
	if withCurrency {
		cells = append(cells, r.Currency)
	}
	return append(cells, records.FormatTime(r.StartMs), records.FormatTime(r.EndMs), r.Pane,
		cell(&r.Revision, formatInt), cell(&r.Minor, formatInt), cell(r.PreviousMinor, formatInt),
		cell(&r.Count, formatInt), cell(r.PreviousCount, formatInt), cell(r.MaxTimeMs, records.FormatTime))
}

// averageCells are the cells of a row, in the order of its columns.
func averageCells(r *average.Row) []string {
	return []string{
		r.Key, records.FormatTime(r.StartMs), records.FormatTime(r.EndMs), r.Pane,
		cell(&r.Revision, formatInt), cell(r.Average, formatFloat), cell(r.PreviousAverage, formatFloat), cell(r.Sum, formatFloat),
		cell(&r.Count, formatInt), cell(r.PreviousCount, formatInt), cell(r.MaxTimeMs, records.FormatTime),
	}
}

// cell is a value in a format; null is empty.
func cell[T any](v *T, format func(T) string) string {
	if v == nil {
		return ""
	}
	return format(*v)
}

func formatInt(n int64) string { return strconv.FormatInt(n, 10) }

func formatFloat(x float64) string { return string(appendNumber(nil, x)) }

// printable is text that keeps to its line and cell: control characters are
// written as in Go's source.
func printable(s string) string {
	if strings.IndexFunc(s, unicode.IsControl) < 0 {
		return s
	}
	q := strconv.Quote(s)
	return q[1 : len(q)-1]
}

// appendCSV appends a row of comma-separated values, without its newline.
func appendCSV(dst []byte, cells []string) []byte {
	for i, c := range cells {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = appendCell(dst, c)
	}
	return dst
}

// appendCell appends a value as encoding/csv writes it: in quotes where it holds a
// comma, a quote or a line break, begins with a space, or is \. alone.
func appendCell[T string | []byte](dst []byte, s T) []byte {
	quoted := len(s) == 2 && s[0] == '\\' && s[1] == '.'
	for i := 0; i < len(s) && !quoted; i++ {
		quoted = s[i] == ',' || s[i] == '"' || s[i] == '\n' || s[i] == '\r'
	}
	if !quoted {
		first, _ := utf8.DecodeRuneInString(string(s[:min(len(s), utf8.UTFMax)]))
		if quoted = unicode.IsSpace(first); !quoted {
			return append(dst, s...)
		}
	}
	dst = append(dst, '"')
	kept := 0 // s[kept:i] goes in as it is
	for i := range len(s) {
		if s[i] == '"' {
			dst = append(append(dst, s[kept:i+1]...), '"')
			kept = i + 1
		}
	}
	dst = append(dst, s[kept:]...)
	return append(dst, '"')
}

func appendLateCSV(dst []byte, rec *Late) []byte {
	return appendCSV(dst, []string{
		string(rec.Event), records.FormatTime(rec.TimeMs), string(appendMissed(nil, rec.Missed)),
		strconv.FormatBool(rec.All), rec.Source, strconv.FormatInt(rec.Position, 10),
	})
}

func appendBadCSV(dst []byte, rec *Bad) []byte {
	exact := ""
	if !utf8.Valid(rec.Raw) {
		exact = base64.StdEncoding.EncodeToString(rec.Raw)
	}
	text := strings.ToValidUTF8(string(rec.Raw), "\ufffd")
	return appendCSV(dst, []string{rec.Source, strconv.FormatInt(rec.Position, 10), text, rec.Reason, exact})
}

// appendOverflowCSV appends the sum that could not be shown as a bad record.
func appendOverflowCSV(dst []byte, o *gmv.Overflow, withCurrency bool) []byte {
	return appendBadCSV(dst, &Bad{Source: overflowSource, Raw: appendUnshown(nil, o, withCurrency), Reason: o.Reason})
}
