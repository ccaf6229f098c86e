package records

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"tidemark/internal/decimal"
)

// Fields names the members of a record to read; the package comment says how
// paths and values are read. It survives a JSON round trip, so that a pipeline
// can ship it to its workers. The zero value is not valid.
type Fields struct {
	// Key holds the paths of the key, joined with "|" if there are several.
	// At least one is required.
	Key []string

	// Time is the path of the event time. Required.
	Time string

	// TimeUnit is the unit of times that are numbers: "s", "ms", "us" or "ns"
	// since the Unix epoch, UTC. Required, also where all times are RFC 3339.
	TimeUnit string

	// Amount is the path of the amount. Empty means that the records have
	// none; [Values.Amount] is then 0.
	Amount string

	// AmountScale is the number of decimals of an amount, 0 to 18: minor units
	// are 10^-AmountScale of the units in the record.
	AmountScale int

	// Value is the path of the value. Empty means that the records have none;
	// [Values.Value] is then 0.
	Value string

	// Currency is the path of the currency. Empty means that the records have
	// none; [Values.Currency] is then empty.
	Currency string
}

// Values is what a [Decoder] reads from one record.
type Values struct {
	// Key is the key's text. It is valid until the next Decode into the same
	// Values, which reuses its memory.
	Key []byte

	// TimeMs is the event time in milliseconds since the Unix epoch, UTC.
	TimeMs int64

	// Amount is in minor units.
	Amount int64

	// Value is finite, and never -0.
	Value float64

	// Currency is the currency's text, valid as long as Key is.
	Currency []byte
}

// Validate reports why the fields cannot be used, as an error that says what
// was given and what is wanted, or nil.
func (f Fields) Validate() error {
	if len(f.Key) == 0 {
		return fmt.Errorf("Key is empty, want at least one path")
	}
	for i, path := range f.Key {
		if err := validatePath(fmt.Sprintf("Key[%d]", i), path); err != nil {
			return err
		}
	}
	if err := validatePath("Time", f.Time); err != nil {
		return err
	}
	if _, ok := unitOf(f.TimeUnit); !ok {
		return fmt.Errorf("TimeUnit = %q, want %s", f.TimeUnit, unitNames)
	}
	if f.Amount != "" {
		if err := validatePath("Amount", f.Amount); err != nil {
			return err
		}
	}
	if f.AmountScale < 0 || f.AmountScale > decimal.MaxScale {
		return fmt.Errorf("AmountScale = %d, want 0 to %d", f.AmountScale, decimal.MaxScale)
	}
	if f.Value != "" {
		if err := validatePath("Value", f.Value); err != nil {
			return err
		}
	}
	if f.Currency != "" {
		return validatePath("Currency", f.Currency)
	}
	return nil
}

// validatePath reports why path, the value of the named field, cannot be used.
func validatePath(field, path string) error {
	switch {
	case path == "":
		return fmt.Errorf("%s is empty, want a path", field)
	case slices.Contains(strings.Split(path, "."), ""):
		return fmt.Errorf("%s = %q has an empty component, want names joined with single dots", field, path)
	case !utf8.ValidString(path):
		return fmt.Errorf("%s = %q is not valid UTF-8", field, path)
	}
	return nil
}
