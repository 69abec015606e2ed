-- persistentvolumes: what kubectl get persistentvolumes prints.
--
-- view: persistentvolumes
-- resource: core/persistentvolumes
-- keys: /registry/persistentvolumes/NAME
-- columns: name | heading | type | format | priority, then the description
--   name | Name | string | name | 0
--     Name must be unique within a namespace. Is required when creating resources, although some resources may
--     allow a client to request the generation of an appropriate name automatically. Name is primarily
--     intended for creation idempotence and configuration definition. Cannot be updated. More info:
--     https://kubernetes.io/docs/concepts/overview/working-with-objects/names#names
--   capacity | Capacity | string | - | 0
--     capacity is the description of the persistent volume's resources and capacity. More info:
--     https://kubernetes.io/docs/concepts/storage/persistent-volumes#capacity
--   access_modes | Access Modes | string | - | 0
--     accessModes contains all ways the volume can be mounted. More info:
--     https://kubernetes.io/docs/concepts/storage/persistent-volumes#access-modes
--   reclaim_policy | Reclaim Policy | string | - | 0
--     persistentVolumeReclaimPolicy defines what happens to a persistent volume when released from its claim.
--     Valid options are Retain (default for manually created PersistentVolumes), Delete (default for
--     dynamically provisioned PersistentVolumes), and Recycle (deprecated). Recycle must be supported by the
--     volume plugin underlying this PersistentVolume. More info:
--     https://kubernetes.io/docs/concepts/storage/persistent-volumes#reclaiming
--   status | Status | string | - | 0
--     phase indicates if a volume is available, bound to a claim, or released by a claim. More info:
--     https://kubernetes.io/docs/concepts/storage/persistent-volumes#phase
--   claim | Claim | string | - | 0
--     claimRef is part of a bi-directional binding between PersistentVolume and PersistentVolumeClaim.
--     Expected to be non-nil when bound. claim.VolumeName is the authoritative bind between PV and PVC. More
--     info: https://kubernetes.io/docs/concepts/storage/persistent-volumes#binding
--   storageclass | StorageClass | string | - | 0
--     StorageClass of the pv
--   volumeattributesclass | VolumeAttributesClass | string | - | 0
--     VolumeAttributesClass of the pv
--   reason | Reason | string | - | 0
--     reason is a brief CamelCase string that describes any failure and is meant for machine parsing and tidy
--     display in the CLI.
--   age | Age | string | - | 0
--     CreationTimestamp is a timestamp representing the server time when this object was created. It is not
--     guaranteed to be set in happens-before order across separate operations. Clients may not set this value.
--     It is represented in RFC3339 form and is in UTC.\n\nPopulated by the system. Read-only. Null for lists.
--     More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata
--   volumemode | VolumeMode | string | - | 1
--     volumeMode defines if a volume is intended to be used with a formatted filesystem or to remain in raw
--     block state. Value of Filesystem is implied when not included in spec.

CREATE VIEW persistentvolumes_row AS
SELECT o.id, o.name,
  coalesce(o.value ->> '$.spec.capacity.storage', '0') AS capacity,
  {{modes o.value -> '$.spec.accessModes'}} AS access_modes,
  coalesce(o.value ->> '$.spec.persistentVolumeReclaimPolicy', '') AS reclaim_policy,
  iif(o.value -> '$.metadata.deletionTimestamp' IS NULL, coalesce(o.value ->> '$.status.phase', ''), 'Terminating') AS status,
  iif(o.value -> '$.spec.claimRef' IS NULL, '',
    coalesce(o.value ->> '$.spec.claimRef.namespace', '') || '/' || coalesce(o.value ->> '$.spec.claimRef.name', '')) AS claim,
  coalesce(o.value ->> '$.metadata.annotations."volume.beta.kubernetes.io/storage-class"', o.value ->> '$.spec.storageClassName', '') AS storageclass,
  coalesce(o.value ->> '$.spec.volumeAttributesClassName', '<unset>') AS volumeattributesclass,
  coalesce(o.value ->> '$.status.reason', '') AS reason,
  o.age,
  coalesce(o.value ->> '$.spec.volumeMode', '<unset>') AS volumemode
FROM object AS o;

CREATE VIEW persistentvolumes AS
SELECT l.name, r.capacity, r.access_modes, r.reclaim_policy, r.status, r.claim, r.storageclass,
  r.volumeattributesclass, r.reason, r.age, r.volumemode
FROM live AS l JOIN persistentvolumes_row AS r USING (id)
WHERE l.key >= '/registry/persistentvolumes/' AND l.key < '/registry/persistentvolumes0';
