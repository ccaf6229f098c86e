package mart

// Replace makes the mart hold what the run has put out: all of its lines, of each
// kind in all. It ends the run as [Done], in the same transaction. Rows of older
// runs of the job that are not among the lines are removed, those that are there
// with the same content keep their run, others get this one's. Kinds that all
// does not hold stay as they are; one without lines is emptied.
//
// Lines sorted as package rows sorts them are written fastest, and any order
// gives the same rows. Of a job that is not in the mart yet they are written
// directly; else they go through a temporary table, which takes disk space of its
// own.
//
// If a newer run of the job has been here before, its rows stay, this run ends as
// "superseded", and the error is [ErrSuperseded]. If Replace fails of something
// else, nothing has changed, and the run goes on.
func (r *Run) Replace(all map[Kind]Lines, sum Summary) error {
	m := r.mart
	for kind := range all {
		if err := r.check(kind); err != nil {
			return err
		}
	}
	if err := m.synchronous("FULL"); err != nil {
		return err
	}
	defer m.synchronous("NORMAL") //nolint:errcheck // it would only be slower
	late := false
	err := r.transact(func() (err error) {
		if late, err = r.isSuperseded(); err != nil {
			return err
		}
		if late {
			return r.end(superseded, sum)
		}
		for kind := range kinds {
			if lines := all[kind]; lines != nil {
				if err := r.writes(kind); err != nil {
					return err
				}
				if err := r.replace(kind, lines); err != nil {
					return err
				}
			}
		}
		if err := m.exec("UPDATE runs SET replaced = 1 WHERE run = ?", r.id); err != nil {
			return err
		}
		return r.end(Done, sum)
	})
	if err != nil {
		return err
	}
	r.ended.Store(true)
	if late {
		return m.explain(r.superseded())
	}
	return nil
}

// synchronous sets whether a commit waits for the disk: FULL, or NORMAL for one
// that a failure of the machine may undo.
func (m *Mart) synchronous(mode string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.explain(m.exec("PRAGMA synchronous = " + mode))
}

// exist reports whether a query has a result.
func (m *Mart) exist(query string, args ...any) (found bool, err error) {
	st, err := m.prepare("SELECT EXISTS (" + query + ")")
	if err != nil {
		return false, err
	}
	err = st.QueryRow(args...).Scan(&found)
	return found, err
}

// replace puts lines of a kind in place of the job's rows.
func (r *Run) replace(kind Kind, lines Lines) error {
	m := r.mart
	staged := map[*table]bool{}
	for _, t := range r.tablesOf(kind) {
		old, err := m.exist("SELECT 1 FROM "+t.name+" WHERE job = ?", r.job)
		if err != nil {
			return err
		}
		if staged[t] = old; old {
			if err := m.exec(t.create("temp." + t.staged())); err != nil {
				return err
			}
			if r.other != nil && r.other.of == t {
				if err := m.exec(r.other.create("temp.", t.staged())); err != nil {
					return err
				}
			}
		}
	}
	err := r.add(kind, lines, func(t *table) string {
		if staged[t] {
			return t.staged()
		}
		return t.name
	})
	if err != nil {
		return err
	}
	for t, old := range staged {
		if !old {
			continue
		}
		if err := m.exec(t.remove(), r.job, r.id); err != nil {
			return err
		}
		if err := m.execAll([]string{t.merge(), "DROP TABLE " + t.staged()}); err != nil {
			return err
		}
	}
	return nil
}
