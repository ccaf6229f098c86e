// Package dataflow describes the job that Dataflow would be sent for a pipeline, and
// checks it as far as that goes without an account. It sends nothing and asks nobody.
//
// Beam's own runner for Dataflow has a dry run too, but cannot be used for this: it
// looks for credentials and at the bucket, asks gcloud for a region, panics where
// a flag is not what it expects, and writes to the log. Its translation is used, and
// a test compares what comes out with what its dry run has.
//
// # What is checked
//
// [FromFlags] checks flags by their form: whether there is such a project or bucket is
// for the service to say. [Describe] holds the pipeline to the rules of package
// portability, builds it twice to see that its steps are called the same, and reads
// the translated job again: it is a streaming job exactly if the pipeline has
// anything unbounded, and names the worker and its checksum. [FindWorker] reads the
// header of the worker binary.
//
// # Limits
//
// Steps are not part of a job as it is sent: the service makes them from the model of
// the pipeline, which the job names by its place and checksum. What it makes of it,
// and whether it takes the job, is not known here.
package dataflow
