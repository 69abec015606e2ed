-- object: every kv row with the object to print for it. A tombstone has no value of its own:
-- it shows what it deleted, as a watch's DELETED event does.
--
-- view: object
--
-- The join looks at the replaced row only for a tombstone: iif() makes its key NULL otherwise.

CREATE VIEW object AS
SELECT kv.id, coalesce(kv.value, prev.value) AS value
FROM kv LEFT JOIN kv AS prev ON prev.id = iif(kv.version = 0, kv.prev_id, NULL);
