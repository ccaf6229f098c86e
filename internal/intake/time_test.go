package intake

import (
	"testing"

	"tidemark/connectors/records"
)

func TestAcceptedTimes(t *testing.T) {
	if MinTimeMs != records.MinTimeMs || MaxTimeMs != records.MaxTimeMs {
		t.Errorf("transforms accept %d to %d, records %d to %d", MinTimeMs, MaxTimeMs, records.MinTimeMs, records.MaxTimeMs)
	}
	for _, ms := range []int64{MinTimeMs, 0, MaxTimeMs} {
		if err := CheckTime(ms); err != nil {
			t.Errorf("CheckTime(%d) = %v, want it accepted", ms, err)
		}
	}
	for _, ms := range []int64{MinTimeMs - 1, MaxTimeMs + 1, -9223372036854775, 9223371950454775} {
		if err := CheckTime(ms); err == nil {
			t.Errorf("CheckTime(%d) = nil, want an error", ms)
		}
	}
}

func TestAcceptedMarks(t *testing.T) {
	for _, ms := range []int64{-9223372036854775808, MinTimeMs - 1, 0, MaxTimeMs} {
		if err := CheckMark(ms); err != nil {
			t.Errorf("CheckMark(%d) = %v, want it accepted", ms, err)
		}
	}
	for _, ms := range []int64{MaxTimeMs + 1, 9223372036854775, Unmarked} {
		if err := CheckMark(ms); err == nil {
			t.Errorf("CheckMark(%d) = nil, want an error", ms)
		}
	}
}
