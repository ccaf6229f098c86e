package mart

import "fmt"

// readable is the view of a table of rows with times as text; values are the
// columns between the revision and the count.
func readable(t *table, identity, values string) string {
	return `CREATE VIEW ` + t.name + `_readable AS
SELECT job, ` + identity + `, ` + rfc3339("window_start") + `, ` + rfc3339("window_end") + `,
  pane, revision, ` + values + `, count, previous_count, ` + rfc3339("max_event_time") + `, run
FROM ` + t.name
}

// createViews makes the views. In gmv_all_jobs sums can need more than 64 bits:
// they are added up in thousand millions (hi) and the rest (lo), which in the end
// is less than one of them and has the sign of hi. In averages_all_jobs each job
// has the weight of its elements, so that nothing can be outside float64 on the
// way.
func createViews() []string {
	return []string{
		`CREATE VIEW gmv_all_jobs AS
WITH added AS (
  SELECT key, currency, window_start_ms, window_end_ms,
    sum(sum / 1000000000) AS hi, sum(sum % 1000000000) AS lo, sum(count) AS count, count(*) AS jobs
  FROM gmv WHERE count > 0 GROUP BY window_end_ms, window_start_ms, key, currency
), carried AS (
  SELECT key, currency, window_start_ms, window_end_ms, hi + lo / 1000000000 AS hi, lo % 1000000000 AS lo, count, jobs FROM added
), signed AS (
  SELECT *, CASE WHEN hi > 0 AND lo < 0 THEN -1 WHEN hi < 0 AND lo > 0 THEN 1 ELSE 0 END AS borrow FROM carried
), parts AS (
  SELECT key, currency, window_start_ms, window_end_ms, hi + borrow AS hi, lo - borrow * 1000000000 AS lo, count, jobs FROM signed
)
SELECT key, currency, window_start_ms, window_end_ms,
  CASE WHEN (hi, lo) BETWEEN (-9223372036, -854775808) AND (9223372036, 854775807) THEN hi * 1000000000 + lo
    ELSE printf('%d%09d', hi, abs(lo)) END AS sum,
  count, jobs
FROM parts`,

		readable(gmvTable, "key, currency", "sum, previous_sum"),

		`CREATE VIEW averages_all_jobs AS
WITH weighed AS (
  SELECT key, window_start_ms, window_end_ms, average, count,
    CAST(count AS REAL) / sum(count) OVER (PARTITION BY window_end_ms, window_start_ms, key) AS weight
  FROM averages WHERE count > 0
)
SELECT key, window_start_ms, window_end_ms, sum(average * weight) AS average, sum(count) AS count, count(*) AS jobs
FROM weighed GROUP BY window_end_ms, window_start_ms, key`,

		readable(averagesTable, "key", "average, previous_average, sum"),

		`CREATE VIEW window_counts_readable AS
SELECT job, ` + rfc3339("window_start") + `, ` + rfc3339("window_end") + `, currency,
  assigned, added, corrected, late, assigned_sum, added_sum, corrected_sum, late_sum, run
FROM window_counts`,

		`CREATE VIEW late_windows AS
SELECT job, source, position, time_ms,
  missed.value ->> 'window_start_ms' AS window_start_ms, missed.value ->> 'window_end_ms' AS window_end_ms,
  missed_all, event, run
FROM late, json_each(late.missed) AS missed`,

		`CREATE VIEW joined_readable AS
SELECT job, ` + rfc3339("time") + `, key, left_event, right_event,
  iif(left_event IS NULL, NULL, left_source) AS left_source, iif(left_event IS NULL, NULL, left_position) AS left_position,
  iif(right_event IS NULL, NULL, right_source) AS right_source, iif(right_event IS NULL, NULL, right_position) AS right_position, run
FROM joined`,

		`CREATE VIEW join_late_readable AS
SELECT job, side, ` + rfc3339("time") + `, key, event, source, position, run
FROM join_late`,
	}
}

// rfc3339 is the column name_ms as text, named name. It looks as in the lines:
// milliseconds only where they are not zero.
func rfc3339(name string) string {
	ms := name + "_ms"
	rest := "(" + ms + " % 1000 + 1000) % 1000" // % rounds towards zero
	return fmt.Sprintf(`strftime('%%Y-%%m-%%dT%%H:%%M:%%S', (%[1]s - %[2]s) / 1000, 'unixepoch') ||
    CASE %[2]s WHEN 0 THEN 'Z' ELSE printf('.%%03dZ', %[2]s) END AS %[3]s`, ms, rest, name)
}
