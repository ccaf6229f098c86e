// Package pipelines wires sources, transforms and sinks into the pipelines that
// the command line runs. The functions only build: the same pipeline runs in a
// test, locally and on a cluster.
package pipelines
