-- podtemplates: what kubectl get podtemplates prints.
--
-- view: podtemplates
-- resource: core/podtemplates
-- keys: /registry/podtemplates/NAMESPACE/NAME
-- columns: name | heading | type | format | priority, then the description
--   name | Name | string | name | 0
--     Name must be unique within a namespace. Is required when creating resources, although some resources may
--     allow a client to request the generation of an appropriate name automatically. Name is primarily
--     intended for creation idempotence and configuration definition. Cannot be updated. More info:
--     https://kubernetes.io/docs/concepts/overview/working-with-objects/names#names
--   containers | Containers | string | - | 0
--     Names of each container in the template.
--   images | Images | string | - | 0
--     Images referenced by each container in the template.
--   pod_labels | Pod Labels | string | - | 0
--     The labels for the pod template.

CREATE VIEW podtemplates_row AS
SELECT o.id, o.namespace, o.name,
  {{containers $.template; $.name}} AS containers,
  {{containers $.template; $.image}} AS images,
  {{labels o.value -> '$.template.metadata.labels'}} AS pod_labels
FROM object AS o;

CREATE VIEW podtemplates AS
SELECT l.namespace, l.name, r.containers, r.images, r.pod_labels
FROM live AS l JOIN podtemplates_row AS r USING (id)
WHERE l.key >= '/registry/podtemplates/' AND l.key < '/registry/podtemplates0';
