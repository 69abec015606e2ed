-- volumeattributesclasses: what kubectl get volumeattributesclasses prints.
--
-- view: volumeattributesclasses
-- resource: storage.k8s.io/volumeattributesclasses
-- keys: /registry/volumeattributesclasses/NAME
-- columns: name | heading | type | format | priority, then the description
--   name | Name | string | name | 0
--     Name must be unique within a namespace. Is required when creating resources, although some resources may
--     allow a client to request the generation of an appropriate name automatically. Name is primarily
--     intended for creation idempotence and configuration definition. Cannot be updated. More info:
--     https://kubernetes.io/docs/concepts/overview/working-with-objects/names#names
--   drivername | DriverName | string | - | 0
--     driverName is the name of the CSI driver This field is immutable.
--   age | Age | string | - | 0
--     CreationTimestamp is a timestamp representing the server time when this object was created. It is not
--     guaranteed to be set in happens-before order across separate operations. Clients may not set this value.
--     It is represented in RFC3339 form and is in UTC.\n\nPopulated by the system. Read-only. Null for lists.
--     More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata

CREATE VIEW volumeattributesclasses_row AS
SELECT o.id, o.name,
  coalesce(o.value ->> '$.driverName', '') AS drivername,
  o.age
FROM object AS o;

CREATE VIEW volumeattributesclasses AS
SELECT l.name, r.drivername, r.age
FROM live AS l JOIN volumeattributesclasses_row AS r USING (id)
WHERE l.key >= '/registry/volumeattributesclasses/' AND l.key < '/registry/volumeattributesclasses0';
