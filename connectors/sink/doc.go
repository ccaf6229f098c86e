// Package sink writes the lines of a pipeline's outputs to local files and to
// standard output.
//
// A [Target] is where lines go, checked before anything is read. While the
// pipeline runs, [Write] gathers the lines of an output in a [Spool], in memory
// and then on disk. When the pipeline has ended well, [Commit] takes them to the
// target:
//
//	spool := sink.NewSpool(dir, true)
//	defer spool.Close()
//	sink.Open("rows", spool)
//	defer sink.Forget("rows")
//	// In the pipeline: sink.Write(s, "rows", batches)
//	// After it: sink.Commit(target, layout, spool, os.Stdout)
//
// A stream has no such end. An [Appender] takes lines as they come, and writes them
// behind what a file holds. What stands around lines, the header of a table, is
// a [Layout].
//
// Workers in other processes have none of these at hand. [WriteTo] lets each of them
// open a [Place] by itself: [AppendPlace] is an Appender of a file, [Parts] a folder
// with a file for each worker, from which whoever submits takes the lines to a spool
// when the job has ended. Other packages add kinds of places with [RegisterOpener].
//
// # Guarantees
//
// A file is written whole or not at all: to a temporary file in its folder, to
// the disk, then renamed. Whoever opens it sees the old lines or the new ones,
// also after a crash of the machine; straight after a crash they may be the old
// ones. Standard output gets nothing from a pipeline that fails.
//
// The lines of a sorted spool come out in the same order whatever order they
// came in, and with [Spool.Once] each of those that are the same in order and text
// once. With [Spool.OnceBehind] those that are the same in what identifies them come once.
//
// A batch is in a part whole, or it is not read.
//
// # Limits
//
// The lines of a run take as much disk space as they are long, twice that at
// times, next to the file itself. A file that is replaced keeps its permission
// bits, but not its owner, its other names (hard links) or its access control
// list. A symbolic link stays, and the file that it leads to is replaced. A
// process that is killed while it commits leaves a hidden file, .tidemark-*.tmp,
// in the folder.
//
// [Write] needs workers in the process that submits the pipeline: those of
// Prism, and of other runners with --environment_type=LOOPBACK. [WriteTo] with
// a place does not, but its files have to be within reach of all workers, under the
// same path. Several processes can append to one file where files can be locked, as
// on Unix; elsewhere one may.
//
// A runner that repeats a bundle after a failure repeats its lines; Prism fails the
// pipeline instead. An Appender has them twice then.
package sink
