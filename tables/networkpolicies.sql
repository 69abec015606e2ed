-- networkpolicies: what kubectl get networkpolicies prints.
--
-- view: networkpolicies
-- resource: networking.k8s.io/networkpolicies
-- keys: /registry/networkpolicies/NAMESPACE/NAME
-- columns: name | heading | type | format | priority, then the description
--   name | Name | string | name | 0
--     Name must be unique within a namespace. Is required when creating resources, although some resources may
--     allow a client to request the generation of an appropriate name automatically. Name is primarily
--     intended for creation idempotence and configuration definition. Cannot be updated. More info:
--     https://kubernetes.io/docs/concepts/overview/working-with-objects/names#names
--   podselector | Pod-Selector | string | - | 0
--     podSelector selects the pods to which this NetworkPolicy object applies. The array of rules is applied
--     to any pods selected by this field. An empty selector matches all pods in the policy's namespace.
--     Multiple network policies can select the same set of pods. In this case, the ingress rules for each are
--     combined additively. This field is optional. If it is not specified, it defaults to an empty selector.
--   age | Age | string | - | 0
--     CreationTimestamp is a timestamp representing the server time when this object was created. It is not
--     guaranteed to be set in happens-before order across separate operations. Clients may not set this value.
--     It is represented in RFC3339 form and is in UTC.\n\nPopulated by the system. Read-only. Null for lists.
--     More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata

CREATE VIEW networkpolicies_row AS
SELECT o.id, o.namespace, o.name,
  coalesce({{selector o.value -> '$.spec.podSelector'}}, '<none>') AS podselector,
  o.age
FROM object AS o;

CREATE VIEW networkpolicies AS
SELECT l.namespace, l.name, r.podselector, r.age
FROM live AS l JOIN networkpolicies_row AS r USING (id)
WHERE l.key >= '/registry/networkpolicies/' AND l.key < '/registry/networkpolicies0';
