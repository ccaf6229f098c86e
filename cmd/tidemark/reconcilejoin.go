package main

import "tidemark/connectors/mart"

// joinBalance is the row of a job of joins in the output of reconcile. All counts
// are null where they are not known: the run has not ended.
type joinBalance struct {
	Job            string `json:"job"`
	Assigned       *int64 `json:"assigned"`
	Added          *int64 `json:"added"`
	Late           *int64 `json:"late"`
	OverLimit      *int64 `json:"over_limit"`
	LeftAssigned   *int64 `json:"left_assigned"`
	LeftJoined     *int64 `json:"left_joined"`
	LeftUnmatched  *int64 `json:"left_unmatched"`
	LeftLate       *int64 `json:"left_late"`
	LeftOverLimit  *int64 `json:"left_over_limit"`
	LeftOpen       *int64 `json:"left_open"`
	RightAssigned  *int64 `json:"right_assigned"`
	RightJoined    *int64 `json:"right_joined"`
	RightUnmatched *int64 `json:"right_unmatched"`
	RightLate      *int64 `json:"right_late"`
	RightOverLimit *int64 `json:"right_over_limit"`
	RightOpen      *int64 `json:"right_open"`
	Bad            *int64 `json:"bad"`
}

func joinBalanceOf(b *mart.Balance) joinBalance {
	if !b.Join.Ended {
		return joinBalance{Job: b.Job}
	}
	l, r := &b.Join.Left, &b.Join.Right
	return joinBalance{
		b.Job, &b.Assigned, &b.Added, &b.Late, &b.Join.OverLimit,
		&l.Assigned, &l.Joined, &l.Unmatched, &l.Late, &l.OverLimit, &l.Open,
		&r.Assigned, &r.Joined, &r.Unmatched, &r.Late, &r.OverLimit, &r.Open,
		b.Bad,
	}
}
