package rows

import (
	"encoding/binary"
	"errors"
	"reflect"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/register"

	"tidemark/connectors/files"
)

// Joined is a row of an interval join: a pair of records, or one record where the
// other side has none. Its time is the timestamp of the element.
type Joined struct {
	Key string

	// A record that is there is a JSON object in valid UTF-8, as sources emit it.
	// One of the two is nil where a record is unmatched, and Right always is in
	// left semi and left anti joins.
	Left, Right *files.Row
}

// Side is a side of a join.
type Side string

// The sides.
const (
	Left  Side = "left"
	Right Side = "right"
)

// JoinedOf is the row of a join of records by key.
func JoinedOf(key string, left, right *files.Row) Joined { return Joined{key, left, right} }

func init() {
	register.Function3x1(JoinedOf)
	beam.RegisterType(reflect.TypeFor[Joined]())
	beam.RegisterCoder(reflect.TypeFor[Joined](), encodeJoined, decodeJoined)
}

// An encoded row is the key, then each side: one byte, 0 where it is not there, and
// else 1 and
//
//	mark, position varint | source | record
//
// Texts have their lengths in front, as uvarints.
func encodeJoined(j Joined) []byte {
	size := binary.MaxVarintLen64 + len(j.Key)
	for _, r := range [2]*files.Row{j.Left, j.Right} {
		if size++; r != nil {
			size += 4*binary.MaxVarintLen64 + len(r.Source) + len(r.Raw)
		}
	}
	b := make([]byte, 0, size)
	b = append(binary.AppendUvarint(b, uint64(len(j.Key))), j.Key...)
	return encodeSide(encodeSide(b, j.Left), j.Right)
}

func encodeSide(b []byte, r *files.Row) []byte {
	if r == nil {
		return append(b, 0)
	}
	b = append(b, 1)
	b = binary.AppendVarint(b, r.MarkMs)
	b = binary.AppendVarint(b, r.Position)
	b = append(binary.AppendUvarint(b, uint64(len(r.Source))), r.Source...)
	return append(binary.AppendUvarint(b, uint64(len(r.Raw))), r.Raw...)
}

var errJoined = errors.New("rows: an encoded row of a join is malformed")

// decodeJoined leaves the records where they are in b.
func decodeJoined(b []byte) (j Joined, err error) {
	key, b, err := cutText(b)
	if err != nil {
		return Joined{}, err
	}
	j.Key = string(key)
	if j.Left, b, err = decodeSide(b); err != nil {
		return Joined{}, err
	}
	if j.Right, b, err = decodeSide(b); err == nil && len(b) > 0 {
		err = errJoined
	}
	return j, err
}

func decodeSide(b []byte) (r *files.Row, rest []byte, err error) {
	switch {
	case len(b) == 0 || b[0] > 1:
		return nil, nil, errJoined
	case b[0] == 0:
		return nil, b[1:], nil
	}
	r, b = new(files.Row), b[1:]
	for _, n := range [2]*int64{&r.MarkMs, &r.Position} {
		v, size := binary.Varint(b)
		if size <= 0 {
			return nil, nil, errJoined
		}
		*n, b = v, b[size:]
	}
	source, b, err := cutText(b)
	if err != nil {
		return nil, nil, err
	}
	r.Source = string(source)
	r.Raw, b, err = cutText(b)
	return r, b, err
}

// cutText cuts a text with its length in front off b.
func cutText(b []byte) (text, rest []byte, err error) {
	n, size := binary.Uvarint(b)
	if size <= 0 || n > uint64(len(b)-size) {
		return nil, nil, errJoined
	}
	b = b[size:]
	return b[:n:n], b[n:], nil
}
