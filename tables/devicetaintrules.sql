-- devicetaintrules: what kubectl get devicetaintrules prints.
--
-- view: devicetaintrules
-- resource: resource.k8s.io/devicetaintrules
-- keys: /registry/devicetaintrules/NAME
-- columns: name | heading | type | format | priority, then the description
--   name | Name | string | name | 0
--     Name must be unique within a namespace. Is required when creating resources, although some resources may
--     allow a client to request the generation of an appropriate name automatically. Name is primarily
--     intended for creation idempotence and configuration definition. Cannot be updated. More info:
--     https://kubernetes.io/docs/concepts/overview/working-with-objects/names#names
--   key | Key | string | - | 0
--     The taint key to be applied to a device. Must be a label name.
--   value | Value | string | - | 0
--     The taint value corresponding to the taint key. Must be a label value.
--   effect | Effect | string | - | 0
--     The effect of the taint on claims that do not tolerate the taint and through such claims on the pods
--     using them.\n\nValid effects are None, NoSchedule and NoExecute. PreferNoSchedule as used for nodes is
--     not valid here. More effects may get added in the future. Consumers must treat unknown effects like
--     None.
--   timeadded | TimeAdded | string | - | 0
--     TimeAdded represents the time at which the taint was added or (only in a DeviceTaintRule) the effect was
--     modified. Added automatically during create or update if not set.\n\nIn addition, in a DeviceTaintRule a
--     value provided during an update gets replaced with the current time if the provided value is the same as
--     the old one and the new effect is different. Changing the key and/or value while keeping the effect
--     unchanged is possible and does not update the time stamp because the eviction which uses it is either
--     already started (NoExecute) or not started yet (NoEffect, NoSchedule).
--   age | Age | string | - | 0
--     CreationTimestamp is a timestamp representing the server time when this object was created. It is not
--     guaranteed to be set in happens-before order across separate operations. Clients may not set this value.
--     It is represented in RFC3339 form and is in UTC.\n\nPopulated by the system. Read-only. Null for lists.
--     More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata

CREATE VIEW devicetaintrules_row AS
SELECT o.id, o.name,
  coalesce(o.value ->> '$.spec.taint.key', '') AS key,
  coalesce(o.value ->> '$.spec.taint.value', '') AS value,
  coalesce(o.value ->> '$.spec.taint.effect', '') AS effect,
  iif(o.value ->> '$.spec.taint.timeAdded' IS NULL, '', {{since o.value ->> '$.spec.taint.timeAdded'}}) AS timeadded,
  o.age
FROM object AS o;

CREATE VIEW devicetaintrules AS
SELECT l.name, r.key, r.value, r.effect, r.timeadded, r.age
FROM live AS l JOIN devicetaintrules_row AS r USING (id)
WHERE l.key >= '/registry/devicetaintrules/' AND l.key < '/registry/devicetaintrules0';
