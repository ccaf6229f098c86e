package rows

import "tidemark/transforms/gmv"

// AppendGMV appends the row of a sum of money: key, currency (only where
// withCurrency is set), window_start, window_end, pane, revision, sum,
// previous_sum, count, previous_count, max_event_time. Sums are in minor units.
// The previous values are null where r has none, which is on revision 0.
func AppendGMV(dst []byte, r *gmv.Row, withCurrency bool) []byte {
	dst = append(dst, '{')
	dst = appendText(dst, "key", r.Key)
	if withCurrency {
		dst = appendText(dst, "currency", r.Currency)
	}
	dst = appendFiring(dst, r.StartMs, r.EndMs, r.Pane, r.Revision)
	dst = appendInt(dst, "sum", r.Minor)
	dst = appendIntOrNull(dst, "previous_sum", r.PreviousMinor)
	dst = appendInt(dst, "count", r.Count)
	dst = appendIntOrNull(dst, "previous_count", r.PreviousCount)
	dst = appendTimeOrNull(dst, "max_event_time", r.MaxTimeMs)
	return append(dst, '}')
}

// appendFiring appends which firing of which window a row is.
func appendFiring(dst []byte, startMs, endMs int64, pane string, revision int64) []byte {
	dst = appendWindow(dst, startMs, endMs)
	dst = appendText(dst, "pane", pane)
	return appendInt(dst, "revision", revision)
}

// overflowSource stands for the source in the rows of [AppendOverflow].
const overflowSource = "total"

// AppendOverflow appends the bad row of a sum outside int64. It has the members
// of every bad row (see [AppendBad]): the source is "total", the position 0, and
// raw is the row that could not be put out, the text of a JSON object with the
// members key, currency, window_start, window_end, pane, sum (a number with all
// of its digits, which most decoders round) and count. Then come, for programs,
// key, currency, window_start, window_end and total, the sum as a string of
// digits. The currencies are there only where withCurrency is set.
func AppendOverflow(dst []byte, o *gmv.Overflow, withCurrency bool) []byte {
	dst = append(dst, '{')
	dst = appendText(dst, "source", overflowSource)
	dst = appendInt(dst, "position", 0)
	dst = appendName(dst, "raw")

	// The text is made at the end of dst, then replaced by its quoted form.
	start := len(dst)
	dst = appendUnshown(dst, o, withCurrency)
	end := len(dst)
	dst = appendString(dst, dst[start:end])
	dst = append(dst[:start], dst[end:]...)

	dst = appendText(dst, "reason", o.Reason)
	dst = appendText(dst, "key", o.Key)
	if withCurrency {
		dst = appendText(dst, "currency", o.Currency)
	}
	dst = appendWindow(dst, o.StartMs, o.EndMs)
	dst = appendText(dst, "total", o.Total)
	return append(dst, '}')
}

// appendUnshown appends what of a row is known of an overflow.
func appendUnshown(dst []byte, o *gmv.Overflow, withCurrency bool) []byte {
	dst = append(dst, '{')
	dst = appendText(dst, "key", o.Key)
	if withCurrency {
		dst = appendText(dst, "currency", o.Currency)
	}
	dst = appendWindow(dst, o.StartMs, o.EndMs)
	dst = appendText(dst, "pane", o.Pane)
	dst = append(appendName(dst, "sum"), o.Total...)
	dst = appendInt(dst, "count", o.Count)
	return append(dst, '}')
}
