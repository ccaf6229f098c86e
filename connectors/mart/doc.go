// Package mart keeps what pipelines put out in a SQLite file, for queries: rows
// of GMV, of averages and of joins, the counts of every window, late and bad
// records, and the runs that they come from.
//
// A [Mart] takes the lines of JSON that every other output gets, in the format
// rows.Mart, and lines of window counts. Each belongs to a job, which a name tells
// from other jobs, and to a run of it:
//
//	m, err := mart.Open("mart.db")
//	defer m.Close()
//	run, err := m.Begin(mart.RunInfo{Job: "orders", Command: "gmv"})
//	// A finite input, at its end:
//	err = run.Replace(map[mart.Kind]mart.Lines{mart.Rows: rows}, summary)
//	// Or an endless one, batch by batch, and then:
//	err = run.Insert(mart.Rows, batch)
//	err = run.Finish(mart.Interrupted, summary)
//
// The tables, and queries over them, are in docs/mart.md.
//
// # Guarantees
//
// A row is identified by its job and
//
//	GMV rows and overflows   key, currency, window
//	rows of averages         key, window
//	window counts            currency, window
//	rows of joins            time, key, source and position of both records
//	late records             source, position; of joins, side
//	bad records              source, position, side
//
// Of a row of an aggregate that of the newest run wins, and in a run the one that has
// counted most elements or withdraws its window, and of these the newest revision:
// whatever the order in which rows come, and also where a runner goes back to
// a checkpoint and groups late elements in other revisions than before. Of the others
// the newest run wins.
//
// [Run.Replace] makes the tables hold what the run has put out, and no more, in
// one transaction. A row that is there already with the same content keeps the
// run that wrote it, so that running the same input again changes nothing but
// the table of runs. [Run.Insert] is one transaction a call.
//
// A process that is killed leaves nothing of the transaction that it was in. Its
// run stays "running" until the next one of the same job begins, which calls it
// "crashed".
//
// # Limits
//
// The file is in SQLite's WAL mode, so that it can be queried while a stream
// runs; it has to be on a local file system, and a file PATH-wal next to it
// belongs to it while it is open. There is one writer at a time; others wait up
// to 30 s.
//
// After a failure of the machine, not of the process, the last calls of Insert
// may be undone, whole and in order. Replace is on the disk when it returns.
package mart
