-- mutatingadmissionpolicybindings: what kubectl get mutatingadmissionpolicybindings prints.
--
-- view: mutatingadmissionpolicybindings
-- resource: admissionregistration.k8s.io/mutatingadmissionpolicybindings
-- keys: /registry/mutatingadmissionpolicybindings/NAME
-- columns: name | heading | type | format | priority, then the description
--   name | Name | string | name | 0
--     Name must be unique within a namespace. Is required when creating resources, although some resources may
--     allow a client to request the generation of an appropriate name automatically. Name is primarily
--     intended for creation idempotence and configuration definition. Cannot be updated. More info:
--     https://kubernetes.io/docs/concepts/overview/working-with-objects/names#names
--   policyname | PolicyName | string | - | 0
--     PolicyName indicates the policy definition which the policy binding binded to
--   paramref | ParamRef | string | - | 0
--     ParamRef indicates the param resource which sets the configuration param
--   age | Age | string | - | 0
--     CreationTimestamp is a timestamp representing the server time when this object was created. It is not
--     guaranteed to be set in happens-before order across separate operations. Clients may not set this value.
--     It is represented in RFC3339 form and is in UTC.\n\nPopulated by the system. Read-only. Null for lists.
--     More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata

CREATE VIEW mutatingadmissionpolicybindings_row AS
SELECT o.id, o.name,
  coalesce(o.value ->> '$.spec.policyName', '') AS policyname,
  {{paramref}} AS paramref,
  o.age
FROM object AS o;

CREATE VIEW mutatingadmissionpolicybindings AS
SELECT l.name, r.policyname, r.paramref, r.age
FROM live AS l JOIN mutatingadmissionpolicybindings_row AS r USING (id)
WHERE l.key >= '/registry/mutatingadmissionpolicybindings/' AND l.key < '/registry/mutatingadmissionpolicybindings0';
