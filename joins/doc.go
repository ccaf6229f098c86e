// Package joins joins two streams by key and distance in time.
package joins
