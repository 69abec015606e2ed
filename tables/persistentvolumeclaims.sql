-- persistentvolumeclaims: what kubectl get persistentvolumeclaims prints.
--
-- view: persistentvolumeclaims
-- resource: core/persistentvolumeclaims
-- keys: /registry/persistentvolumeclaims/NAMESPACE/NAME
-- columns: name | heading | type | format | priority, then the description
--   name | Name | string | name | 0
--     Name must be unique within a namespace. Is required when creating resources, although some resources may
--     allow a client to request the generation of an appropriate name automatically. Name is primarily
--     intended for creation idempotence and configuration definition. Cannot be updated. More info:
--     https://kubernetes.io/docs/concepts/overview/working-with-objects/names#names
--   status | Status | string | - | 0
--     phase represents the current phase of PersistentVolumeClaim.
--   volume | Volume | string | - | 0
--     volumeName is the binding reference to the PersistentVolume backing this claim.
--   capacity | Capacity | string | - | 0
--     capacity represents the actual resources of the underlying volume.
--   access_modes | Access Modes | string | - | 0
--     accessModes contains the actual access modes the volume backing the PVC has. More info:
--     https://kubernetes.io/docs/concepts/storage/persistent-volumes#access-modes-1
--   storageclass | StorageClass | string | - | 0
--     StorageClass of the pvc
--   volumeattributesclass | VolumeAttributesClass | string | - | 0
--     VolumeAttributesClass of the pvc
--   age | Age | string | - | 0
--     CreationTimestamp is a timestamp representing the server time when this object was created. It is not
--     guaranteed to be set in happens-before order across separate operations. Clients may not set this value.
--     It is represented in RFC3339 form and is in UTC.\n\nPopulated by the system. Read-only. Null for lists.
--     More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata
--   volumemode | VolumeMode | string | - | 1
--     volumeMode defines what type of volume is required by the claim. Value of Filesystem is implied when not
--     included in claim spec.

CREATE VIEW persistentvolumeclaims_row AS
SELECT o.id, o.namespace, o.name,
  iif(o.value -> '$.metadata.deletionTimestamp' IS NULL, coalesce(o.value ->> '$.status.phase', ''), 'Terminating') AS status,
  coalesce(o.value ->> '$.spec.volumeName', '') AS volume,
  -- until it is bound a claim has no size and no modes of its own
  iif(coalesce(o.value ->> '$.spec.volumeName', '') = '', '', coalesce(o.value ->> '$.status.capacity.storage', '0')) AS capacity,
  iif(coalesce(o.value ->> '$.spec.volumeName', '') = '', '', {{modes o.value -> '$.status.accessModes'}}) AS access_modes,
  coalesce(o.value ->> '$.metadata.annotations."volume.beta.kubernetes.io/storage-class"', o.value ->> '$.spec.storageClassName', '') AS storageclass,
  coalesce(o.value ->> '$.spec.volumeAttributesClassName', '<unset>') AS volumeattributesclass,
  o.age,
  coalesce(o.value ->> '$.spec.volumeMode', '<unset>') AS volumemode
FROM object AS o;

CREATE VIEW persistentvolumeclaims AS
SELECT l.namespace, l.name, r.status, r.volume, r.capacity, r.access_modes, r.storageclass, r.volumeattributesclass,
  r.age, r.volumemode
FROM live AS l JOIN persistentvolumeclaims_row AS r USING (id)
WHERE l.key >= '/registry/persistentvolumeclaims/' AND l.key < '/registry/persistentvolumeclaims0';
