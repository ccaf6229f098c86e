package records_test

import (
	"fmt"

	"tidemark/connectors/records"
)

func ExampleDecoder_Decode() {
	d, err := records.NewDecoder(records.Fields{
		Key:         []string{"shop.country", "shop.id"},
		Time:        "created_at",
		TimeUnit:    "s",
		Amount:      "total",
		AmountScale: 2,
		Currency:    "currency",
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	var v records.Values
	for _, raw := range []string{
		`{"shop":{"country":"DE","id":17},"created_at":1559347200,"total":"12.5","currency":"EUR"}`,
		`{"shop":{"country":"DE","id":17},"created_at":"2019-06-01T02:00:00+02:00","total":-3,"currency":"EUR"}`,
		`{"shop":{"country":"DE","id":17},"created_at":1559347200000,"total":1,"currency":"EUR"}`,
		`{"shop":{"country":"DE"},"created_at":1559347200,"total":1,"currency":"EUR"}`,
	} {
		if err := d.Decode([]byte(raw), &v); err != nil {
			fmt.Println("bad:", err)
			continue
		}
		fmt.Printf("%s %s %d %s\n", v.Key, records.FormatTime(v.TimeMs), v.Amount, v.Currency)
	}
	// Output:
	// DE|17 2019-06-01T00:00:00Z 1250 EUR
	// DE|17 2019-06-01T00:00:00Z -300 EUR
	// bad: field "created_at": 1559347200000 s is in the year 51383, outside 1900 to 2185; is the unit ms?
	// bad: field "shop.id": missing, want a string or a number
}
