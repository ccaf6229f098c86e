package files

import (
	"errors"
	"fmt"
	"io"
	"math"
	"time"

	"tidemark/connectors/records"
)

// Scan reads files one after the other without a pipeline, and calls f with each
// record's values, or with the reason why it is bad. The values are valid until f
// returns; an error of f's ends the scan.
func Scan(cfg Config, files []File, f func(v *records.Values, reason string) error) error {
	dec, err := records.NewDecoder(cfg.Fields)
	if err != nil {
		return err
	}
	for _, file := range files {
		if err := scan(cfg, dec, file, f); err != nil {
			return fmt.Errorf("reading %s: %w", file.Name, err)
		}
	}
	return nil
}

func scan(cfg Config, dec *records.Decoder, file File, f func(v *records.Values, reason string) error) error {
	in, err := openCursor(file, span{End: math.MaxInt64, Line: 1}, cfg.MaxRecordBytes, dec)
	if err != nil {
		return err
	}
	defer in.close()
	var v records.Values
	for {
		it, err := in.next(dec)
		switch {
		case errors.Is(err, errWait):
			await(time.Hour, in.pipe(), nil)
			continue
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
		if err := f(&v, in.decode(dec, &it, &v)); err != nil {
			return err
		}
	}
}
