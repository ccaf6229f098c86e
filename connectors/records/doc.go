// Package records turns one JSON record into the values that a pipeline works
// on: a key, an event time, an amount or a value, and a currency.
//
// A record is one JSON object in valid UTF-8. [Fields] names the members to
// read; a [Decoder] made of it fills a [Values] per record. Everything that a
// record can get wrong is an error whose text is the reason to show to people:
// it names the field, says what was found and what is wanted, and holds at most
// 64 bytes of the record. It holds no position, which only the reader of the
// input knows.
//
// # Paths
//
// A dot reaches into nested objects: "e.auction" is the member auction of the
// member e. Every other character stands for itself, so "@type", "a*", "#" and
// `a\b` are plain member names; a name that contains a dot, and the empty name,
// cannot be reached. A component of digits without a leading zero is a member
// name in an object and an index, counted from 0, in an array.
//
// Where several members fit a path, the first in the record wins (the
// encoding/json package takes the last).
//
// # Keys and currencies
//
// A JSON string counts as its text, a number literal as it is written: 17 and
// "17" are one key, 17 and 17.0 are two. The empty string is a key. Several key
// fields are joined with "|", which is not escaped: the fields "a|b" and "c"
// give the key of "a" and "b|c". An escape of half a surrogate pair, as in
// "\ud800", becomes U+FFFD, as in encoding/json.
//
// # Times
//
// A time is an RFC 3339 string, with any offset and any number of decimals, or
// a whole number in the configured unit. A number counts by value: 1.7e12 and
// 5.0 are whole, 1.5 is not. A string of digits, with an optional minus sign,
// is such a number too. Times finer than a millisecond are floored, before 1970
// too. The letters t and z may be lower case. The leap second 23:59:60 UTC is
// the first instant of the next day, as Unix time has it; a second 60 at any
// other time of day is bad. A time without an offset is bad: it would need a
// guess. Times outside the years 1900 to 2185 are bad; see [MinTimeMs].
//
// # Amounts
//
// An amount is a number or a string that holds one, in major units, and must be
// a whole number of minor units inside int64. It is read exactly, never through
// a float64.
//
// # Values
//
// A value is a number, or a string that holds one, and is read as the nearest
// float64. What is nearer to zero than any other float64 is 0, and so is -0. What
// lies beyond the largest one is bad, and so are strings like "NaN" and
// "Infinity".
package records
