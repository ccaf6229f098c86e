package remember

import "testing"

func TestTakeForgets(t *testing.T) {
	c := Cells[string]{Most: 100}
	v := NewVersion()
	c.Put(v, "a", 10)
	if !c.Has(v) {
		t.Fatal("what was put is not there")
	}
	if got, ok := c.Take(v); !ok || got != "a" {
		t.Fatalf("Take = %q, %v; want a", got, ok)
	}
	if _, ok := c.Take(v); ok || c.Has(v) {
		t.Fatal("what was taken is still there")
	}
}

func TestOldestGoFirst(t *testing.T) {
	c := Cells[int]{Most: 100}
	for i := range 10 {
		c.Put(int64(i+1), i, 30)
	}
	for i := range 10 {
		if want := i >= 7; c.Has(int64(i+1)) != want {
			t.Errorf("value %d of 10 is there: %v, want %v: three have room", i+1, !want, want)
		}
	}
}

// The values in use are held whatever their size.
func TestRecentStay(t *testing.T) {
	c := Cells[int]{Most: 100, Recent: 4}
	for i := range 10 {
		c.Put(int64(i+1), i, 1000)
	}
	for i := range 10 {
		if want := i >= 6; c.Has(int64(i+1)) != want {
			t.Errorf("value %d of 10 is there: %v, want %v", i+1, !want, want)
		}
	}
}

// Values that are taken and put back again and again leave no trace.
func TestUseLeavesNothing(t *testing.T) {
	c := Cells[int]{Most: 1 << 20}
	for i := range 10000 {
		c.Put(int64(i), i, 1)
		if i > 2 {
			c.Take(int64(i - 2))
		}
	}
	if len(c.order) > 100 || len(c.found) > 3 || c.size > 3 {
		t.Errorf("%d in order, %d found, %d bytes; want a few", len(c.order), len(c.found), c.size)
	}
}

// What is held is bounded through any number of values, and a value that is too
// large for the bound is not held at all.
func TestBounded(t *testing.T) {
	c := Cells[int64]{Most: 1000}
	for v := range int64(1000) {
		c.Put(v+1, v+1, 100)
		if c.size > c.Most || len(c.found) > 10 || len(c.order) > 2*len(c.found)+16 {
			t.Fatalf("%d values of %d bytes in an order of %d", len(c.found), c.size, len(c.order))
		}
		if _, ok := c.Take(v); v%3 == 0 && v > 0 && !ok {
			t.Fatalf("the value before the last one, %d, is gone", v)
		}
	}
	for v := range int64(1001) {
		c.Take(v)
	}
	if c.size != 0 || len(c.found) != 0 {
		t.Errorf("%d bytes of %d values are left", c.size, len(c.found))
	}
	c.Put(7, 7, 5000)
	if c.Has(7) || c.size != 0 {
		t.Error("a value that is too large is held")
	}
}
