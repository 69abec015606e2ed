-- statefulsets: what kubectl get statefulsets prints.
--
-- view: statefulsets
-- resource: apps/statefulsets
-- keys: /registry/statefulsets/NAMESPACE/NAME
-- columns: name | heading | type | format | priority, then the description
--   name | Name | string | name | 0
--     Name must be unique within a namespace. Is required when creating resources, although some resources may
--     allow a client to request the generation of an appropriate name automatically. Name is primarily
--     intended for creation idempotence and configuration definition. Cannot be updated. More info:
--     https://kubernetes.io/docs/concepts/overview/working-with-objects/names#names
--   ready | Ready | string | - | 0
--     Number of the pod with ready state
--   age | Age | string | - | 0
--     CreationTimestamp is a timestamp representing the server time when this object was created. It is not
--     guaranteed to be set in happens-before order across separate operations. Clients may not set this value.
--     It is represented in RFC3339 form and is in UTC.\n\nPopulated by the system. Read-only. Null for lists.
--     More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata
--   containers | Containers | string | - | 1
--     Names of each container in the template.
--   images | Images | string | - | 1
--     Images referenced by each container in the template.

CREATE VIEW statefulsets_row AS
SELECT o.id, o.namespace, o.name,
  coalesce(o.value ->> '$.status.readyReplicas', 0) || '/' || coalesce(o.value ->> '$.spec.replicas', 0) AS ready,
  o.age,
  {{containers $.spec.template; $.name}} AS containers,
  {{containers $.spec.template; $.image}} AS images
FROM object AS o;

CREATE VIEW statefulsets AS
SELECT l.namespace, l.name, r.ready, r.age, r.containers, r.images
FROM live AS l JOIN statefulsets_row AS r USING (id)
WHERE l.key >= '/registry/statefulsets/' AND l.key < '/registry/statefulsets0';
