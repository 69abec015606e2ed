-- storageclasses: what kubectl get storageclasses prints.
--
-- view: storageclasses
-- resource: storage.k8s.io/storageclasses
-- keys: /registry/storageclasses/NAME
-- list: name
-- columns: name | heading | type | format | priority, then the description
--   name | Name | string | name | 0
--     Name must be unique within a namespace. Is required when creating resources, although some resources may
--     allow a client to request the generation of an appropriate name automatically. Name is primarily
--     intended for creation idempotence and configuration definition. Cannot be updated. More info:
--     https://kubernetes.io/docs/concepts/overview/working-with-objects/names#names
--   provisioner | Provisioner | string | - | 0
--     provisioner indicates the type of the provisioner.
--   reclaimpolicy | ReclaimPolicy | string | - | 0
--     reclaimPolicy controls the reclaimPolicy for dynamically provisioned PersistentVolumes of this storage
--     class. Defaults to Delete.
--   volumebindingmode | VolumeBindingMode | string | - | 0
--     volumeBindingMode indicates how PersistentVolumeClaims should be provisioned and bound.  When unset,
--     VolumeBindingImmediate is used. This field is only honored by servers that enable the VolumeScheduling
--     feature.
--   allowvolumeexpansion | AllowVolumeExpansion | string | - | 0 | bool
--     allowVolumeExpansion shows whether the storage class allow volume expand.
--   age | Age | string | - | 0
--     CreationTimestamp is a timestamp representing the server time when this object was created. It is not
--     guaranteed to be set in happens-before order across separate operations. Clients may not set this value.
--     It is represented in RFC3339 form and is in UTC.\n\nPopulated by the system. Read-only. Null for lists.
--     More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata

-- In a list upstream marks the default class: the newest one that is annotated as default. A single
-- object (get NAME, watch) carries no mark, so the mark is made here and not in storageclasses_row.
CREATE VIEW storageclasses_row AS
SELECT o.id, o.name,
  coalesce(o.value ->> '$.provisioner', '') AS provisioner,
  coalesce(o.value ->> '$.reclaimPolicy', 'Delete') AS reclaimpolicy,
  coalesce(o.value ->> '$.volumeBindingMode', 'Immediate') AS volumebindingmode,
  {{bool o.value ->> '$.allowVolumeExpansion'}} AS allowvolumeexpansion,
  o.age
FROM object AS o;

CREATE VIEW storageclasses AS
SELECT l.name || iif(l.name = (
    SELECT value ->> '$.metadata.name' FROM live JOIN object USING (id)
    WHERE key >= '/registry/storageclasses/' AND key < '/registry/storageclasses0'
      AND 'true' IN (value ->> '$.metadata.annotations."storageclass.kubernetes.io/is-default-class"',
        value ->> '$.metadata.annotations."storageclass.beta.kubernetes.io/is-default-class"')
    ORDER BY value ->> '$.metadata.creationTimestamp' DESC, key LIMIT 1), ' (default)', '') AS name,
  r.provisioner, r.reclaimpolicy, r.volumebindingmode, r.allowvolumeexpansion, r.age
FROM live AS l JOIN storageclasses_row AS r USING (id)
WHERE l.key >= '/registry/storageclasses/' AND l.key < '/registry/storageclasses0';
