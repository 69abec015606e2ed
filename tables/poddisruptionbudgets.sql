-- poddisruptionbudgets: what kubectl get poddisruptionbudgets prints.
--
-- view: poddisruptionbudgets
-- resource: policy/poddisruptionbudgets
-- keys: /registry/poddisruptionbudgets/NAMESPACE/NAME
-- columns: name | heading | type | format | priority, then the description
--   name | Name | string | name | 0
--     Name must be unique within a namespace. Is required when creating resources, although some resources may
--     allow a client to request the generation of an appropriate name automatically. Name is primarily
--     intended for creation idempotence and configuration definition. Cannot be updated. More info:
--     https://kubernetes.io/docs/concepts/overview/working-with-objects/names#names
--   min_available | Min Available | string | - | 0
--     The minimum number of pods that must be available.
--   max_unavailable | Max Unavailable | string | - | 0
--     The maximum number of pods that may be unavailable.
--   allowed_disruptions | Allowed Disruptions | integer | - | 0
--     Calculated number of pods that may be disrupted at this time.
--   age | Age | string | - | 0
--     CreationTimestamp is a timestamp representing the server time when this object was created. It is not
--     guaranteed to be set in happens-before order across separate operations. Clients may not set this value.
--     It is represented in RFC3339 form and is in UTC.\n\nPopulated by the system. Read-only. Null for lists.
--     More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata

CREATE VIEW poddisruptionbudgets_row AS
SELECT o.id, o.namespace, o.name,
  CAST(coalesce(o.value ->> '$.spec.minAvailable', 'N/A') AS TEXT) AS min_available,
  CAST(coalesce(o.value ->> '$.spec.maxUnavailable', 'N/A') AS TEXT) AS max_unavailable,
  coalesce(o.value ->> '$.status.disruptionsAllowed', 0) AS allowed_disruptions,
  o.age
FROM object AS o;

CREATE VIEW poddisruptionbudgets AS
SELECT l.namespace, l.name, r.min_available, r.max_unavailable, r.allowed_disruptions, r.age
FROM live AS l JOIN poddisruptionbudgets_row AS r USING (id)
WHERE l.key >= '/registry/poddisruptionbudgets/' AND l.key < '/registry/poddisruptionbudgets0';
