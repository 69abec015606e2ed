-- mutatingadmissionpolicies: what kubectl get mutatingadmissionpolicies prints.
--
-- view: mutatingadmissionpolicies
-- resource: admissionregistration.k8s.io/mutatingadmissionpolicies
-- keys: /registry/mutatingadmissionpolicies/NAME
-- columns: name | heading | type | format | priority, then the description
--   name | Name | string | name | 0
--     Name must be unique within a namespace. Is required when creating resources, although some resources may
--     allow a client to request the generation of an appropriate name automatically. Name is primarily
--     intended for creation idempotence and configuration definition. Cannot be updated. More info:
--     https://kubernetes.io/docs/concepts/overview/working-with-objects/names#names
--   mutations | Mutations | integer | - | 0
--     Mutation indicates the number of mutations rules defined in this configuration
--   paramkind | ParamKind | string | - | 0
--     ParamKind specifies the kind of resources used to parameterize this policy
--   age | Age | string | - | 0
--     CreationTimestamp is a timestamp representing the server time when this object was created. It is not
--     guaranteed to be set in happens-before order across separate operations. Clients may not set this value.
--     It is represented in RFC3339 form and is in UTC.\n\nPopulated by the system. Read-only. Null for lists.
--     More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata

CREATE VIEW mutatingadmissionpolicies_row AS
SELECT o.id, o.name,
  coalesce(json_array_length(o.value, '$.spec.mutations'), 0) AS mutations,
  iif(o.value -> '$.spec.paramKind' IS NULL, '<unset>',
    coalesce(o.value ->> '$.spec.paramKind.apiVersion', '') || '/' || coalesce(o.value ->> '$.spec.paramKind.kind', '')) AS paramkind,
  o.age
FROM object AS o;

CREATE VIEW mutatingadmissionpolicies AS
SELECT l.name, r.mutations, r.paramkind, r.age
FROM live AS l JOIN mutatingadmissionpolicies_row AS r USING (id)
WHERE l.key >= '/registry/mutatingadmissionpolicies/' AND l.key < '/registry/mutatingadmissionpolicies0';
