package mart

import (
	"context"
	"database/sql"
)

// transact runs f in a transaction that may write, and undoes it if f fails.
func (m *Mart) transact(f func() error) (err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	// The lock is taken at once: a transaction that reads first can find that
	// somebody else has written since.
	if err := m.exec("BEGIN IMMEDIATE"); err != nil {
		return m.explain(err)
	}
	committed := false
	defer func() { // also if f panics
		if !committed {
			// It fails where SQLite has done so itself, after a full disk.
			_ = m.exec("ROLLBACK")
		}
	}()
	if err := f(); err != nil {
		return m.explain(err)
	}
	if err := m.exec("COMMIT"); err != nil {
		return m.explain(err)
	}
	committed = true
	return nil
}

// exec runs a statement and keeps it for the next time. The caller has the lock.
func (m *Mart) exec(statement string, args ...any) error {
	if len(args) == 0 {
		_, err := m.conn.ExecContext(context.Background(), statement)
		return err
	}
	st, err := m.prepare(statement)
	if err == nil {
		_, err = st.Exec(args...)
	}
	return err
}

func (m *Mart) execAll(statements []string) error {
	for _, s := range statements {
		if err := m.exec(s); err != nil {
			return err
		}
	}
	return nil
}

// prepare returns a prepared statement, to be used under the lock.
func (m *Mart) prepare(statement string) (*sql.Stmt, error) {
	if st := m.stmts[statement]; st != nil {
		return st, nil
	}
	st, err := m.conn.PrepareContext(context.Background(), statement)
	if err == nil {
		m.stmts[statement] = st
	}
	return st, err
}
