package mart

import "fmt"

// upgrade makes a mart of an older version one of this version. Views are made
// anew, whatever they were.
func upgrade(version int) []string {
	all := []string{
		"DROP VIEW IF EXISTS gmv_all_jobs", "DROP VIEW IF EXISTS gmv_readable",
		"DROP VIEW IF EXISTS averages_all_jobs", "DROP VIEW IF EXISTS averages_readable",
		"DROP VIEW IF EXISTS window_counts_readable", "DROP VIEW IF EXISTS late_windows",
	}
	if version < 2 {
		all = append(all, upgradeTo2()...)
	}
	all = append(all, upgradeTo3()...)
	return append(append(all, createViews()...), fmt.Sprintf("PRAGMA user_version = %d", schemaVersion))
}

// upgradeTo2 adds averages and sessions to a mart of GMV.
func upgradeTo2() []string {
	return []string{
		"ALTER TABLE runs ADD COLUMN aggregate TEXT NOT NULL DEFAULT 'gmv'",
		"ALTER TABLE runs ADD COLUMN sessions INTEGER NOT NULL DEFAULT 0",
		averagesTable.create(averagesTable.name),
		// Sums can be NULL now, and SQLite changes a column by copying its table.
		"ALTER TABLE window_counts RENAME TO old_window_counts",
		countsTable.create(countsTable.name),
		"INSERT INTO window_counts SELECT * FROM old_window_counts",
		"DROP TABLE old_window_counts",
	}
}

// upgradeTo3 adds joins to a mart of aggregates.
func upgradeTo3() []string {
	all := []string{
		"ALTER TABLE runs RENAME COLUMN aggregate TO work",
		"ALTER TABLE runs ADD COLUMN join_type TEXT",
	}
	for _, name := range joinCountNames {
		all = append(all, "ALTER TABLE runs ADD COLUMN "+name+" INTEGER")
	}
	return append(all,
		joinedTable.create(joinedTable.name),
		joinLateTable.create(joinLateTable.name),
		// A key is changed by copying the table, too.
		"ALTER TABLE bad RENAME TO old_bad",
		badTable.create(badTable.name),
		"INSERT INTO bad (job, source, position, side, run, raw, raw_bytes, reason) SELECT job, source, position, '', run, raw, raw_bytes, reason FROM old_bad",
		"DROP TABLE old_bad",
	)
}
