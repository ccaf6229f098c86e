-- A mart as the third version of the schema made it, with GMV, averages and a left semi join.

CREATE TABLE runs (
  run INTEGER PRIMARY KEY AUTOINCREMENT,
  job TEXT NOT NULL,
  command TEXT NOT NULL,
  status TEXT NOT NULL,
  replaced INTEGER NOT NULL DEFAULT 0,
  wrote_rows INTEGER NOT NULL DEFAULT 0,
  wrote_late INTEGER NOT NULL DEFAULT 0,
  wrote_bad INTEGER NOT NULL DEFAULT 0,
  wrote_counts INTEGER NOT NULL DEFAULT 0,
  started_ms INTEGER NOT NULL,
  ended_ms INTEGER,
  read INTEGER,
  bad INTEGER,
  assigned INTEGER,
  added INTEGER,
  corrected INTEGER,
  late INTEGER,
  overflowed INTEGER,
  work TEXT NOT NULL DEFAULT 'gmv',
  sessions INTEGER NOT NULL DEFAULT 0
, join_type TEXT, over_limit INTEGER, left_assigned INTEGER, left_joined INTEGER, left_unmatched INTEGER, left_late INTEGER, left_over_limit INTEGER, left_open INTEGER, right_assigned INTEGER, right_joined INTEGER, right_unmatched INTEGER, right_late INTEGER, right_over_limit INTEGER, right_open INTEGER) STRICT;
CREATE TABLE gmv (
  job TEXT NOT NULL,
  window_end_ms INTEGER NOT NULL,
  window_start_ms INTEGER NOT NULL,
  key TEXT NOT NULL,
  currency TEXT NOT NULL,
  run INTEGER NOT NULL,
  revision INTEGER NOT NULL,
  pane TEXT NOT NULL,
  sum INTEGER NOT NULL,
  previous_sum INTEGER,
  count INTEGER NOT NULL,
  previous_count INTEGER,
  max_event_time_ms INTEGER,
  PRIMARY KEY (job, window_end_ms, window_start_ms, key, currency)
) STRICT, WITHOUT ROWID;
CREATE TABLE averages (
  job TEXT NOT NULL,
  window_end_ms INTEGER NOT NULL,
  window_start_ms INTEGER NOT NULL,
  key TEXT NOT NULL,
  run INTEGER NOT NULL,
  revision INTEGER NOT NULL,
  pane TEXT NOT NULL,
  average REAL,
  previous_average REAL,
  sum REAL,
  count INTEGER NOT NULL,
  previous_count INTEGER,
  max_event_time_ms INTEGER,
  PRIMARY KEY (job, window_end_ms, window_start_ms, key)
) STRICT, WITHOUT ROWID;
CREATE TABLE window_counts (
  job TEXT NOT NULL,
  window_end_ms INTEGER NOT NULL,
  window_start_ms INTEGER NOT NULL,
  currency TEXT NOT NULL,
  run INTEGER NOT NULL,
  assigned INTEGER NOT NULL,
  added INTEGER NOT NULL,
  corrected INTEGER NOT NULL,
  late INTEGER NOT NULL,
  assigned_sum ANY,
  added_sum ANY,
  corrected_sum ANY,
  late_sum ANY,
  PRIMARY KEY (job, window_end_ms, window_start_ms, currency)
) STRICT, WITHOUT ROWID;
CREATE TABLE late (
  job TEXT NOT NULL,
  source TEXT NOT NULL,
  position INTEGER NOT NULL,
  run INTEGER NOT NULL,
  time_ms INTEGER NOT NULL,
  event TEXT NOT NULL,
  missed TEXT NOT NULL,
  missed_all INTEGER NOT NULL,
  PRIMARY KEY (job, source, position)
) STRICT, WITHOUT ROWID;
CREATE TABLE overflows (
  job TEXT NOT NULL,
  window_end_ms INTEGER NOT NULL,
  window_start_ms INTEGER NOT NULL,
  key TEXT NOT NULL,
  currency TEXT NOT NULL,
  run INTEGER NOT NULL,
  pane TEXT NOT NULL,
  total TEXT NOT NULL,
  count INTEGER NOT NULL,
  reason TEXT NOT NULL,
  PRIMARY KEY (job, window_end_ms, window_start_ms, key, currency)
) STRICT, WITHOUT ROWID;
CREATE TABLE joined (
  job TEXT NOT NULL,
  time_ms INTEGER NOT NULL,
  key TEXT NOT NULL,
  left_source TEXT NOT NULL,
  left_position INTEGER NOT NULL,
  right_source TEXT NOT NULL,
  right_position INTEGER NOT NULL,
  run INTEGER NOT NULL,
  left_event TEXT,
  right_event TEXT,
  PRIMARY KEY (job, time_ms, key, left_source, left_position, right_source, right_position)
) STRICT, WITHOUT ROWID;
CREATE TABLE join_late (
  job TEXT NOT NULL,
  source TEXT NOT NULL,
  position INTEGER NOT NULL,
  side TEXT NOT NULL,
  run INTEGER NOT NULL,
  time_ms INTEGER NOT NULL,
  key TEXT NOT NULL,
  event TEXT NOT NULL,
  PRIMARY KEY (job, source, position, side)
) STRICT, WITHOUT ROWID;
CREATE TABLE bad (
  job TEXT NOT NULL,
  source TEXT NOT NULL,
  position INTEGER NOT NULL,
  side TEXT NOT NULL,
  run INTEGER NOT NULL,
  raw TEXT NOT NULL,
  raw_bytes BLOB,
  reason TEXT NOT NULL,
  PRIMARY KEY (job, source, position, side)
) STRICT, WITHOUT ROWID;
CREATE VIEW gmv_all_jobs AS
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
FROM parts;
CREATE VIEW gmv_readable AS
SELECT job, key, currency, strftime('%Y-%m-%dT%H:%M:%S', (window_start_ms - (window_start_ms % 1000 + 1000) % 1000) / 1000, 'unixepoch') ||
    CASE (window_start_ms % 1000 + 1000) % 1000 WHEN 0 THEN 'Z' ELSE printf('.%03dZ', (window_start_ms % 1000 + 1000) % 1000) END AS window_start, strftime('%Y-%m-%dT%H:%M:%S', (window_end_ms - (window_end_ms % 1000 + 1000) % 1000) / 1000, 'unixepoch') ||
    CASE (window_end_ms % 1000 + 1000) % 1000 WHEN 0 THEN 'Z' ELSE printf('.%03dZ', (window_end_ms % 1000 + 1000) % 1000) END AS window_end,
  pane, revision, sum, previous_sum, count, previous_count, strftime('%Y-%m-%dT%H:%M:%S', (max_event_time_ms - (max_event_time_ms % 1000 + 1000) % 1000) / 1000, 'unixepoch') ||
    CASE (max_event_time_ms % 1000 + 1000) % 1000 WHEN 0 THEN 'Z' ELSE printf('.%03dZ', (max_event_time_ms % 1000 + 1000) % 1000) END AS max_event_time, run
