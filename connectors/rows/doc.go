// Package rows writes what a pipeline puts out as JSON: one object a row, on one
// line, without the newline at its end.
//
// The functions append to a slice and return it, so that a caller who keeps the
// slice writes rows without allocating. The members of a row always come in the
// order that the functions list. Times are RFC 3339 in UTC, with milliseconds
// only where they are not zero. Numbers that are not whole look as those of
// encoding/json do: the fewest digits that give the same float64.
//
// # Guarantees
//
// Every row is valid JSON in valid UTF-8 and holds no line break, whatever bytes
// go into it; only of the records in rows of joins it is taken for granted that
// they are JSON. Text that is valid UTF-8 comes back from a JSON decoder as it was;
// what is not has U+FFFD in place of each byte that does not belong. Strings
// look as those of encoding/json do with SetEscapeHTML(false).
//
// # Order
//
// Pipelines put rows out in any order. [OrderGMV], [OrderAverage], [OrderJoined],
// [OrderCount] and [OrderRecord] give the keys to sort them by: byte strings, which compare as
// the fields that they are made of do.
package rows
