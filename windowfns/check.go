package windowfns

import (
	"fmt"
	"time"
)

const (
	// maxSize bounds window lengths: 100 years of 365.25 days.
	maxSize = 876600 * time.Hour

	// maxWindows bounds the windows of one element.
	maxWindows = 100_000
)

// checkLength checks a duration that must be a positive whole number of
// milliseconds, at most maxSize.
func checkLength(fn, field string, d time.Duration) error {
	switch {
	case d <= 0 || !wholeMs(d):
		return fmt.Errorf("windowfns.%s: %s = %v, want a positive whole number of milliseconds", fn, field, d)
	case d > maxSize:
		return fmt.Errorf("windowfns.%s: %s = %v, want at most %v (100 years)", fn, field, d, maxSize)
	}
	return nil
}

// checkOffset checks that offset is a whole number of milliseconds between
// -step and step, both excluded. The name of step is in stepField.
func checkOffset(fn string, offset time.Duration, stepField string, step time.Duration) error {
	switch {
	case !wholeMs(offset):
		return fmt.Errorf("windowfns.%s: Offset = %v, want a whole number of milliseconds", fn, offset)
	case offset <= -step || offset >= step:
		return fmt.Errorf("windowfns.%s: Offset = %v, want more than %v and less than %v (%s = %v)",
			fn, offset, -step, step, stepField, step)
	}
	return nil
}

// checkCount checks the number of windows of one element, which is size/step
// rounded up.
func checkCount(fn string, size time.Duration, stepField string, step time.Duration) error {
	n := int64(size / step)
	if size%step != 0 {
		n++
	}
	if n > maxWindows {
		return fmt.Errorf("windowfns.%s: Size = %v and %s = %v give an element up to %d windows, want at most %d",
			fn, size, stepField, step, n, maxWindows)
	}
	return nil
}

// offsetSuffix is the part of a description that names a non-zero offset.
func offsetSuffix(offset time.Duration) string {
	if offset == 0 {
		return ""
	}
	return fmt.Sprintf(", offset %v", offset)
}
