-- apiservices: what kubectl get apiservices prints.
--
-- view: apiservices
-- resource: apiregistration.k8s.io/apiservices
-- keys: /registry/apiregistration.k8s.io/apiservices/NAME
-- columns: name | heading | type | format | priority, then the description
--   name | Name | string | name | 0
--     Name must be unique within a namespace. Is required when creating resources, although some resources may
--     allow a client to request the generation of an appropriate name automatically. Name is primarily
--     intended for creation idempotence and configuration definition. Cannot be updated. More info:
--     https://kubernetes.io/docs/concepts/overview/working-with-objects/names#names
--   service | Service | string | - | 0
--     The reference to the service that hosts this API endpoint.
--   available | Available | string | - | 0
--     Whether this service is available.
--   age | Age | string | - | 0
--     CreationTimestamp is a timestamp representing the server time when this object was created. It is not
--     guaranteed to be set in happens-before order across separate operations. Clients may not set this value.
--     It is represented in RFC3339 form and is in UTC.\n\nPopulated by the system. Read-only. Null for lists.
--     More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata

CREATE VIEW apiservices_row AS
SELECT o.id, o.name,
  iif(o.value -> '$.spec.service' IS NULL, 'Local',
    coalesce(o.value ->> '$.spec.service.namespace', '') || '/' || coalesce(o.value ->> '$.spec.service.name', '')) AS service,
  coalesce((
    SELECT iif(value ->> '$.status' = 'True', 'True',
      (value ->> '$.status') || coalesce(' (' || nullif(value ->> '$.reason', '') || ')', ''))
    FROM json_each(o.value -> '$.status.conditions') WHERE value ->> '$.type' = 'Available' ORDER BY key LIMIT 1), 'Unknown') AS available,
  o.age
FROM object AS o;

CREATE VIEW apiservices AS
SELECT l.name, r.service, r.available, r.age
FROM live AS l JOIN apiservices_row AS r USING (id)
WHERE l.key >= '/registry/apiregistration.k8s.io/apiservices/' AND l.key < '/registry/apiregistration.k8s.io/apiservices0';
