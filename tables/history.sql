-- history: every change, who asked for it and why; the rows that compaction kept.
--
-- view: history
--
-- One row is one row of kv. cause_revision and cause_object are the change that a controller was
-- reacting to, NULL when a person asked. Try: SELECT * FROM history WHERE object = 'pods/default/web-1';
-- with key = '/registry/pods/default/web-1' it is an index look-up.

CREATE VIEW history AS
SELECT
  kv.mod_revision AS revision,
  {{time r.at}} AS at,
  r.user,
  r.agent,
  r.verb,
  {{named kv.key}} AS object,
  CASE kv.version WHEN 0 THEN 'deleted' WHEN 1 THEN 'created' ELSE 'updated' END AS change,
  nullif(r.cause_revision, 0) AS cause_revision,
  {{named {{causekey r}}}} AS cause_object,
  r.path,
  kv.key,
  kv.id
FROM kv LEFT JOIN request AS r ON r.id = kv.request_id;
