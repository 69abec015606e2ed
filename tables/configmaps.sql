-- configmaps: what kubectl get configmaps prints.
--
-- view: configmaps
-- resource: core/configmaps
-- keys: /registry/configmaps/NAMESPACE/NAME
-- columns: name | heading | type | format | priority, then the description
--   name | Name | string | name | 0
--     Name must be unique within a namespace. Is required when creating resources, although some resources may
--     allow a client to request the generation of an appropriate name automatically. Name is primarily
--     intended for creation idempotence and configuration definition. Cannot be updated. More info:
--     https://kubernetes.io/docs/concepts/overview/working-with-objects/names#names
--   data | Data | string | - | 0
--     Data contains the configuration data. Each key must consist of alphanumeric characters, '-', '_' or '.'.
--     Values with non-UTF-8 byte sequences must use the BinaryData field. The keys stored in Data must not
--     overlap with the keys in the BinaryData field, this is enforced during validation process.
--   age | Age | string | - | 0
--     CreationTimestamp is a timestamp representing the server time when this object was created. It is not
--     guaranteed to be set in happens-before order across separate operations. Clients may not set this value.
--     It is represented in RFC3339 form and is in UTC.\n\nPopulated by the system. Read-only. Null for lists.
--     More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata

CREATE VIEW configmaps_row AS
SELECT o.id, o.namespace, o.name,
  (SELECT count(*) FROM json_each(o.value -> '$.data'))
    + (SELECT count(*) FROM json_each(o.value -> '$.binaryData')) AS data,
  o.age
FROM object AS o;

CREATE VIEW configmaps AS
SELECT l.namespace, l.name, r.data, r.age
FROM live AS l JOIN configmaps_row AS r USING (id)
WHERE l.key >= '/registry/configmaps/' AND l.key < '/registry/configmaps0';
