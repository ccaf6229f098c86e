// Package average takes the mean of values per key and window: the mean
// temperature per sensor over the last three minutes, say.
//
// # Guarantees
//
//   - Sums are exact: 1e300, 1 and -1e300 have the mean 1/3, and nothing
//     overflows in between. The mean is the exact sum divided by the count,
//     rounded once to the nearest float64, ties to even.
//   - So a mean depends on which elements were added, never on their order, on
//     bundles or on shards, down to its last bit.
//   - A row carries the sum and the count beside the mean. The sum is rounded
//     once, too. There is no NaN, no infinity and no negative zero in a row.
//
// [PerKeyWithCounts] says besides what became of the elements of each window, in
// numbers and in what they come to: assigned = added + late.
//
// What a pane contains, who decides what is late and what happens to it, how long
// state lives and when rows are emitted is as in package aggregate. An element is what valueOf
// makes of it.
//
// # Limits
//
//   - A value that is NaN or an infinity fails the job: keep elements that have
//     no key or no finite value out beforehand.
//   - A sum can be outside float64 while the mean is not. Row.Sum is nil then,
//     the mean is right, and later elements can bring the sum back.
//   - The rounded sum and mean are for people and charts. Who wants to add up or
//     average rows of several windows gets the error of one rounding a row.
//   - An accumulator takes 21 to 29 bytes for values of one magnitude, and 289 at
//     the most.
package average
