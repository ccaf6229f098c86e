// Package flink has no code: it is the Flink cluster of README.md, and the tests
// that run the command on it. They need Java, and some minutes:
//
//	go test -tags flink -count=1 -timeout 40m ./deploy/flink
package flink
