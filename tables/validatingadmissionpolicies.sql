-- validatingadmissionpolicies: what kubectl get validatingadmissionpolicies prints.
--
-- view: validatingadmissionpolicies
-- resource: admissionregistration.k8s.io/validatingadmissionpolicies
-- keys: /registry/validatingadmissionpolicies/NAME
-- columns: name | heading | type | format | priority, then the description
--   name | Name | string | name | 0
--     Name must be unique within a namespace. Is required when creating resources, although some resources may
--     allow a client to request the generation of an appropriate name automatically. Name is primarily
--     intended for creation idempotence and configuration definition. Cannot be updated. More info:
--     https://kubernetes.io/docs/concepts/overview/working-with-objects/names#names
--   validations | Validations | integer | - | 0
--     Validations indicates the number of validation rules defined in this configuration
--   paramkind | ParamKind | string | - | 0
--     ParamKind specifies the kind of resources used to parameterize this policy
--   age | Age | string | - | 0
--     CreationTimestamp is a timestamp representing the server time when this object was created. It is not
--     guaranteed to be set in happens-before order across separate operations. Clients may not set this value.
--     It is represented in RFC3339 form and is in UTC.\n\nPopulated by the system. Read-only. Null for lists.
--     More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata

CREATE VIEW validatingadmissionpolicies_row AS
SELECT o.id, o.name,
  coalesce(json_array_length(o.value, '$.spec.validations'), 0) AS validations,
  iif(o.value -> '$.spec.paramKind' IS NULL, '<unset>',
    coalesce(o.value ->> '$.spec.paramKind.apiVersion', '') || '/' || coalesce(o.value ->> '$.spec.paramKind.kind', '')) AS paramkind,
  o.age
FROM object AS o;

CREATE VIEW validatingadmissionpolicies AS
SELECT l.name, r.validations, r.paramkind, r.age
FROM live AS l JOIN validatingadmissionpolicies_row AS r USING (id)
WHERE l.key >= '/registry/validatingadmissionpolicies/' AND l.key < '/registry/validatingadmissionpolicies0';
