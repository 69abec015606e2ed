-- rolebindings: what kubectl get rolebindings prints.
--
-- view: rolebindings
-- resource: rbac.authorization.k8s.io/rolebindings
-- keys: /registry/rolebindings/NAMESPACE/NAME
-- columns: name | heading | type | format | priority, then the description
--   name | Name | string | name | 0
--     Name must be unique within a namespace. Is required when creating resources, although some resources may
--     allow a client to request the generation of an appropriate name automatically. Name is primarily
--     intended for creation idempotence and configuration definition. Cannot be updated. More info:
--     https://kubernetes.io/docs/concepts/overview/working-with-objects/names#names
--   role | Role | string | - | 0
--     roleRef can reference a Role in the current namespace or a ClusterRole in the global namespace. If the
--     RoleRef cannot be resolved, the Authorizer must return an error.
--   age | Age | string | - | 0
--     CreationTimestamp is a timestamp representing the server time when this object was created. It is not
--     guaranteed to be set in happens-before order across separate operations. Clients may not set this value.
--     It is represented in RFC3339 form and is in UTC.\n\nPopulated by the system. Read-only. Null for lists.
--     More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata
--   users | Users | string | - | 1
--     Users in the roleBinding
--   groups | Groups | string | - | 1
--     Groups in the roleBinding
--   serviceaccounts | ServiceAccounts | string | - | 1
--     ServiceAccounts in the roleBinding

CREATE VIEW rolebindings_row AS
SELECT o.id, o.namespace, o.name,
  coalesce(o.value ->> '$.roleRef.kind', '') || '/' || coalesce(o.value ->> '$.roleRef.name', '') AS role,
  o.age,
  {{subjects User; value ->> '$.name'}} AS users,
  {{subjects Group; value ->> '$.name'}} AS groups,
  {{subjects ServiceAccount; coalesce(value ->> '$.namespace', '') || '/' || (value ->> '$.name')}} AS serviceaccounts
FROM object AS o;

CREATE VIEW rolebindings AS
SELECT l.namespace, l.name, r.role, r.age, r.users, r.groups, r.serviceaccounts
FROM live AS l JOIN rolebindings_row AS r USING (id)
WHERE l.key >= '/registry/rolebindings/' AND l.key < '/registry/rolebindings0';
