-- storageversionmigrations: what kubectl get storageversionmigrations prints.
--
-- view: storageversionmigrations
-- resource: storagemigration.k8s.io/storageversionmigrations
-- keys: /registry/storageversionmigrations/NAME
-- columns: name | heading | type | format | priority, then the description
--   name | Name | string | - | 0
--     Name must be unique within a namespace. Is required when creating resources, although some resources may
--     allow a client to request the generation of an appropriate name automatically. Name is primarily
--     intended for creation idempotence and configuration definition. Cannot be updated. More info:
--     https://kubernetes.io/docs/concepts/overview/working-with-objects/names#names
--   resource | Resource | string | - | 0
--     GroupResource to migrate
--   status | Status | string | - | 0
--     Status of the migration

CREATE VIEW storageversionmigrations_row AS
SELECT o.id, o.name,
  coalesce(o.value ->> '$.spec.resource.resource', '') || coalesce('.' || nullif(o.value ->> '$.spec.resource.group', ''), '') AS resource,
  coalesce((SELECT value ->> '$.type' FROM json_each(o.value -> '$.status.conditions')
    WHERE value ->> '$.status' = 'True' AND value ->> '$.type' IN ('Running', 'Failed', 'Succeeded')
    ORDER BY key DESC LIMIT 1), 'Unknown') AS status
FROM object AS o;

CREATE VIEW storageversionmigrations AS
SELECT l.name, r.resource, r.status
FROM live AS l JOIN storageversionmigrations_row AS r USING (id)
WHERE l.key >= '/registry/storageversionmigrations/' AND l.key < '/registry/storageversionmigrations0';
