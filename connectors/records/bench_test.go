package records

import (
	"bytes"
	"testing"
)

var orderFields = Fields{
	Key: []string{"company_id"}, Time: "created_at", TimeUnit: "ms",
	Amount: "amount_cents", Currency: "currency",
}

// benchRecords are the good records of the benchmark and of the allocation
// test.
var benchRecords = []struct {
	name   string
	fields Fields
	raw    []byte
}{
	{
		name:   "order",
		fields: orderFields,
		raw: []byte(`{"order_id":"o-1029384756","company_id":"c-4711","amount_cents":129900,` +
			`"currency":"EUR","created_at":1559347200123}`),
	},
	{
		name:   "reading",
		fields: readingFields,
		raw:    []byte(`{"sensor":"s-4711","value":21.375,"unit":"C","time":1559347200123}`),
	},
	{
		name:   "rfc3339",
		fields: orderFields,
		raw: []byte(`{"order_id":"o-1029384756","company_id":"c-4711","amount_cents":"129900",` +
			`"currency":"EUR","created_at":"2019-06-01T00:00:00.123Z"}`),
	},
	{
		name: "nested",
		fields: Fields{
			Key: []string{"e.company", "e.shop.0"}, Time: "e.at.ms", TimeUnit: "ms",
			Amount: "e.amount", AmountScale: 2,
		},
		raw: []byte(`{"id":17,"e":{"company":"c-4711","shop":["a","b"],"amount":1299.00,` +
			`"at":{"zone":"UTC","ms":1559347200123}},"type":"order"}`),
	},
	{
		name:   "escaped",
		fields: orderFields,
		raw: []byte(`{"order_id":"o-1029384756","company_id":"S\u00e3o Paulo","amount_cents":129900,` +
			`"currency":"EUR","created_at":1559347200123}`),
	},
	{
		name:   "large",
		fields: orderFields,
		raw: append(append([]byte(`{"payload":"`), bytes.Repeat([]byte("0123456789abcdef"), 256)...),
			`","company_id":"c-4711","amount_cents":129900,"currency":"EUR","created_at":1559347200123}`...),
	},
}

func BenchmarkDecode(b *testing.B) {
	for _, bc := range benchRecords {
		b.Run("record="+bc.name, func(b *testing.B) {
			d, err := NewDecoder(bc.fields)
			if err != nil {
				b.Fatal(err)
			}
			var v Values
			b.ReportAllocs()
			b.SetBytes(int64(len(bc.raw)))
			for b.Loop() {
				if err := d.Decode(bc.raw, &v); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkAppendTime(b *testing.B) {
	b.ReportAllocs()
	var buf []byte
	for b.Loop() {
		buf = AppendTime(buf[:0], 1559347200123)
	}
}
