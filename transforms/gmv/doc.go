// Package gmv sums money per key, currency and window: gross merchandise value
// per company and hour, say.
//
// Amounts are int64 minor units (cents). Sums are exact: they are kept in 128
// bits, so that neither order nor size matters while they add up, and negative
// amounts (refunds) are as good as any. A sum that is outside int64 when its row
// is due is not emitted but reported as an [Overflow]; its elements stay in it,
// and the job goes on. Amounts of different currencies are never added: each
// currency of a key has rows and revisions of its own.
//
// [PerKeyWithCounts] says besides what became of the elements of each window and
// currency, in numbers and in money: assigned = added + late.
//
// What a pane contains, who decides what is late and what happens to it, how long
// state lives and when rows are emitted is as in package aggregate, with the counts and the
// latest element timestamp beside the sum. An element is what entryOf makes of
// it; keep elements that have no key or amount out beforehand.
package gmv
