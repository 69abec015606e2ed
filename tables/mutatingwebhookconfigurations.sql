-- mutatingwebhookconfigurations: what kubectl get mutatingwebhookconfigurations prints.
--
-- view: mutatingwebhookconfigurations
-- resource: admissionregistration.k8s.io/mutatingwebhookconfigurations
-- keys: /registry/mutatingwebhookconfigurations/NAME
-- columns: name | heading | type | format | priority, then the description
--   name | Name | string | name | 0
--     Name must be unique within a namespace. Is required when creating resources, although some resources may
--     allow a client to request the generation of an appropriate name automatically. Name is primarily
--     intended for creation idempotence and configuration definition. Cannot be updated. More info:
--     https://kubernetes.io/docs/concepts/overview/working-with-objects/names#names
--   webhooks | Webhooks | integer | - | 0
--     Webhooks indicates the number of webhooks registered in this configuration
--   age | Age | string | - | 0
--     CreationTimestamp is a timestamp representing the server time when this object was created. It is not
--     guaranteed to be set in happens-before order across separate operations. Clients may not set this value.
--     It is represented in RFC3339 form and is in UTC.\n\nPopulated by the system. Read-only. Null for lists.
--     More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata

CREATE VIEW mutatingwebhookconfigurations_row AS
SELECT o.id, o.name,
  coalesce(json_array_length(o.value, '$.webhooks'), 0) AS webhooks,
  o.age
FROM object AS o;

CREATE VIEW mutatingwebhookconfigurations AS
SELECT l.name, r.webhooks, r.age
FROM live AS l JOIN mutatingwebhookconfigurations_row AS r USING (id)
WHERE l.key >= '/registry/mutatingwebhookconfigurations/' AND l.key < '/registry/mutatingwebhookconfigurations0';
