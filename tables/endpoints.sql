-- endpoints: what kubectl get endpoints prints: the first three addresses and how many more.
--
-- view: endpoints
-- resource: core/endpoints
-- keys: /registry/services/endpoints/NAMESPACE/NAME
-- columns: name | heading | type | format | priority, then the description
--   name | Name | string | name | 0
--     Name must be unique within a namespace. Is required when creating resources, although some resources may
--     allow a client to request the generation of an appropriate name automatically. Name is primarily
--     intended for creation idempotence and configuration definition. Cannot be updated. More info:
--     https://kubernetes.io/docs/concepts/overview/working-with-objects/names#names
--   endpoints | Endpoints | string | - | 0
--     The set of all endpoints is the union of all subsets. Addresses are placed into subsets according to the
--     IPs they share. A single address with multiple ports, some of which are ready and some of which are not
--     (because they come from different containers) will result in the address being displayed in different
--     subsets for the different ports. No address will appear in both Addresses and NotReadyAddresses in the
--     same subset. Sets of addresses and ports that comprise a service.
--   age | Age | string | - | 0
--     CreationTimestamp is a timestamp representing the server time when this object was created. It is not
--     guaranteed to be set in happens-before order across separate operations. Clients may not set this value.
--     It is represented in RFC3339 form and is in UTC.\n\nPopulated by the system. Read-only. Null for lists.
--     More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata

CREATE VIEW endpoints_row AS
SELECT o.id, o.namespace, o.name,
  CASE WHEN coalesce(json_array_length(o.value, '$.subsets'), 0) = 0 THEN '<none>' ELSE
    (SELECT coalesce(group_concat(address, ',') FILTER (WHERE n <= 3), '')
        || iif(count(*) > 3, ' + ' || (count(*) - 3) || ' more...', '')
      FROM (
        SELECT row_number() OVER (ORDER BY s.key, p.key, a.key) AS n, CASE
          WHEN p.value IS NULL THEN a.value ->> '$.ip'
          WHEN a.value ->> '$.ip' LIKE '%:%' THEN '[' || (a.value ->> '$.ip') || ']:' || (p.value ->> '$.port')
          ELSE (a.value ->> '$.ip') || ':' || (p.value ->> '$.port')
        END AS address
        FROM json_each(o.value -> '$.subsets') AS s
        LEFT JOIN json_each(s.value -> '$.ports') AS p
        JOIN json_each(s.value -> '$.addresses') AS a
        ORDER BY 1))
  END AS endpoints,
  o.age
FROM object AS o;

CREATE VIEW endpoints AS
SELECT l.namespace, l.name, r.endpoints, r.age
FROM live AS l JOIN endpoints_row AS r USING (id)
WHERE l.key >= '/registry/services/endpoints/' AND l.key < '/registry/services/endpoints0';
