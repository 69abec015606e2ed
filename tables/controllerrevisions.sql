-- controllerrevisions: what kubectl get controllerrevisions prints.
--
-- view: controllerrevisions
-- resource: apps/controllerrevisions
-- keys: /registry/controllerrevisions/NAMESPACE/NAME
-- columns: name | heading | type | format | priority, then the description
--   name | Name | string | name | 0
--     Name must be unique within a namespace. Is required when creating resources, although some resources may
--     allow a client to request the generation of an appropriate name automatically. Name is primarily
--     intended for creation idempotence and configuration definition. Cannot be updated. More info:
--     https://kubernetes.io/docs/concepts/overview/working-with-objects/names#names
--   controller | Controller | string | - | 0
--     Controller of the object
--   revision | Revision | string | - | 0
--     Revision indicates the revision of the state represented by Data.
--   age | Age | string | - | 0
--     CreationTimestamp is a timestamp representing the server time when this object was created. It is not
--     guaranteed to be set in happens-before order across separate operations. Clients may not set this value.
--     It is represented in RFC3339 form and is in UTC.\n\nPopulated by the system. Read-only. Null for lists.
--     More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata

CREATE VIEW controllerrevisions_row AS
SELECT o.id, o.namespace, o.name,
  coalesce((
    -- apps/v1 and StatefulSet make statefulset.apps; a core owner has no group
    SELECT lower(value ->> '$.kind')
      || iif(instr(value ->> '$.apiVersion', '/'),
        '.' || lower(substr(value ->> '$.apiVersion', 1, instr(value ->> '$.apiVersion', '/') - 1)), '')
      || '/' || (value ->> '$.name')
    FROM json_each(o.value -> '$.metadata.ownerReferences')
    WHERE value ->> '$.controller' ORDER BY key LIMIT 1), '<none>') AS controller,
  coalesce(o.value ->> '$.revision', 0) AS revision,
  o.age
FROM object AS o;

CREATE VIEW controllerrevisions AS
SELECT l.namespace, l.name, r.controller, r.revision, r.age
FROM live AS l JOIN controllerrevisions_row AS r USING (id)
WHERE l.key >= '/registry/controllerrevisions/' AND l.key < '/registry/controllerrevisions0';
