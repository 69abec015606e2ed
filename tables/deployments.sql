-- deployments: what kubectl get deployments prints.
--
-- view: deployments
-- resource: apps/deployments
-- keys: /registry/deployments/NAMESPACE/NAME
-- columns: name | heading | type | format | priority, then the description
--   name | Name | string | name | 0
--     Name must be unique within a namespace. Is required when creating resources, although some resources may
--     allow a client to request the generation of an appropriate name automatically. Name is primarily
--     intended for creation idempotence and configuration definition. Cannot be updated. More info:
--     https://kubernetes.io/docs/concepts/overview/working-with-objects/names#names
--   ready | Ready | string | - | 0
--     Number of the pod with ready state
--   uptodate | Up-to-date | string | - | 0
--     Total number of non-terminating pods targeted by this deployment that have the desired template spec.
--   available | Available | string | - | 0
--     Total number of available non-terminating pods (ready for at least minReadySeconds) targeted by this
--     deployment.
--   age | Age | string | - | 0
--     CreationTimestamp is a timestamp representing the server time when this object was created. It is not
--     guaranteed to be set in happens-before order across separate operations. Clients may not set this value.
--     It is represented in RFC3339 form and is in UTC.\n\nPopulated by the system. Read-only. Null for lists.
--     More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata
--   containers | Containers | string | - | 1
--     Names of each container in the template.
--   images | Images | string | - | 1
--     Images referenced by each container in the template.
--   selector | Selector | string | - | 1
--     Label selector for pods. Existing ReplicaSets whose pods are selected by this will be the ones affected
--     by this deployment. It must match the pod template's labels.

CREATE VIEW deployments_row AS
SELECT o.id, o.namespace, o.name,
  coalesce(o.value ->> '$.status.readyReplicas', 0) || '/' || coalesce(o.value ->> '$.spec.replicas', 0) AS ready,
  coalesce(o.value ->> '$.status.updatedReplicas', 0) AS uptodate,
  coalesce(o.value ->> '$.status.availableReplicas', 0) AS available,
  o.age,
  {{containers $.spec.template; $.name}} AS containers,
  {{containers $.spec.template; $.image}} AS images,
  coalesce({{selector o.value -> '$.spec.selector'}}, '') AS selector
FROM object AS o;

CREATE VIEW deployments AS
SELECT l.namespace, l.name, r.ready, r.uptodate, r.available, r.age, r.containers, r.images, r.selector
FROM live AS l JOIN deployments_row AS r USING (id)
WHERE l.key >= '/registry/deployments/' AND l.key < '/registry/deployments0';
