package mart

import (
	"errors"
	"fmt"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// What errors.Is finds in the errors of this package.
var (
	ErrLocked     = errors.New("locked by another process")
	ErrFull       = errors.New("the disk is full, or the file may not grow")
	ErrNotMart    = errors.New("not a mart")
	ErrNotExist   = errors.New("no such file")
	ErrReadOnly   = errors.New("read-only")
	ErrNoJob      = errors.New("no such job")
	ErrOtherJob   = errors.New("another command's job has that name")
	ErrSuperseded = errors.New("a newer run of the job has replaced all rows of older ones; nothing was written")

	errEnded     = errors.New("has ended already")
	errDamaged   = errors.New("damaged: SQLite finds its pages malformed")
	errCannot    = errors.New("cannot be opened, or its folder does not take the files that SQLite needs next to it")
	errEmpty     = fmt.Errorf("%w: an empty file", ErrNotMart)
	errNotSQLite = fmt.Errorf("%w: not a SQLite file", ErrNotMart)
)

// explain says in words what SQLite has failed of, and which mart it is. SQLite's
// own error stays in the chain.
func (m *Mart) explain(err error) error {
	if err == nil {
		return nil
	}
	var cause error
	switch codeOf(err) & 0xff { // without what extended codes add
	case sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED:
		cause = fmt.Errorf("%w for more than %v; nothing was written", ErrLocked, m.busy)
	case sqlite3.SQLITE_FULL:
		cause = fmt.Errorf("%w; nothing was written", ErrFull)
	case sqlite3.SQLITE_READONLY:
		cause = ErrReadOnly
	case sqlite3.SQLITE_NOTADB:
		cause = errNotSQLite
	case sqlite3.SQLITE_CORRUPT:
		cause = errDamaged
	case sqlite3.SQLITE_CANTOPEN:
		cause = errCannot
	default:
		return fmt.Errorf("mart %q: %w", m.path, err)
	}
	return &explained{fmt.Errorf("mart %q: %w", m.path, cause), err}
}

// explained is an error in our words.
type explained struct{ words, sqlite error }

func (e *explained) Error() string   { return e.words.Error() }
func (e *explained) Unwrap() []error { return []error{e.words, e.sqlite} }

// codeOf is SQLite's code of an error, or 0.
func codeOf(err error) int {
	var e *sqlite.Error
	if errors.As(err, &e) {
		return e.Code()
	}
	return 0
}
