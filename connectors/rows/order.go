package rows

import (
	"encoding/binary"
	"math"

	"tidemark/connectors/files"
	"tidemark/transforms/average"
	"tidemark/transforms/gmv"
)

// OrderGMV appends a key that sorts rows by window end, window start, key,
// currency and revision. Keys and currencies compare byte by byte.
func OrderGMV(dst []byte, r *gmv.Row) []byte {
	dst = orderInt(dst, r.EndMs)
	dst = orderInt(dst, r.StartMs)
	dst = orderText(dst, r.Key)
	dst = orderText(dst, r.Currency)
	return orderInt(dst, r.Revision)
}

// OrderAverage appends a key that sorts rows by window end, window start, key and
// revision. Keys compare byte by byte.
func OrderAverage(dst []byte, r *average.Row) []byte {
	dst = orderInt(dst, r.EndMs)
	dst = orderInt(dst, r.StartMs)
	dst = orderText(dst, r.Key)
	return orderInt(dst, r.Revision)
}

// OrderCount appends a key that sorts counts by window end, window start and
// currency.
func OrderCount(dst []byte, c *Count) []byte {
	dst = orderInt(dst, c.EndMs)
	dst = orderInt(dst, c.StartMs)
	return orderText(dst, c.Currency)
}

// JoinedTimeBytes is how much of what [OrderJoined] appends is the time. What is behind
// it identifies the row of a left semi join: its time is that of the record's first
// partner, and can be another one when a runner begins anew.
const JoinedTimeBytes = 8

// OrderJoined appends a key that sorts rows of a join by time, key, source and
// position of the left record, and then of the right one. Where a record is not
// there, its place is in front of all others.
func OrderJoined(dst []byte, timeMs int64, j *Joined) []byte {
	dst = orderInt(dst, timeMs)
	dst = orderText(dst, j.Key)
	for _, r := range [2]*files.Row{j.Left, j.Right} {
		if r == nil {
			dst = OrderRecord(dst, "", math.MinInt64)
		} else {
			dst = OrderRecord(dst, r.Source, r.Position)
		}
	}
	return dst
}

// OrderRecord appends a key that sorts late and bad records by source and
// position.
func OrderRecord(dst []byte, source string, position int64) []byte {
	return orderInt(orderText(dst, source), position)
}

// orderInt appends n so that negative numbers come first.
func orderInt(dst []byte, n int64) []byte {
	return binary.BigEndian.AppendUint64(dst, uint64(n)^(1<<63))
}

// orderText appends s and an end that sorts before anything that could follow
// it in a longer text: two zero bytes, where a zero byte of s itself is followed
// by 0xFF.
func orderText(dst []byte, s string) []byte {
	for i := range len(s) {
		dst = append(dst, s[i])
		if s[i] == 0 {
			dst = append(dst, 0xFF)
		}
	}
	return append(dst, 0, 0)
}
