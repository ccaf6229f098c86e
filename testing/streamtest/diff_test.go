package streamtest_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp/cmpopts"

	"tidemark/testing/streamtest"
)

func TestDiff(t *testing.T) {
	type row struct {
		Key  string
		Was  *int
		Note string
	}
	one, uno, two := 1, 1, 2
	for _, c := range []struct {
		name      string
		want, got []row
		differ    bool
	}{
		{"both empty", nil, []row{}, false},
		{"any order", []row{{Key: "a"}, {Key: "b"}}, []row{{Key: "b"}, {Key: "a"}}, false},
		{"pointers are followed", []row{{Was: &one}}, []row{{Was: &uno}}, false},
		{"and seen", []row{{Was: &one}}, []row{{Was: &two}}, true},
		{"nil is not zero", []row{{Was: nil}}, []row{{Was: new(int)}}, true},
		{"twins count", []row{{Key: "a"}, {Key: "a"}}, []row{{Key: "a"}}, true},
		{"one too many", []row{{Key: "a"}}, []row{{Key: "a"}, {Key: "a"}}, true},
		{"options hold", []row{{Key: "a", Note: "1"}, {Key: "b", Note: "2"}}, []row{{Key: "b", Note: "0"}, {Key: "a", Note: "9"}}, false},
		{"no JSON for these keys", []row{{Key: "\xff"}}, []row{{Key: "\xfe"}}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			diff := streamtest.Diff(c.want, c.got, cmpopts.IgnoreFields(row{}, "Note"))
			if (diff != "") != c.differ {
				t.Errorf("differ = %v, want %v: %s", diff != "", c.differ, diff)
			}
			if c.differ && !strings.HasPrefix(diff, "mismatch (-want +got)") {
				t.Errorf("unexpected form: %s", diff)
			}
		})
	}
}

func TestDiffLeavesItsInputAlone(t *testing.T) {
	want, got := []int{3, 1, 2}, []int{2, 3, 1}
	if diff := streamtest.Diff(want, got); diff != "" || want[0] != 3 || got[0] != 2 {
		t.Errorf("%s: %v %v", diff, want, got)
	}
}
