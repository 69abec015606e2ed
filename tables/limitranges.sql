-- limitranges: what kubectl get limitranges prints.
--
-- view: limitranges
-- resource: core/limitranges
-- keys: /registry/limitranges/NAMESPACE/NAME
-- columns: name | heading | type | format | priority, then the description
--   name | Name | string | name | 0
--     Name must be unique within a namespace. Is required when creating resources, although some resources may
--     allow a client to request the generation of an appropriate name automatically. Name is primarily
--     intended for creation idempotence and configuration definition. Cannot be updated. More info:
--     https://kubernetes.io/docs/concepts/overview/working-with-objects/names#names
--   created_at | Created At | date | - | 0
--     CreationTimestamp is a timestamp representing the server time when this object was created. It is not
--     guaranteed to be set in happens-before order across separate operations. Clients may not set this value.
--     It is represented in RFC3339 form and is in UTC.\n\nPopulated by the system. Read-only. Null for lists.
--     More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata

CREATE VIEW limitranges_row AS
SELECT o.id, o.namespace, o.name,
  o.created AS created_at
FROM object AS o;

CREATE VIEW limitranges AS
SELECT l.namespace, l.name, r.created_at
FROM live AS l JOIN limitranges_row AS r USING (id)
WHERE l.key >= '/registry/limitranges/' AND l.key < '/registry/limitranges0';
