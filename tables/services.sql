-- services: what kubectl get services prints.
--
-- view: services
-- resource: core/services
-- keys: /registry/services/specs/NAMESPACE/NAME
-- columns: name | heading | type | format | priority, then the description
--   name | Name | string | name | 0
--     Name must be unique within a namespace. Is required when creating resources, although some resources may
--     allow a client to request the generation of an appropriate name automatically. Name is primarily
--     intended for creation idempotence and configuration definition. Cannot be updated. More info:
--     https://kubernetes.io/docs/concepts/overview/working-with-objects/names#names
--   type | Type | string | - | 0
--     type determines how the Service is exposed. Defaults to ClusterIP. Valid options are ExternalName,
--     ClusterIP, NodePort, and LoadBalancer. "ClusterIP" allocates a cluster-internal IP address for
--     load-balancing to endpoints. Endpoints are determined by the selector or if that is not specified, by
--     manual construction of an Endpoints object or EndpointSlice objects. If clusterIP is "None", no virtual
--     IP is allocated and the endpoints are published as a set of endpoints rather than a virtual IP.
--     "NodePort" builds on ClusterIP and allocates a port on every node which routes to the same endpoints as
--     the clusterIP. "LoadBalancer" builds on NodePort and creates an external load-balancer (if supported in
--     the current cloud) which routes to the same endpoints as the clusterIP. "ExternalName" aliases this
--     service to the specified externalName. Several other fields do not apply to ExternalName services. More
--     info: https://kubernetes.io/docs/concepts/services-networking/service/#publishing-services-service-types
--   clusterip | Cluster-IP | string | - | 0
--     clusterIP is the IP address of the service and is usually assigned randomly. If an address is specified
--     manually, is in-range (as per system configuration), and is not in use, it will be allocated to the
--     service; otherwise creation of the service will fail. This field may not be changed through updates
--     unless the type field is also being changed to ExternalName (which requires this field to be blank) or
--     the type field is being changed from ExternalName (in which case this field may optionally be specified,
--     as describe above).  Valid values are "None", empty string (""), or a valid IP address. Setting this to
--     "None" makes a "headless service" (no virtual IP), which is useful when direct endpoint connections are
--     preferred and proxying is not required.  Only applies to types ClusterIP, NodePort, and LoadBalancer. If
--     this field is specified when creating a Service of type ExternalName, creation will fail. This field
--     will be wiped when updating a Service to type ExternalName. More info:
--     https://kubernetes.io/docs/concepts/services-networking/service/#virtual-ips-and-service-proxies
--   externalip | External-IP | string | - | 0
--     externalIPs is a list of IP addresses for which nodes in the cluster will also accept traffic for this
--     service.  These IPs are not managed by Kubernetes.  The user is responsible for ensuring that traffic
--     arrives at a node with this IP.  A common example is external load-balancers that are not part of the
--     Kubernetes system.
--   ports | Port(s) | string | - | 0
--     The list of ports that are exposed by this service. More info:
--     https://kubernetes.io/docs/concepts/services-networking/service/#virtual-ips-and-service-proxies
--   age | Age | string | - | 0
--     CreationTimestamp is a timestamp representing the server time when this object was created. It is not
--     guaranteed to be set in happens-before order across separate operations. Clients may not set this value.
--     It is represented in RFC3339 form and is in UTC.\n\nPopulated by the system. Read-only. Null for lists.
--     More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata
--   selector | Selector | string | - | 1
--     Route service traffic to pods with label keys and values matching this selector. If empty or not
--     present, the service is assumed to have an external process managing its endpoints, which Kubernetes
--     will not modify. Only applies to types ClusterIP, NodePort, and LoadBalancer. Ignored if type is
--     ExternalName. More info: https://kubernetes.io/docs/concepts/services-networking/service/

CREATE VIEW services_row AS
SELECT o.id, o.namespace, o.name,
  coalesce(o.value ->> '$.spec.type', '') AS type,
  coalesce(o.value ->> '$.spec.clusterIPs[0]', '<none>') AS clusterip,
  CASE o.value ->> '$.spec.type'
    WHEN 'ExternalName' THEN coalesce(o.value ->> '$.spec.externalName', '')
    WHEN 'ClusterIP' THEN coalesce(nullif({{join o.value -> '$.spec.externalIPs'}}, ''), '<none>')
    WHEN 'NodePort' THEN coalesce(nullif({{join o.value -> '$.spec.externalIPs'}}, ''), '<none>')
    WHEN 'LoadBalancer' THEN coalesce(
      -- the balancer's addresses, sorted, each once; then the service's own
      (SELECT group_concat(ip, ',') FROM (
        SELECT ip FROM (SELECT DISTINCT coalesce(nullif(value ->> '$.ip', ''), nullif(value ->> '$.hostname', '')) AS ip
          FROM json_each(o.value -> '$.status.loadBalancer.ingress') ORDER BY 1)
        UNION ALL SELECT value FROM json_each(o.value -> '$.spec.externalIPs'))),
      '<pending>')
    ELSE '<unknown>'
  END AS externalip,
  coalesce((SELECT group_concat((value ->> '$.port')
      || iif(coalesce(value ->> '$.nodePort', 0) > 0, ':' || (value ->> '$.nodePort'), '')
      || '/' || coalesce(value ->> '$.protocol', ''), ',')
    FROM json_each(o.value -> '$.spec.ports')), '<none>') AS ports,
  o.age,
  {{labels o.value -> '$.spec.selector'}} AS selector
FROM object AS o;

CREATE VIEW services AS
SELECT l.namespace, l.name, r.type, r.clusterip, r.externalip, r.ports, r.age, r.selector
FROM live AS l JOIN services_row AS r USING (id)
WHERE l.key >= '/registry/services/specs/' AND l.key < '/registry/services/specs0';
