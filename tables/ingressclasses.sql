-- ingressclasses: what kubectl get ingressclasses prints.
--
-- view: ingressclasses
-- resource: networking.k8s.io/ingressclasses
-- keys: /registry/ingressclasses/NAME
-- columns: name | heading | type | format | priority, then the description
--   name | Name | string | name | 0
--     Name must be unique within a namespace. Is required when creating resources, although some resources may
--     allow a client to request the generation of an appropriate name automatically. Name is primarily
--     intended for creation idempotence and configuration definition. Cannot be updated. More info:
--     https://kubernetes.io/docs/concepts/overview/working-with-objects/names#names
--   controller | Controller | string | - | 0
--     Controller that is responsible for handling this class
--   parameters | Parameters | string | - | 0
--     A reference to a resource with additional parameters
--   age | Age | string | - | 0
--     CreationTimestamp is a timestamp representing the server time when this object was created. It is not
--     guaranteed to be set in happens-before order across separate operations. Clients may not set this value.
--     It is represented in RFC3339 form and is in UTC.\n\nPopulated by the system. Read-only. Null for lists.
--     More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata

CREATE VIEW ingressclasses_row AS
SELECT o.id,
  o.name
    || iif(o.value ->> '$.metadata.annotations."ingressclass.kubernetes.io/is-default-class"' = 'true', ' (default)', '') AS name,
  coalesce(o.value ->> '$.spec.controller', '') AS controller,
  iif(o.value -> '$.spec.parameters' IS NULL, '<none>',
    (o.value ->> '$.spec.parameters.kind') || coalesce('.' || (o.value ->> '$.spec.parameters.apiGroup'), '')
      || '/' || (o.value ->> '$.spec.parameters.name')) AS parameters,
  o.age
FROM object AS o;

CREATE VIEW ingressclasses AS
SELECT r.name, r.controller, r.parameters, r.age
FROM live AS l JOIN ingressclasses_row AS r USING (id)
WHERE l.key >= '/registry/ingressclasses/' AND l.key < '/registry/ingressclasses0';
