package gmv

import (
	"encoding/binary"
	"fmt"
	"reflect"

	"tidemark/internal/intake"
	"tidemark/transforms/aggregate"
)

// aggregator computes GMV for package aggregate, whose key is the key and the
// currency of an [Entry].
type aggregator struct {
	EntryOf intake.EntryFunc[Entry]
}

func (a *aggregator) Lift(elem any, timeMs int64, key, acc []byte) ([]byte, []byte, error) {
	e, err := a.EntryOf.Entry(elem)
	if err != nil {
		return key, acc, fmt.Errorf("gmv: %w", err)
	}
	return appendKey(key, e.Key, e.Currency), totalOf(e.Minor, timeMs).appendTo(acc), nil
}

func (a *aggregator) Merge(dst, src []byte) ([]byte, error) {
	d, err := readTotal(dst)
	if err != nil {
		return nil, err
	}
	s, err := readTotal(src)
	if err != nil {
		return nil, err
	}
	return d.plus(s).appendTo(dst[:0]), nil
}

func (a *aggregator) Check(acc []byte) error {
	t, err := readTotal(acc)
	if err != nil {
		return err
	}
	return t.check()
}

// Group is the currency of a key.
func (a *aggregator) Group(key []byte) []byte {
	n := len(key) - 4
	if n < 0 {
		return nil
	}
	c := int64(binary.LittleEndian.Uint32(key[n:]))
	return key[max(0, int64(n)-c):n]
}

// RowType makes [Row] the type of the rows.
func (a *aggregator) RowType() reflect.Type { return reflect.TypeFor[Row]() }

// Render decodes the total and the one before it.
func (a *aggregator) Render(in *aggregate.Row) (any, error) {
	key, currency, err := splitKey(in.Key)
	if err != nil {
		return nil, err
	}
	row := Row{
		Key: key, Currency: currency, StartMs: in.StartMs, EndMs: in.EndMs,
		Pane: string(in.Pane), Revision: in.Revision,
	}
	if len(in.Total) > 0 {
		t, err := readTotal(in.Total)
		if err != nil {
			return nil, err
		}
		row.Minor, _ = t.minor()
		row.Count, row.MaxTimeMs = t.count, &t.maxMs
	}
	if in.Revision == 0 {
		return row, nil
	}
	var was total // of nothing, if the row before has withdrawn the window
	if len(in.Previous) > 0 {
		if was, err = readTotal(in.Previous); err != nil {
			return nil, err
		}
	}
	minor, _ := was.minor()
	row.PreviousMinor, row.PreviousCount = &minor, &was.count
	return row, nil
}

// appendKey joins a key and a currency so that no two pairs look alike, and
// keys of one currency sort as themselves: key, currency, length of currency.
func appendKey(b []byte, key, currency string) []byte {
	b = append(append(b, key...), currency...)
	return binary.LittleEndian.AppendUint32(b, uint32(len(currency)))
}

// splitKey undoes [appendKey].
func splitKey(s string) (key, currency string, err error) {
	if n := len(s) - 4; n >= 0 {
		if c := int(binary.LittleEndian.Uint32([]byte(s[n:]))); c <= n {
			return s[:n-c], s[n-c : n], nil
		}
	}
	return "", "", fmt.Errorf("gmv: malformed key")
}