FROM gmv;
CREATE VIEW averages_all_jobs AS
WITH weighed AS (
  SELECT key, window_start_ms, window_end_ms, average, count,
    CAST(count AS REAL) / sum(count) OVER (PARTITION BY window_end_ms, window_start_ms, key) AS weight
  FROM averages WHERE count > 0
)
SELECT key, window_start_ms, window_end_ms, sum(average * weight) AS average, sum(count) AS count, count(*) AS jobs
FROM weighed GROUP BY window_end_ms, window_start_ms, key;
CREATE VIEW averages_readable AS
SELECT job, key, strftime('%Y-%m-%dT%H:%M:%S', (window_start_ms - (window_start_ms % 1000 + 1000) % 1000) / 1000, 'unixepoch') ||
    CASE (window_start_ms % 1000 + 1000) % 1000 WHEN 0 THEN 'Z' ELSE printf('.%03dZ', (window_start_ms % 1000 + 1000) % 1000) END AS window_start, strftime('%Y-%m-%dT%H:%M:%S', (window_end_ms - (window_end_ms % 1000 + 1000) % 1000) / 1000, 'unixepoch') ||
    CASE (window_end_ms % 1000 + 1000) % 1000 WHEN 0 THEN 'Z' ELSE printf('.%03dZ', (window_end_ms % 1000 + 1000) % 1000) END AS window_end,
  pane, revision, average, previous_average, sum, count, previous_count, strftime('%Y-%m-%dT%H:%M:%S', (max_event_time_ms - (max_event_time_ms % 1000 + 1000) % 1000) / 1000, 'unixepoch') ||
    CASE (max_event_time_ms % 1000 + 1000) % 1000 WHEN 0 THEN 'Z' ELSE printf('.%03dZ', (max_event_time_ms % 1000 + 1000) % 1000) END AS max_event_time, run
FROM averages;
CREATE VIEW window_counts_readable AS
SELECT job, strftime('%Y-%m-%dT%H:%M:%S', (window_start_ms - (window_start_ms % 1000 + 1000) % 1000) / 1000, 'unixepoch') ||
    CASE (window_start_ms % 1000 + 1000) % 1000 WHEN 0 THEN 'Z' ELSE printf('.%03dZ', (window_start_ms % 1000 + 1000) % 1000) END AS window_start, strftime('%Y-%m-%dT%H:%M:%S', (window_end_ms - (window_end_ms % 1000 + 1000) % 1000) / 1000, 'unixepoch') ||
    CASE (window_end_ms % 1000 + 1000) % 1000 WHEN 0 THEN 'Z' ELSE printf('.%03dZ', (window_end_ms % 1000 + 1000) % 1000) END AS window_end, currency,
  assigned, added, corrected, late, assigned_sum, added_sum, corrected_sum, late_sum, run
