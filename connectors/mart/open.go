package mart

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"tidemark/internal/paths"
)

// Patience is how long a writer waits for another one. A large Replace of
// another job takes seconds, and who waits for it has a whole run to lose.
const Patience = 30 * time.Second

// minSize is the size of the smallest database in bytes. SQLite takes a file that
// is smaller for an empty one, and would write over it.
const minSize = 512

// Mart is an open mart. It is safe for concurrent use, one transaction at a time.
type Mart struct {
	path   string
	busy   time.Duration
	now    func() time.Time
	writes bool // it was opened to be written

	mu    sync.Mutex // guards the connection
	db    *sql.DB
	conn  *sql.Conn
	stmts map[string]*sql.Stmt
}

// Open opens the mart at path. Where there is no file, or an empty one, it makes
// a new mart, and a mart of an older schema version becomes one of this version.
// A file that is something else, or a mart of a newer version, is an error and
// stays as it is.
func Open(path string) (*Mart, error) { return OpenFor(path, Patience) }

// OpenFor is [Open] with another patience: how long each call waits for others
// that write.
func OpenFor(path string, patience time.Duration) (*Mart, error) { return open(path, "rwc", patience) }

// OpenReadOnly opens a mart that is there, for [Mart.Jobs] and [Mart.Balances].
// It refuses what [Open] refuses, and a file that is missing or empty.
func OpenReadOnly(path string) (*Mart, error) { return open(path, "ro", Patience) }

// Check reports what [Open] would refuse, and changes nothing: it makes no mart
// where there is none. A mart that is locked for the moment passes.
func Check(path string) error {
	m := &Mart{path: path}
	isNew, err := m.look()
	if err != nil {
		return fmt.Errorf("mart %q: %w", path, err)
	}
	if isNew {
		return m.checkNew()
	}
	m, err = open(path, "rw", 0)
	if err != nil {
		return unlessLocked(err)
	}
	return m.Close()
}

// CheckJob reports whether [Mart.Begin] would refuse the job in the mart at path,
// which [Check] has let pass, and changes nothing either.
func CheckJob(path string, info RunInfo) error {
	m, err := open(path, "ro", 0)
	switch {
	case errors.Is(err, ErrNotExist), errors.Is(err, errEmpty):
		return nil
	case err != nil:
		return unlessLocked(err)
	}
	return errors.Join(unlessLocked(m.explain(m.checkJob(info))), m.Close())
}

// unlessLocked is err, or nil if it says that others write at the moment: the mart
// may be free when it is needed.
func unlessLocked(err error) error {
	if errors.Is(err, ErrLocked) {
		return nil
	}
	return err
}

// look reports whether there is nothing at the path of m yet, or what is wrong
// with what is there.
func (m *Mart) look() (isNew bool, err error) {
	info, err := os.Stat(m.path)
	switch {
	case m.path == "":
		return false, errors.New("the path is empty")
	case errors.Is(err, fs.ErrNotExist):
		dir := filepath.Dir(m.path)
		if _, err := os.Stat(dir); err != nil {
			return false, fmt.Errorf("folder %q: %w", dir, cause(err))
		}
		return true, nil
	case err != nil:
		return false, cause(err)
	case info.IsDir():
		return false, fmt.Errorf("%w: a folder", ErrNotMart)
	case !info.Mode().IsRegular():
		return false, fmt.Errorf("%w: a special file (%v)", ErrNotMart, info.Mode())
	case info.Size() > 0 && info.Size() < minSize:
		return false, errNotSQLite
	}
	return info.Size() == 0, nil
}

// checkNew reports why no mart could be made where there is nothing yet, or an
// empty file.
func (m *Mart) checkNew() error {
	dir := filepath.Dir(m.path)
	f, err := os.CreateTemp(dir, ".tidemark-*.tmp")
	if err != nil {
		return fmt.Errorf("mart %q: folder %q takes no files: %w", m.path, dir, cause(err))
	}
	if err := errors.Join(f.Close(), os.Remove(f.Name())); err != nil || !exists(m.path) {
		return err
	}
	if f, err = os.OpenFile(m.path, os.O_RDWR, 0); err != nil {
		return fmt.Errorf("mart %q cannot be written: %w", m.path, cause(err))
	}
	return f.Close()
}

// cause strips the call and the path from an error of package os.
func cause(err error) error {
	if pathErr := (*fs.PathError)(nil); errors.As(err, &pathErr) {
		return pathErr.Err
	}
	return err
}

