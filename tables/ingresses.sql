-- ingresses: what kubectl get ingresses prints.
--
-- view: ingresses
-- resource: networking.k8s.io/ingresses
-- keys: /registry/ingress/NAMESPACE/NAME
-- columns: name | heading | type | format | priority, then the description
--   name | Name | string | name | 0
--     Name must be unique within a namespace. Is required when creating resources, although some resources may
--     allow a client to request the generation of an appropriate name automatically. Name is primarily
--     intended for creation idempotence and configuration definition. Cannot be updated. More info:
--     https://kubernetes.io/docs/concepts/overview/working-with-objects/names#names
--   class | Class | string | - | 0
--     The name of the IngressClass resource that should be used for additional configuration
--   hosts | Hosts | string | - | 0
--     Hosts that incoming requests are matched against before the ingress rule
--   address | Address | string | - | 0
--     Address is a list containing ingress points for the load-balancer
--   ports | Ports | string | - | 0
--     Ports of TLS configurations that open
--   age | Age | string | - | 0
--     CreationTimestamp is a timestamp representing the server time when this object was created. It is not
--     guaranteed to be set in happens-before order across separate operations. Clients may not set this value.
--     It is represented in RFC3339 form and is in UTC.\n\nPopulated by the system. Read-only. Null for lists.
--     More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata

CREATE VIEW ingresses_row AS
SELECT o.id, o.namespace, o.name,
  coalesce(o.value ->> '$.spec.ingressClassName', '<none>') AS class,
  coalesce((
    -- three hosts; with more, upstream counts every rule beyond three, also one without a host
    SELECT group_concat(host, ',') FILTER (WHERE n <= 3)
      || iif(max(iif(n = 3, at, NULL)) < json_array_length(o.value, '$.spec.rules') - 1,
        ' + ' || (json_array_length(o.value, '$.spec.rules') - 3) || ' more...', '')
    FROM (SELECT key AS at, value ->> '$.host' AS host, row_number() OVER (ORDER BY key) AS n
      FROM json_each(o.value -> '$.spec.rules') WHERE value ->> '$.host' <> '')), '*') AS hosts,
  coalesce((SELECT group_concat(ip, ',') FROM (
    SELECT DISTINCT coalesce(nullif(value ->> '$.ip', ''), nullif(value ->> '$.hostname', '')) AS ip
    FROM json_each(o.value -> '$.status.loadBalancer.ingress') ORDER BY 1)), '') AS address,
  iif(json_array_length(o.value, '$.spec.tls') > 0, '80, 443', '80') AS ports,
  o.age
FROM object AS o;

CREATE VIEW ingresses AS
SELECT l.namespace, l.name, r.class, r.hosts, r.address, r.ports, r.age
FROM live AS l JOIN ingresses_row AS r USING (id)
WHERE l.key >= '/registry/ingress/' AND l.key < '/registry/ingress0';
