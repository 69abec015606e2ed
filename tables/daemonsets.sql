-- daemonsets: what kubectl get daemonsets prints.
--
-- view: daemonsets
-- resource: apps/daemonsets
-- keys: /registry/daemonsets/NAMESPACE/NAME
-- columns: name | heading | type | format | priority, then the description
--   name | Name | string | name | 0
--     Name must be unique within a namespace. Is required when creating resources, although some resources may
--     allow a client to request the generation of an appropriate name automatically. Name is primarily
--     intended for creation idempotence and configuration definition. Cannot be updated. More info:
--     https://kubernetes.io/docs/concepts/overview/working-with-objects/names#names
--   desired | Desired | integer | - | 0
--     The total number of nodes that should be running the daemon pod (including nodes correctly running the
--     daemon pod). More info: https://kubernetes.io/docs/concepts/workloads/controllers/daemonset/
--   current | Current | integer | - | 0
--     The number of nodes that are running at least 1 daemon pod and are supposed to run the daemon pod. More
--     info: https://kubernetes.io/docs/concepts/workloads/controllers/daemonset/
--   ready | Ready | integer | - | 0
--     numberReady is the number of nodes that should be running the daemon pod and have one or more of the
--     daemon pod running with a Ready Condition.
--   uptodate | Up-to-date | integer | - | 0
--     The total number of nodes that are running updated daemon pod
--   available | Available | integer | - | 0
--     The number of nodes that should be running the daemon pod and have one or more of the daemon pod running
--     and available (ready for at least spec.minReadySeconds)
--   node_selector | Node Selector | string | - | 0
--     NodeSelector is a selector which must be true for the pod to fit on a node. Selector which must match a
--     node's labels for the pod to be scheduled on that node. More info:
--     https://kubernetes.io/docs/concepts/configuration/assign-pod-node/
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
--     A label query over pods that are managed by the daemon set. Must match in order to be controlled. It
--     must match the pod template's labels. More info:
--     https://kubernetes.io/docs/concepts/overview/working-with-objects/labels/#label-selectors

CREATE VIEW daemonsets_row AS
SELECT o.id, o.namespace, o.name,
  coalesce(o.value ->> '$.status.desiredNumberScheduled', 0) AS desired,
  coalesce(o.value ->> '$.status.currentNumberScheduled', 0) AS current,
  coalesce(o.value ->> '$.status.numberReady', 0) AS ready,
  coalesce(o.value ->> '$.status.updatedNumberScheduled', 0) AS uptodate,
  coalesce(o.value ->> '$.status.numberAvailable', 0) AS available,
  {{labels o.value -> '$.spec.template.spec.nodeSelector'}} AS node_selector,
  o.age,
  {{containers $.spec.template; $.name}} AS containers,
  {{containers $.spec.template; $.image}} AS images,
  coalesce({{selector o.value -> '$.spec.selector'}}, '<none>') AS selector
FROM object AS o;

CREATE VIEW daemonsets AS
SELECT l.namespace, l.name, r.desired, r.current, r.ready, r.uptodate, r.available, r.node_selector, r.age,
  r.containers, r.images, r.selector
FROM live AS l JOIN daemonsets_row AS r USING (id)
WHERE l.key >= '/registry/daemonsets/' AND l.key < '/registry/daemonsets0';
