-- flowschemas: what kubectl get flowschemas prints: by precedence, not by name.
--
-- view: flowschemas
-- resource: flowcontrol.apiserver.k8s.io/flowschemas
-- keys: /registry/flowschemas/NAME
-- order: matchingprecedence, name
-- columns: name | heading | type | format | priority, then the description
--   name | Name | string | name | 0
--     Name must be unique within a namespace. Is required when creating resources, although some resources may
--     allow a client to request the generation of an appropriate name automatically. Name is primarily
--     intended for creation idempotence and configuration definition. Cannot be updated. More info:
--     https://kubernetes.io/docs/concepts/overview/working-with-objects/names#names
--   prioritylevel | PriorityLevel | string | - | 0
--     `name` is the name of the priority level configuration being referenced Required.
--   matchingprecedence | MatchingPrecedence | string | - | 0
--     `matchingPrecedence` is used to choose among the FlowSchemas that match a given request. The chosen
--     FlowSchema is among those with the numerically lowest (which we take to be logically highest)
--     MatchingPrecedence.  Each MatchingPrecedence value must be ranged in [1,10000]. Note that if the
--     precedence is not specified, it will be set to 1000 as default.
--   distinguishermethod | DistinguisherMethod | string | - | 0
--     `distinguisherMethod` defines how to compute the flow distinguisher for requests that match this schema.
--     `nil` specifies that the distinguisher is disabled and thus will always be the empty string.
--   age | Age | string | - | 0
--     CreationTimestamp is a timestamp representing the server time when this object was created. It is not
--     guaranteed to be set in happens-before order across separate operations. Clients may not set this value.
--     It is represented in RFC3339 form and is in UTC.\n\nPopulated by the system. Read-only. Null for lists.
--     More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata
--   missingpl | MissingPL | string | - | 0
--     references a broken or non-existent PriorityLevelConfiguration

CREATE VIEW flowschemas_row AS
SELECT o.id, o.name,
  coalesce(o.value ->> '$.spec.priorityLevelConfiguration.name', '') AS prioritylevel,
  coalesce(o.value ->> '$.spec.matchingPrecedence', 0) AS matchingprecedence,
  coalesce(o.value ->> '$.spec.distinguisherMethod.type', '<none>') AS distinguishermethod,
  o.age,
  coalesce({{condition Dangling}}, '?') AS missingpl
FROM object AS o;

CREATE VIEW flowschemas AS
SELECT l.name, r.prioritylevel, r.matchingprecedence, r.distinguishermethod, r.age, r.missingpl
FROM live AS l JOIN flowschemas_row AS r USING (id)
WHERE l.key >= '/registry/flowschemas/' AND l.key < '/registry/flowschemas0'
ORDER BY r.matchingprecedence, l.name;
