-- resourceclaims: what kubectl get resourceclaims prints.
--
-- view: resourceclaims
-- resource: resource.k8s.io/resourceclaims
-- keys: /registry/resourceclaims/NAMESPACE/NAME
-- columns: name | heading | type | format | priority, then the description
--   name | Name | string | name | 0
--     Name must be unique within a namespace. Is required when creating resources, although some resources may
--     allow a client to request the generation of an appropriate name automatically. Name is primarily
--     intended for creation idempotence and configuration definition. Cannot be updated. More info:
--     https://kubernetes.io/docs/concepts/overview/working-with-objects/names#names
--   state | State | string | - | 0
--     A summary of the current state (allocated, pending, reserved, etc.).
--   age | Age | string | - | 0
--     CreationTimestamp is a timestamp representing the server time when this object was created. It is not
--     guaranteed to be set in happens-before order across separate operations. Clients may not set this value.
--     It is represented in RFC3339 form and is in UTC.\n\nPopulated by the system. Read-only. Null for lists.
--     More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata

CREATE VIEW resourceclaims_row AS
SELECT o.id, o.namespace, o.name,
  CASE
    WHEN o.value -> '$.status.allocation' IS NULL THEN iif(o.value -> '$.metadata.deletionTimestamp' IS NULL, 'pending', 'deleted')
    ELSE iif(o.value -> '$.metadata.deletionTimestamp' IS NULL, '', 'deleted,')
      || 'allocated' || iif(json_array_length(o.value, '$.status.reservedFor') > 0, ',reserved', '')
  END AS state,
  o.age
FROM object AS o;

CREATE VIEW resourceclaims AS
SELECT l.namespace, l.name, r.state, r.age
FROM live AS l JOIN resourceclaims_row AS r USING (id)
WHERE l.key >= '/registry/resourceclaims/' AND l.key < '/registry/resourceclaims0';
