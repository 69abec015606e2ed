-- ipaddresses: what kubectl get ipaddresses prints.
--
-- view: ipaddresses
-- resource: networking.k8s.io/ipaddresses
-- keys: /registry/ipaddresses/NAME
-- columns: name | heading | type | format | priority, then the description
--   name | Name | string | name | 0
--     Name must be unique within a namespace. Is required when creating resources, although some resources may
--     allow a client to request the generation of an appropriate name automatically. Name is primarily
--     intended for creation idempotence and configuration definition. Cannot be updated. More info:
--     https://kubernetes.io/docs/concepts/overview/working-with-objects/names#names
--   parentref | ParentRef | string | - | 0
--     parentRef references the resource that an IPAddress is attached to. An IPAddress must reference a parent
--     object.
--   age | - | string | - | 0

-- The API sends the age as a third cell without a heading, as upstream does; kubectl leaves it out, and so does ipaddresses.
CREATE VIEW ipaddresses_row AS
SELECT o.id, o.name,
  iif(o.value -> '$.spec.parentRef' IS NULL, '<none>',
    lower(coalesce(o.value ->> '$.spec.parentRef.resource', '') || coalesce('.' || nullif(o.value ->> '$.spec.parentRef.group', ''), ''))
      || coalesce('/' || nullif(o.value ->> '$.spec.parentRef.namespace', ''), '')
      || '/' || coalesce(o.value ->> '$.spec.parentRef.name', '')) AS parentref,
  o.age
FROM object AS o;

CREATE VIEW ipaddresses AS
SELECT l.name, r.parentref
FROM live AS l JOIN ipaddresses_row AS r USING (id)
WHERE l.key >= '/registry/ipaddresses/' AND l.key < '/registry/ipaddresses0';
