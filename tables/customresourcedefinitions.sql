-- customresourcedefinitions: what kubectl get customresourcedefinitions prints.
--
-- view: customresourcedefinitions
-- resource: apiextensions.k8s.io/customresourcedefinitions
-- keys: /registry/apiextensions.k8s.io/customresourcedefinitions/NAME
-- columns: name | heading | type | format | priority, then the description
--   name | Name | string | name | 0
--     Name must be unique within a namespace. Is required when creating resources, although some resources may
--     allow a client to request the generation of an appropriate name automatically. Name is primarily
--     intended for creation idempotence and configuration definition. Cannot be updated. More info:
--     https://kubernetes.io/docs/concepts/overview/working-with-objects/names#names
--   scope | Scope | string | - | 0
--     Cluster/Namespaced
--   versions | Versions | string | - | 0
--     Served versions
--   created_at | Created At | date | - | 0
--     CreationTimestamp is a timestamp representing the server time when this object was created. It is not
--     guaranteed to be set in happens-before order across separate operations. Clients may not set this value.
--     It is represented in RFC3339 form and is in UTC.\n\nPopulated by the system. Read-only. Null for lists.
--     More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata
--   group | Group | string | - | 1
--     API group
--   kind | Kind | string | - | 1
--     CustomResource kind
--   shortnames | ShortNames | string | - | 1
--     Short names
--   established | Established | boolean | - | 1 | bool
--     Established status

CREATE VIEW customresourcedefinitions_row AS
SELECT o.id, o.name,
  coalesce(o.value ->> '$.spec.scope', '') AS scope,
  coalesce((SELECT group_concat(version, ',') FROM (
    SELECT (value ->> '$.name') || iif(value ->> '$.storage', '(storage)', '') AS version
    FROM json_each(o.value -> '$.spec.versions') WHERE value ->> '$.served' ORDER BY 1)), '') AS versions,
  o.created AS created_at,
  coalesce(o.value ->> '$.spec.group', '') AS "group",
  coalesce(o.value ->> '$.spec.names.kind', '') AS kind,
  {{join o.value -> '$.spec.names.shortNames'}} AS shortnames,
  iif(EXISTS (SELECT * FROM json_each(o.value -> '$.status.conditions')
    WHERE value ->> '$.type' = 'Established' AND value ->> '$.status' = 'True'), 'true', 'false') AS established
FROM object AS o;

CREATE VIEW customresourcedefinitions AS
SELECT l.name, r.scope, r.versions, r.created_at, r."group", r.kind, r.shortnames, r.established
FROM live AS l JOIN customresourcedefinitions_row AS r USING (id)
WHERE l.key >= '/registry/apiextensions.k8s.io/customresourcedefinitions/' AND l.key < '/registry/apiextensions.k8s.io/customresourcedefinitions0';
