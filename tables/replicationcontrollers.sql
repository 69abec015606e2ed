-- replicationcontrollers: what kubectl get replicationcontrollers prints.
--
-- view: replicationcontrollers
-- resource: core/replicationcontrollers
-- keys: /registry/controllers/NAMESPACE/NAME
-- columns: name | heading | type | format | priority, then the description
--   name | Name | string | name | 0
--     Name must be unique within a namespace. Is required when creating resources, although some resources may
--     allow a client to request the generation of an appropriate name automatically. Name is primarily
--     intended for creation idempotence and configuration definition. Cannot be updated. More info:
--     https://kubernetes.io/docs/concepts/overview/working-with-objects/names#names
--   desired | Desired | integer | - | 0
--     Replicas is the number of desired replicas. This is a pointer to distinguish between explicit zero and
--     unspecified. Defaults to 1. More info:
--     https://kubernetes.io/docs/concepts/workloads/controllers/replicationcontroller#what-is-a-replicationcontroller
--   current | Current | integer | - | 0
--     Replicas is the most recently observed number of replicas. More info:
--     https://kubernetes.io/docs/concepts/workloads/controllers/replicationcontroller#what-is-a-replicationcontroller
--   ready | Ready | integer | - | 0
--     The number of ready replicas for this replication controller.
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
--     Selector is a label query over pods that should match the Replicas count. If Selector is empty, it is
--     defaulted to the labels present on the Pod template. Label keys and values that must match in order to
--     be controlled by this replication controller, if empty defaulted to labels on Pod template. More info:
--     https://kubernetes.io/docs/concepts/overview/working-with-objects/labels/#label-selectors

CREATE VIEW replicationcontrollers_row AS
SELECT o.id, o.namespace, o.name,
  coalesce(o.value ->> '$.spec.replicas', 0) AS desired,
  coalesce(o.value ->> '$.status.replicas', 0) AS current,
  coalesce(o.value ->> '$.status.readyReplicas', 0) AS ready,
  o.age,
  {{containers $.spec.template; $.name}} AS containers,
  {{containers $.spec.template; $.image}} AS images,
  {{labels o.value -> '$.spec.selector'}} AS selector
FROM object AS o;

CREATE VIEW replicationcontrollers AS
SELECT l.namespace, l.name, r.desired, r.current, r.ready, r.age, r.containers, r.images, r.selector
FROM live AS l JOIN replicationcontrollers_row AS r USING (id)
WHERE l.key >= '/registry/controllers/' AND l.key < '/registry/controllers0';
