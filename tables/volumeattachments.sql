-- volumeattachments: what kubectl get volumeattachments prints.
--
-- view: volumeattachments
-- resource: storage.k8s.io/volumeattachments
-- keys: /registry/volumeattachments/NAME
-- columns: name | heading | type | format | priority, then the description
--   name | Name | string | name | 0
--     Name must be unique within a namespace. Is required when creating resources, although some resources may
--     allow a client to request the generation of an appropriate name automatically. Name is primarily
--     intended for creation idempotence and configuration definition. Cannot be updated. More info:
--     https://kubernetes.io/docs/concepts/overview/working-with-objects/names#names
--   attacher | Attacher | string | name | 0
--     attacher indicates the name of the volume driver that MUST handle this request. This is the name
--     returned by GetPluginName().
--   pv | PV | string | - | 0
--     persistentVolumeName represents the name of the persistent volume to attach.
--   node | Node | string | - | 0
--     nodeName represents the node that the volume should be attached to.
--   attached | Attached | boolean | - | 0 | bool
--     attached indicates the volume is successfully attached. This field must only be set by the entity
--     completing the attach operation, i.e. the external-attacher.
--   age | Age | string | - | 0
--     CreationTimestamp is a timestamp representing the server time when this object was created. It is not
--     guaranteed to be set in happens-before order across separate operations. Clients may not set this value.
--     It is represented in RFC3339 form and is in UTC.\n\nPopulated by the system. Read-only. Null for lists.
--     More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata

CREATE VIEW volumeattachments_row AS
SELECT o.id, o.name,
  coalesce(o.value ->> '$.spec.attacher', '') AS attacher,
  coalesce(o.value ->> '$.spec.source.persistentVolumeName', '') AS pv,
  coalesce(o.value ->> '$.spec.nodeName', '') AS node,
  {{bool o.value ->> '$.status.attached'}} AS attached,
  o.age
FROM object AS o;

CREATE VIEW volumeattachments AS
SELECT l.name, r.attacher, r.pv, r.node, r.attached, r.age
FROM live AS l JOIN volumeattachments_row AS r USING (id)
WHERE l.key >= '/registry/volumeattachments/' AND l.key < '/registry/volumeattachments0';
