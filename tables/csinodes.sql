-- csinodes: what kubectl get csinodes prints.
--
-- view: csinodes
-- resource: storage.k8s.io/csinodes
-- keys: /registry/csinodes/NAME
-- columns: name | heading | type | format | priority, then the description
--   name | Name | string | name | 0
--     Name must be unique within a namespace. Is required when creating resources, although some resources may
--     allow a client to request the generation of an appropriate name automatically. Name is primarily
--     intended for creation idempotence and configuration definition. Cannot be updated. More info:
--     https://kubernetes.io/docs/concepts/overview/working-with-objects/names#names
--   drivers | Drivers | integer | - | 0
--     Drivers indicates the number of CSI drivers registered on the node
--   age | Age | string | - | 0
--     CreationTimestamp is a timestamp representing the server time when this object was created. It is not
--     guaranteed to be set in happens-before order across separate operations. Clients may not set this value.
--     It is represented in RFC3339 form and is in UTC.\n\nPopulated by the system. Read-only. Null for lists.
--     More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata

CREATE VIEW csinodes_row AS
SELECT o.id, o.name,
  coalesce(json_array_length(o.value, '$.spec.drivers'), 0) AS drivers,
  o.age
FROM object AS o;

CREATE VIEW csinodes AS
SELECT l.name, r.drivers, r.age
FROM live AS l JOIN csinodes_row AS r USING (id)
WHERE l.key >= '/registry/csinodes/' AND l.key < '/registry/csinodes0';
