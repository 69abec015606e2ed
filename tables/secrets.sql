-- secrets: what kubectl get secrets prints.
--
-- view: secrets
-- resource: core/secrets
-- keys: /registry/secrets/NAMESPACE/NAME
-- columns: name | heading | type | format | priority, then the description
--   name | Name | string | name | 0
--     Name must be unique within a namespace. Is required when creating resources, although some resources may
--     allow a client to request the generation of an appropriate name automatically. Name is primarily
--     intended for creation idempotence and configuration definition. Cannot be updated. More info:
--     https://kubernetes.io/docs/concepts/overview/working-with-objects/names#names
--   type | Type | string | - | 0
--     Used to facilitate programmatic handling of secret data. More info:
--     https://kubernetes.io/docs/concepts/configuration/secret/#secret-types
--   data | Data | string | - | 0
--     Data contains the secret data. Each key must consist of alphanumeric characters, '-', '_' or '.'. The
--     serialized form of the secret data is a base64 encoded string, representing the arbitrary (possibly
--     non-string) data value here. Described in https://tools.ietf.org/html/rfc4648#section-4
--   age | Age | string | - | 0
--     CreationTimestamp is a timestamp representing the server time when this object was created. It is not
--     guaranteed to be set in happens-before order across separate operations. Clients may not set this value.
--     It is represented in RFC3339 form and is in UTC.\n\nPopulated by the system. Read-only. Null for lists.
--     More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata

CREATE VIEW secrets_row AS
SELECT o.id, o.namespace, o.name,
  coalesce(o.value ->> '$.type', '') AS type,
  (SELECT count(*) FROM json_each(o.value -> '$.data')) AS data,
  o.age
FROM object AS o;

CREATE VIEW secrets AS
SELECT l.namespace, l.name, r.type, r.data, r.age
FROM live AS l JOIN secrets_row AS r USING (id)
WHERE l.key >= '/registry/secrets/' AND l.key < '/registry/secrets0';
