-- priorityclasses: what kubectl get priorityclasses prints.
--
-- view: priorityclasses
-- resource: scheduling.k8s.io/priorityclasses
-- keys: /registry/priorityclasses/NAME
-- columns: name | heading | type | format | priority, then the description
--   name | Name | string | name | 0
--     Name must be unique within a namespace. Is required when creating resources, although some resources may
--     allow a client to request the generation of an appropriate name automatically. Name is primarily
--     intended for creation idempotence and configuration definition. Cannot be updated. More info:
--     https://kubernetes.io/docs/concepts/overview/working-with-objects/names#names
--   value | Value | integer | - | 0
--     value represents the integer value of this priority class. This is the actual priority that pods receive
--     when they have the name of this class in their pod spec.
--   globaldefault | Global-Default | boolean | - | 0 | bool
--     globalDefault specifies whether this PriorityClass should be considered as the default priority for pods
--     that do not have any priority class. Only one PriorityClass can be marked as `globalDefault`. However,
--     if more than one PriorityClasses exists with their `globalDefault` field set to true, the smallest value
--     of such global default PriorityClasses will be used as the default priority.
--   age | Age | string | - | 0
--     CreationTimestamp is a timestamp representing the server time when this object was created. It is not
--     guaranteed to be set in happens-before order across separate operations. Clients may not set this value.
--     It is represented in RFC3339 form and is in UTC.\n\nPopulated by the system. Read-only. Null for lists.
--     More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata
--   preemptionpolicy | PreemptionPolicy | string | - | 0
--     preemptionPolicy is the Policy for preempting pods with lower priority. One of Never,
--     PreemptLowerPriority. Defaults to PreemptLowerPriority if unset.

CREATE VIEW priorityclasses_row AS
SELECT o.id, o.name,
  coalesce(o.value ->> '$.value', 0) AS value,
  {{bool o.value ->> '$.globalDefault'}} AS globaldefault,
  o.age,
  coalesce(o.value ->> '$.preemptionPolicy', '') AS preemptionpolicy
FROM object AS o;

CREATE VIEW priorityclasses AS
SELECT l.name, r.value, r.globaldefault, r.age, r.preemptionpolicy
FROM live AS l JOIN priorityclasses_row AS r USING (id)
WHERE l.key >= '/registry/priorityclasses/' AND l.key < '/registry/priorityclasses0';
