package rows

import "tidemark/transforms/average"

// AppendAverage appends the row of an average: key, window_start, window_end,
// pane, revision, average, previous_average, sum, count, previous_count,
// max_event_time. Numbers look as those of encoding/json do. What r has not is
// null: the previous values on revision 0, a sum outside float64, and the average
// and the time of no elements.
func AppendAverage(dst []byte, r *average.Row) []byte {
	dst = append(dst, '{')
	dst = appendText(dst, "key", r.Key)
	dst = appendFiring(dst, r.StartMs, r.EndMs, r.Pane, r.Revision)
	dst = appendFloatOrNull(dst, "average", r.Average)
	dst = appendFloatOrNull(dst, "previous_average", r.PreviousAverage)
	dst = appendFloatOrNull(dst, "sum", r.Sum)
	dst = appendInt(dst, "count", r.Count)
	dst = appendIntOrNull(dst, "previous_count", r.PreviousCount)
	dst = appendTimeOrNull(dst, "max_event_time", r.MaxTimeMs)
	return append(dst, '}')
}
