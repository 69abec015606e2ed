-- resourcequotas: what kubectl get resourcequotas prints.
--
-- view: resourcequotas
-- resource: core/resourcequotas
-- keys: /registry/resourcequotas/NAMESPACE/NAME
-- columns: name | heading | type | format | priority, then the description
--   name | Name | string | name | 0
--     Name must be unique within a namespace. Is required when creating resources, although some resources may
--     allow a client to request the generation of an appropriate name automatically. Name is primarily
--     intended for creation idempotence and configuration definition. Cannot be updated. More info:
--     https://kubernetes.io/docs/concepts/overview/working-with-objects/names#names
--   request | Request | string | - | 0
--     Request represents a minimum amount of cpu/memory that a container may consume.
--   limit | Limit | string | - | 0
--     Limits control the maximum amount of cpu/memory that a container may use independent of contention on
--     the node.
--   age | Age | string | - | 0
--     CreationTimestamp is a timestamp representing the server time when this object was created. It is not
--     guaranteed to be set in happens-before order across separate operations. Clients may not set this value.
--     It is represented in RFC3339 form and is in UTC.\n\nPopulated by the system. Read-only. Null for lists.
--     More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata

CREATE VIEW resourcequotas_row AS
SELECT o.id, o.namespace, o.name,
  coalesce((SELECT group_concat(key || ': ' || used || '/' || hard, ', ') FROM (
    SELECT key, value AS hard, coalesce((SELECT value FROM json_each(o.value -> '$.status.used') AS used WHERE used.key = hard.key), '0') AS used
    FROM json_each(o.value -> '$.status.hard') AS hard WHERE key NOT LIKE 'limits.%' ORDER BY key)), '') AS request,
  coalesce((SELECT group_concat(key || ': ' || used || '/' || hard, ', ') FROM (
    SELECT key, value AS hard, coalesce((SELECT value FROM json_each(o.value -> '$.status.used') AS used WHERE used.key = hard.key), '0') AS used
    FROM json_each(o.value -> '$.status.hard') AS hard WHERE key LIKE 'limits.%' ORDER BY key)), '') AS "limit",
  o.age
FROM object AS o;

CREATE VIEW resourcequotas AS
SELECT l.namespace, l.name, r.request, r."limit", r.age
FROM live AS l JOIN resourcequotas_row AS r USING (id)
WHERE l.key >= '/registry/resourcequotas/' AND l.key < '/registry/resourcequotas0';