FROM window_counts;
CREATE VIEW late_windows AS
SELECT job, source, position, time_ms,
  missed.value ->> 'window_start_ms' AS window_start_ms, missed.value ->> 'window_end_ms' AS window_end_ms,
  missed_all, event, run
FROM late, json_each(late.missed) AS missed;
CREATE VIEW joined_readable AS
SELECT job, strftime('%Y-%m-%dT%H:%M:%S', (time_ms - (time_ms % 1000 + 1000) % 1000) / 1000, 'unixepoch') ||
    CASE (time_ms % 1000 + 1000) % 1000 WHEN 0 THEN 'Z' ELSE printf('.%03dZ', (time_ms % 1000 + 1000) % 1000) END AS time, key, left_event, right_event,
  iif(left_event IS NULL, NULL, left_source) AS left_source, iif(left_event IS NULL, NULL, left_position) AS left_position,
  iif(right_event IS NULL, NULL, right_source) AS right_source, iif(right_event IS NULL, NULL, right_position) AS right_position, run
FROM joined;
CREATE VIEW join_late_readable AS
SELECT job, side, strftime('%Y-%m-%dT%H:%M:%S', (time_ms - (time_ms % 1000 + 1000) % 1000) / 1000, 'unixepoch') ||
    CASE (time_ms % 1000 + 1000) % 1000 WHEN 0 THEN 'Z' ELSE printf('.%03dZ', (time_ms % 1000 + 1000) % 1000) END AS time, key, event, source, position, run
FROM join_late;

INSERT INTO runs VALUES (1, 'orders', 'gmv', 'done', 1, 1, 1, 1, 1, 1700000000000, 1700000000000, 5, 2, 3, 2, 1, 1, 0, 'gmv', 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
INSERT INTO runs VALUES (2, 'readings', 'average', 'done', 1, 1, 0, 0, 1, 1700000000000, 1700000000000, 2, 0, 2, 2, 0, 0, 0, 'average', 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
INSERT INTO runs VALUES (3, 'orders', 'gmv', 'running', 0, 0, 0, 0, 0, 1700000000000, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 'gmv', 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
INSERT INTO runs VALUES (4, 'rides', 'join --left l.ndjson --right r.ndjson --lower 0s --upper 10m --type left_semi --key_field key --time_field time --output sqlite:m.db --job rides', 'done', 1, 1, 1, 1, 0, 1700000000000, 1700000000000, 3, 0, 3, 3, 0, 0, 0, 'join', 0, 'left_semi', 0, 2, 1, 1, 0, 0, 0, 1, 1, 0, 0, 0, 0);
INSERT INTO gmv VALUES ('orders', 1717232400000, 1717228800000, 'a', 'EUR', 1, 0, 'ON_TIME', 9223372036854775807, NULL, 1, NULL, 1717232399999);
INSERT INTO gmv VALUES ('orders', 1717232400000, 1717228800000, 'b', 'EUR', 1, 1, 'LATE', 16, 6, 1, 0, 1717232399999);
INSERT INTO averages VALUES ('readings', 1717232400000, 1717228800000, 'a', 2, 0, 'EARLY', 0.1, NULL, 0.1, 2, NULL, 1717228800000);
INSERT INTO window_counts VALUES ('orders', 1717232400000, 1717228800000, 'EUR', 1, 3, 2, 1, 1, '9223372036854775833', '9223372036854775823', 10, 10);
INSERT INTO window_counts VALUES ('readings', 1717232400000, 1717228800000, '', 2, 2, 2, 0, 0, NULL, NULL, NULL, NULL);
INSERT INTO late VALUES ('orders', 'in', 3, 1, 1717230600000, '{"key":"a"}', '[{"window_start_ms":1717228800000,"window_end_ms":1717232400000}]', 1);
INSERT INTO joined VALUES ('rides', 1717229100000, 'a', 'l.ndjson', 1, '', -1, 4, '{"key":"a","time":"2024-06-01T08:00:00Z"}', NULL);
INSERT INTO bad VALUES ('orders', 'in', 4, '', 1, '{', NULL, 'cut off');
INSERT INTO bad VALUES ('orders', 'in', 5, '', 1, 'a', X'61FF', 'why');

PRAGMA application_id = 1416193125;
PRAGMA user_version = 3;
