-- object: every kv row with the object to print for it, and what all kinds have in common. A tombstone
-- has no value of its own: it shows what it deleted, as a watch's DELETED event does.
--
-- view: object
--
-- The join looks at the replaced row only for a tombstone: iif() makes its key NULL otherwise.

CREATE VIEW object AS
SELECT
  kv.id,
  coalesce(kv.value, prev.value) ->> '$.metadata.namespace' AS namespace,
  coalesce(kv.value, prev.value) ->> '$.metadata.name' AS name,
  coalesce(kv.value, prev.value) ->> '$.metadata.creationTimestamp' AS created,
  {{since coalesce(kv.value, prev.value) ->> '$.metadata.creationTimestamp'}} AS age,
  coalesce(kv.value, prev.value) AS value
FROM kv LEFT JOIN kv AS prev ON prev.id = iif(kv.version = 0, kv.prev_id, NULL);
