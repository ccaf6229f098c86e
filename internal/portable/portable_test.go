package portable

import (
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
)

type shape interface{ Area() int }

type rect struct {
	W, H int
	Tags []string
}

func (r rect) Area() int { return r.W * r.H }

type square struct{ Side *rect }

func (s *square) Area() int { return s.Side.Area() }

type unknown struct{ W int }

func (u unknown) Area() int { return u.W }

// These lose something on the way, each in another manner.
type (
	secretive struct{ w int }
	nested    struct{ Inner secretive }
	behind    struct{ Inner *secretive }
	listed    struct{ Inner []secretive }
	skipped   struct {
		W int `json:"-"`
	}
	rounded struct{ W halved }
	halved  int
)

func (s secretive) Area() int { return s.w }
func (s nested) Area() int    { return s.Inner.w }
func (s behind) Area() int    { return s.Inner.w }
func (s listed) Area() int    { return s.Inner[0].w }
func (s skipped) Area() int   { return s.W }
func (s rounded) Area() int   { return int(s.W) }

func (h halved) MarshalJSON() ([]byte, error) { return json.Marshal(int(h) / 2) }

func init() {
	for _, t := range []reflect.Type{
		reflect.TypeFor[rect](), reflect.TypeFor[square](), reflect.TypeFor[secretive](), reflect.TypeFor[nested](),
		reflect.TypeFor[behind](), reflect.TypeFor[listed](), reflect.TypeFor[skipped](), reflect.TypeFor[rounded](),
		reflect.TypeFor[holder](),
	} {
		beam.RegisterType(t)
	}
}

// holder has a Value inside, as DoFns do.
type holder struct{ V Value }

func TestRoundTrip(t *testing.T) {
	for _, v := range []shape{rect{2, 3, []string{"a", "\x00"}}, &square{&rect{W: 4, H: 4}}, rect{}} {
		w, err := Of(v)
		if err != nil {
			t.Fatal(err)
		}
		doc, err := json.Marshal(holder{w})
		if err != nil {
			t.Fatal(err)
		}
		var back holder
		if err := json.Unmarshal(doc, &back); err != nil {
			t.Fatal(err)
		}
		got, err := As[shape](back.V)
		if err != nil || !reflect.DeepEqual(got, v) {
			t.Errorf("%#v came back as %#v, %v", v, got, err)
		}
		if other, err := As[fmt.Stringer](back.V); err == nil {
			t.Errorf("%#v is a Stringer: %#v", v, other)
		}
	}
}

// Get returns a value of its own each time.
func TestGetCopies(t *testing.T) {
	w, err := Of(&square{&rect{W: 4, H: 4}})
	if err != nil {
		t.Fatal(err)
	}
	a, err1 := As[*square](w)
	b, err2 := As[*square](w)
	if err1 != nil || err2 != nil {
		t.Fatal(err1, err2)
	}
	a.Side.W = 100
	if b.Area() != 16 {
		t.Error("two values share memory")
	}
}

// TestOfRefuses: what a worker could not rebuild is refused, with the reason.
func TestOfRefuses(t *testing.T) {
	for _, c := range []struct {
		name string
		v    any
		want string
	}{
		{"nil", nil, "nil, want a value"},
		{"nil pointer", (*square)(nil), "a nil *portable.square, want a value"},
		{"unregistered", unknown{1}, "type portable.unknown is not known to workers, want beam.RegisterType(reflect.TypeFor[portable.unknown]()) in an init function"},
		{"unexported field", secretive{1}, "field w of portable.secretive would be lost on the way to workers, want exported fields only"},
		{"unexported field behind a pointer", &secretive{1}, "field w of *portable.secretive would be lost on the way to workers, want exported fields only"},
		{"unexported field of a field", nested{secretive{1}}, "would be lost"},
		{"unexported field behind a field", behind{&secretive{1}}, "would be lost"},
		{"unexported field in a list", listed{[]secretive{{1}}}, "would be lost"},
		{"field that JSON skips", skipped{1}, "would be lost"},
		{"JSON that is not the value", rounded{6}, `does not survive a JSON round trip: {"W":3} became {"W":1}`},
		{"no JSON", func() {}, "cannot be shipped to workers: json: unsupported type"},
		{"NaN", math.NaN(), "cannot be shipped to workers: json: unsupported value"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w, err := Of(c.v)
			if err == nil {
				got, _ := w.Get()
				t.Fatalf("%+v is taken, and comes back as %+v; want an error with %s", c.v, got, c.want)
			}
			if !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want an error with %s", err, c.want)
			}
		})
	}
}

// An unexported field that is not set, such as a cache, is nothing to lose.
func TestUnsetFieldsMayBeUnexported(t *testing.T) {
	if _, err := Of(secretive{}); err != nil {
		t.Error(err)
	}
}

// The zero Value holds nothing, and says so; it can lie in a DoFn all the same.
func TestZeroValue(t *testing.T) {
	if v, err := (Value{}).Get(); err == nil || err.Error() != "portable: empty value" {
		t.Errorf("Get: %v, %v", v, err)
	}
	if v, err := As[shape](Value{}); err == nil {
		t.Errorf("As: %v", v)
	}
	defer func() {
		if r := recover(); r != nil {
			t.Errorf("JSON of a zero Value panics: %v", r)
		}
	}()
	doc, err := json.Marshal(holder{})
	if err != nil {
		t.Fatal(err)
	}
	var back holder
	if err := json.Unmarshal(doc, &back); err != nil || back.V.Type.T != nil || back.V.JSON != nil {
		t.Errorf("a zero Value came back as %+v, %v", back.V, err)
	}
}

func TestMalformedValue(t *testing.T) {
	w := Value{Type: beam.EncodedType{T: reflect.TypeFor[rect]()}, JSON: []byte(`{"W": "wide"}`)}
	if v, err := w.Get(); err == nil || !strings.HasPrefix(err.Error(), "portable: portable.rect: json: ") {
		t.Errorf("%v, %v", v, err)
	}
}