// open opens the mart at path: mode is "rwc" to make it where it is missing,
// "rw", or "ro" for reading only.
func open(path, mode string, busy time.Duration) (_ *Mart, err error) {
	m := &Mart{path: path, busy: busy, now: time.Now, stmts: map[string]*sql.Stmt{}}
	isNew, err := m.look()
	if err == nil && isNew && mode != "rwc" {
		if err = ErrNotExist; exists(path) {
			err = errEmpty
		}
	}
	if err != nil {
		return nil, fmt.Errorf("mart %q: %w", path, err)
	}
	if err := m.connect(mode); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			m.Close() //nolint:errcheck // the first error counts
		}
	}()
	if mode == "ro" {
		_, err := m.verify()
		return m, m.explain(err)
	}
	m.writes = mode == "rwc"
	return m, m.setUp(m.writes)
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// connect opens the one connection that m uses.
func (m *Mart) connect(mode string) error {
	abs, err := paths.Abs(m.path)
	if err != nil {
		return fmt.Errorf("mart %q: %w", m.path, err)
	}
	query := url.Values{"mode": {mode}, "_error_rc": {"1"}, "_dqs": {"0"}, "_busy_timeout": {fmt.Sprint(m.busy.Milliseconds())}}
	if mode == "ro" {
		// A connection that may not write leaves SQLite's files behind, which
		// the last one to close should remove.
		query.Set("mode", "rw")
		query.Set("_query_only", "1")
	}
	uri := url.URL{Scheme: "file", Path: filepath.ToSlash(abs), RawQuery: query.Encode()}
	if !strings.HasPrefix(uri.Path, "/") {
		uri.Path = "/" + uri.Path // a drive
	}
	if m.db, err = sql.Open("sqlite", uri.String()); err != nil {
		return m.explain(err)
	}
	if m.conn, err = m.db.Conn(context.Background()); err != nil {
		m.db.Close() //nolint:errcheck // the first error counts
		return m.explain(err)
	}
	return nil
}

// setUp verifies that m is a mart that can be written, or is empty. If it may, it
// makes it one of this version.
func (m *Mart) setUp(create bool) error {
	err := m.hurry(func() error {
		return m.transact(func() error {
			switch empty, err := m.isEmpty(); {
			case err != nil:
				return err
			case empty && create:
				return m.execAll(createAll())
			case empty:
				return nil
			}
			version, err := m.verify()
			if err != nil {
				return err
			}
			if version < schemaVersion && create {
				return m.execAll(upgrade(version))
			}
			// Of a file that is read-only, it is a statement that writes which
			// fails, not the beginning of a transaction.
			return m.exec("DELETE FROM runs WHERE false")
		})
	})
	// Whether another process writes at the moment is not for Open to say, unless
	// it has something to write itself.
	if errors.Is(err, ErrLocked) {
		if version, err2 := m.verify(); err2 != nil || version == schemaVersion {
			err = m.explain(err2)
		}
	}
	if err != nil || !create {
		return err
	}
	// Readers need not wait for writers then. It cannot be changed while another
	// process is connected, and the next one to open the mart tries again.
	_ = m.exec("PRAGMA journal_mode = WAL")
	return m.explain(m.execAll([]string{"PRAGMA cache_size = -16384", "PRAGMA synchronous = NORMAL"})) // KiB
}

// hurry runs f without patience, if m is a mart of this version already: who waits
// for others does so once, when there is something to write.
func (m *Mart) hurry(f func() error) error {
	if version, err := m.verify(); err != nil || version < schemaVersion {
		return f()
	}
	if err := m.exec("PRAGMA busy_timeout = 0"); err != nil {
		return m.explain(err)
	}
	err := f()
	return errors.Join(err, m.explain(m.exec(fmt.Sprintf("PRAGMA busy_timeout = %d", m.busy.Milliseconds()))))
}

// isEmpty reports whether there is nothing in the file.
func (m *Mart) isEmpty() (bool, error) {
	id, version, err := m.identity()
	if err != nil || id != 0 || version != 0 {
		return false, err
	}
	var things int
	err = m.conn.QueryRowContext(context.Background(), "SELECT count(*) FROM sqlite_schema").Scan(&things)
	return things == 0, err
}

// verify checks that m is a mart of a version that is known, and returns it.
func (m *Mart) verify() (version int, err error) {
	id, version, err := m.identity()
	switch {
	case err != nil:
		return 0, err
	case id != applicationID:
		return 0, fmt.Errorf("%w: a SQLite file with the application_id %d, want %d", ErrNotMart, id, applicationID)
	case version < oldestVersion || version > schemaVersion:
		return 0, fmt.Errorf("%w of this version: its schema version (user_version) is %d, want %d", ErrNotMart, version, schemaVersion)
	}
	return version, nil
}

func (m *Mart) identity() (id, version int, err error) {
	row := m.conn.QueryRowContext(context.Background(), "SELECT a.application_id, u.user_version FROM pragma_application_id AS a, pragma_user_version AS u")
	err = row.Scan(&id, &version)
	return id, version, err
}

// Close closes the mart. Runs that have not ended stay "running". What was written is in
// the mart's own file then, unless others are reading or writing: SQLite does that by
// itself only for the last one to close, and workers of a cluster may be killed with
// the mart open.
func (m *Mart) Close() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.writes {
		_ = m.execAll([]string{"PRAGMA busy_timeout = 0", "PRAGMA wal_checkpoint(TRUNCATE)"}) // or it stays beside the file
	}
	for _, st := range m.stmts {
		st.Close() //nolint:errcheck // closing the connection says the same
	}
	m.stmts = nil
	return m.explain(errors.Join(m.conn.Close(), m.db.Close()))
}
