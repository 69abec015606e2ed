-- servicecidrs: what kubectl get servicecidrs prints.
--
-- view: servicecidrs
-- resource: networking.k8s.io/servicecidrs
-- keys: /registry/servicecidrs/NAME
-- columns: name | heading | type | format | priority, then the description
--   name | Name | string | name | 0
--     Name must be unique within a namespace. Is required when creating resources, although some resources may
--     allow a client to request the generation of an appropriate name automatically. Name is primarily
--     intended for creation idempotence and configuration definition. Cannot be updated. More info:
--     https://kubernetes.io/docs/concepts/overview/working-with-objects/names#names
--   cidrs | CIDRs | string | - | 0
--     cidrs defines the IP blocks in CIDR notation (e.g. "192.168.0.0/24" or "2001:db8::/64") from which to
--     assign service cluster IPs. Max of two CIDRs is allowed, one of each IP family. This field is immutable.
--   age | Age | string | - | 0
--     CreationTimestamp is a timestamp representing the server time when this object was created. It is not
--     guaranteed to be set in happens-before order across separate operations. Clients may not set this value.
--     It is represented in RFC3339 form and is in UTC.\n\nPopulated by the system. Read-only. Null for lists.
--     More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata

CREATE VIEW servicecidrs_row AS
SELECT o.id, o.name,
  {{join o.value -> '$.spec.cidrs'}} AS cidrs,
  o.age
FROM object AS o;

CREATE VIEW servicecidrs AS
SELECT l.name, r.cidrs, r.age
FROM live AS l JOIN servicecidrs_row AS r USING (id)
WHERE l.key >= '/registry/servicecidrs/' AND l.key < '/registry/servicecidrs0';
