package mart

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tidemark/connectors/records"
)

// balances lists the balances of a job, and the faults that they have.
func balances(t *testing.T, m *Mart, job string) (out, faults []string) {
	t.Helper()
	ok(t, m.Balances(job, func(b *Balance) error {
		window, currency, bad := "all", "-", ""
		if b.Window != nil {
			window = records.FormatTime(b.Window.StartMs)[11:13]
		}
		if b.Currency != nil {
			currency = fmt.Sprintf("%q", *b.Currency)
		}
		if b.OfJob {
			bad = " bad ?"
			if b.Bad != nil {
				bad = fmt.Sprintf(" bad %d", *b.Bad)
			}
		}
		out = append(out, fmt.Sprintf("%s %s %s %d=%d(%d)+%d %v=%v(%v)+%v%s", b.Job, window, currency, b.Assigned, b.Added, b.Corrected, b.Late,
			b.AssignedSum, b.AddedSum, b.CorrectedSum, b.LateSum, bad))
		if err := b.Check(); err != nil {
			faults = append(faults, err.Error())
		}
		return nil
	}))
	return out, faults
}

func TestBalances(t *testing.T) {
	m := newMart(t)
	ok(t, begin(t, m, "plain").Replace(map[Kind]Lines{Counts: of(countsLine("", 9, 1, 0, 0), countsLine("", 8, 2, 1, 1))}, Summary{Bad: 3, Assigned: 4, Added: 3, Late: 1}))
	ok(t, begin(t, m, "money").Replace(map[Kind]Lines{
		Counts: of(countsLine("USD", 8, 1, 0, 1), countsLine("EUR", 9, 3, 0, 0), countsLine("EUR", 8, 1, 1, 0)),
	}, Summary{Assigned: 6, Added: 5, Late: 1}))
	begin(t, m, "empty")
	plain := []string{
		"plain 08 - 3=2(1)+1 30=20(10)+10",
		"plain 09 - 1=1(0)+0 10=10(0)+0",
		"plain all - 4=3(1)+1 40=30(10)+10 bad 3",
	}
	money := []string{
		`money 08 "EUR" 1=1(1)+0 10=10(10)+0`,
		`money 08 "USD" 2=1(0)+1 20=10(0)+10`,
		`money 09 "EUR" 3=3(0)+0 30=30(0)+0`,
		`money all "EUR" 4=4(1)+0 40=40(10)+0`,
		`money all "USD" 2=1(0)+1 20=10(0)+10`,
		"money all - 6=5(1)+1 <nil>=<nil>(<nil>)+<nil> bad 0",
	}
	for job, want := range map[string][]string{
		"plain": plain, "money": money, "empty": {"empty all - 0=0(0)+0 0=0(0)+0 bad ?"},
		"": slices.Concat([]string{"empty all - 0=0(0)+0 0=0(0)+0 bad ?"}, money, plain),
	} {
		got, faults := balances(t, m, job)
		same(t, "balances of "+job, want, got)
		same(t, "faults of "+job, nil, faults)
	}
	if err := m.Balances("nobody", nil); !errors.Is(err, ErrNoJob) {
		t.Errorf("error %v, want ErrNoJob", err)
	}
	stop := errors.New("enough")
	if err := m.Balances("", func(*Balance) error { return stop }); !errors.Is(err, stop) {
		t.Errorf("error %v, want %v", err, stop)
	}
	begin(t, m, "free again")
}

// TestBad says how many records were bad in the newest run that has put its
// counts there.
func TestBad(t *testing.T) {
	m := newMart(t)
	bad := func() string {
		t.Helper()
		got, _ := balances(t, m, "job")
		_, n, _ := strings.Cut(got[len(got)-1], "bad ")
		return n
	}
	ok(t, begin(t, m, "job").Replace(map[Kind]Lines{Counts: of(countsLine("", 8, 1, 0, 0))}, Summary{Bad: 1}))
	failed := begin(t, m, "job")
	ok(t, failed.Finish(Failed, Summary{Bad: 2}))
	begin(t, m, "job")
	if got := bad(); got != "1" {
		t.Errorf("%s, want 1: runs that failed or crashed have written nothing", got)
	}
	live := begin(t, m, "job")
	ok(t, live.Insert(Counts, of(countsLine("", 9, 1, 0, 0))))
	if got := bad(); got != "?" {
		t.Errorf("%s, want that it is not known before the end", got)
	}
	ok(t, live.Finish(Failed, Summary{Bad: 3}))
	if got := bad(); got != "3" {
		t.Errorf("%s, want 3: this run has put counts there", got)
	}
	ok(t, begin(t, m, "job").Replace(map[Kind]Lines{Counts: of(countsLine("", 9, 1, 0, 0))}, Summary{Bad: 4}))
	if got := bad(); got != "4" {
		t.Errorf("%s, want 4: the newest run has kept the rows of the one before", got)
	}
}

func TestBalanceCheck(t *testing.T) {
	m := newMart(t)
	swap := func(line, old, new string) string { return strings.Replace(line, old, new, 1) }
	ok(t, begin(t, m, "job").Replace(map[Kind]Lines{Counts: of(
		swap(countsLine("EUR", 8, 2, 0, 1), `"assigned":3`, `"assigned":4`),
		swap(countsLine("EUR", 9, 2, 0, 1), `"late_sum":"10"`, `"late_sum":"11"`),
		countsLine("USD", 9, 2, 0, 1),
	)}, Summary{}))
	_, faults := balances(t, m, "job")
	want := []string{
		`job "job", window 2024-06-01T08:00:00Z to 2024-06-01T09:00:00Z, currency "EUR": assigned=4 is not added=2 + late=1`,
		`job "job", window 2024-06-01T09:00:00Z to 2024-06-01T10:00:00Z, currency "EUR": assigned_sum=30 is not added_sum=20 + late_sum=11`,
		`job "job", all windows, currency "EUR": assigned=7 is not added=4 + late=2`,
		`job "job", all windows: assigned=10 is not added=6 + late=3`,
	}
	if diff := cmp.Diff(want, faults); diff != "" {
		t.Errorf("mismatch (-want +got):\n%s", diff)
	}
}
