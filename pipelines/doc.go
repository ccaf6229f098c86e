// Package pipelines wires sources, transforms and sinks into the pipelines that
// the command line runs. The functions only build: the same pipeline runs in a
// test, locally and on a cluster.
//
// On a cluster an [Outlet] needs a Place unless workers are in the process that
// submits, files a path that leads workers to them, and a stream a Pause of whole
// seconds. Timelines are for the embedded runner. What pipelines may be made of is
// checked by internal/portability.
package pipelines
