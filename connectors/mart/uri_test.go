package mart

import "testing"

func TestParsePath(t *testing.T) {
	for _, c := range []struct {
		uri, path string
		ok        bool
	}{
		{"sqlite:mart.db", "mart.db", true},
		{"sqlite:./a b/mart?x=1#y", "./a b/mart?x=1#y", true},
		{"sqlite:/abs/mart.db", "/abs/mart.db", true},
		{"sqlite:///abs/mart.db", "/abs/mart.db", true},
		{"sqlite::memory:", ":memory:", true}, // a file of that name
		{"sqlite:", "", false},
		{"sqlite://", "", false},
		{"sqlite:///", "", false},
		{"sqlite://host/mart.db", "", false},
		{"SQLITE:mart.db", "", false},
		{"mart.db", "", false},
		{"postgres://host/db", "", false},
		{"-", "", false},
		{"", "", false},
	} {
		path, ok := ParsePath(c.uri)
		if !ok {
			path = "" // not to be used
		}
		if path != c.path || ok != c.ok {
			t.Errorf("ParsePath(%q) = %q, %t, want %q, %t", c.uri, path, ok, c.path, c.ok)
		}
	}
}
