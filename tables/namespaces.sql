-- namespaces: what kubectl get namespaces prints.
--
-- view: namespaces
-- resource: core/namespaces
-- keys: /registry/namespaces/NAME
-- columns: name | heading | type | format | priority, then the description
--   name | Name | string | name | 0
--     Name must be unique within a namespace. Is required when creating resources, although some resources may
--     allow a client to request the generation of an appropriate name automatically. Name is primarily
--     intended for creation idempotence and configuration definition. Cannot be updated. More info:
--     https://kubernetes.io/docs/concepts/overview/working-with-objects/names#names
--   status | Status | string | - | 0
--     The status of the namespace
--   age | Age | string | - | 0
--     CreationTimestamp is a timestamp representing the server time when this object was created. It is not
--     guaranteed to be set in happens-before order across separate operations. Clients may not set this value.
--     It is represented in RFC3339 form and is in UTC.\n\nPopulated by the system. Read-only. Null for lists.
--     More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata

CREATE VIEW namespaces_row AS
SELECT o.id, o.name,
  coalesce(o.value ->> '$.status.phase', '') AS status,
  o.age
FROM object AS o;

CREATE VIEW namespaces AS
SELECT l.name, r.status, r.age
FROM live AS l JOIN namespaces_row AS r USING (id)
WHERE l.key >= '/registry/namespaces/' AND l.key < '/registry/namespaces0';
