-- nodes: what kubectl get nodes prints.
--
-- view: nodes
-- resource: core/nodes
-- keys: /registry/minions/NAME
-- columns: name | heading | type | format | priority, then the description
--   name | Name | string | name | 0
--     Name must be unique within a namespace. Is required when creating resources, although some resources may
--     allow a client to request the generation of an appropriate name automatically. Name is primarily
--     intended for creation idempotence and configuration definition. Cannot be updated. More info:
--     https://kubernetes.io/docs/concepts/overview/working-with-objects/names#names
--   status | Status | string | - | 0
--     The status of the node
--   roles | Roles | string | - | 0
--     The roles of the node
--   age | Age | string | - | 0
--     CreationTimestamp is a timestamp representing the server time when this object was created. It is not
--     guaranteed to be set in happens-before order across separate operations. Clients may not set this value.
--     It is represented in RFC3339 form and is in UTC.\n\nPopulated by the system. Read-only. Null for lists.
--     More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata
--   version | Version | string | - | 0
--     Kubelet Version reported by the node.
--   internalip | Internal-IP | string | - | 1
--     List of addresses reachable to the node. Queried from cloud provider, if available. More info:
--     https://kubernetes.io/docs/reference/node/node-status/#addresses Note: This field is declared as
--     mergeable, but the merge key is not sufficiently unique, which can cause data corruption when it is
--     merged. Callers should instead use a full-replacement patch. See https://pr.k8s.io/79391 for an example.
--     Consumers should assume that addresses can change during the lifetime of a Node. However, there are some
--     exceptions where this may not be possible, such as Pods that inherit a Node's address in its own status
--     or consumers of the downward API (status.hostIP).
--   externalip | External-IP | string | - | 1
--     List of addresses reachable to the node. Queried from cloud provider, if available. More info:
--     https://kubernetes.io/docs/reference/node/node-status/#addresses Note: This field is declared as
--     mergeable, but the merge key is not sufficiently unique, which can cause data corruption when it is
--     merged. Callers should instead use a full-replacement patch. See https://pr.k8s.io/79391 for an example.
--     Consumers should assume that addresses can change during the lifetime of a Node. However, there are some
--     exceptions where this may not be possible, such as Pods that inherit a Node's address in its own status
--     or consumers of the downward API (status.hostIP).
--   osimage | OS-Image | string | - | 1
--     OS Image reported by the node from /etc/os-release (e.g. Debian GNU/Linux 7 (wheezy)).
--   kernelversion | Kernel-Version | string | - | 1
--     Kernel Version reported by the node from 'uname -r' (e.g. 3.16.0-0.bpo.4-amd64).
--   containerruntime | Container-Runtime | string | - | 1
--     ContainerRuntime Version reported by the node through runtime remote API (e.g. containerd://1.4.2).

CREATE VIEW nodes_row AS
SELECT o.id, o.name,
  coalesce((SELECT CASE value ->> '$.status' WHEN 'True' THEN 'Ready' ELSE 'NotReady' END
    FROM json_each(o.value -> '$.status.conditions') WHERE value ->> '$.type' = 'Ready' ORDER BY key DESC LIMIT 1), 'Unknown')
    || iif(o.value ->> '$.spec.unschedulable', ',SchedulingDisabled', '') AS status,
  coalesce((SELECT group_concat(role, ',') FROM (
    SELECT DISTINCT iif(key = 'kubernetes.io/role', value, substr(key, length('node-role.kubernetes.io/') + 1)) AS role
    FROM json_each(o.value -> '$.metadata.labels')
    WHERE (key = 'kubernetes.io/role' AND value <> '')
      OR (key GLOB 'node-role.kubernetes.io/*' AND length(key) > length('node-role.kubernetes.io/'))
    ORDER BY role)), '<none>') AS roles,
  o.age,
  coalesce(o.value ->> '$.status.nodeInfo.kubeletVersion', '') AS version,
  coalesce((SELECT value ->> '$.address' FROM json_each(o.value -> '$.status.addresses')
    WHERE value ->> '$.type' = 'InternalIP' ORDER BY key LIMIT 1), '<none>') AS internalip,
  coalesce((SELECT value ->> '$.address' FROM json_each(o.value -> '$.status.addresses')
    WHERE value ->> '$.type' = 'ExternalIP' ORDER BY key LIMIT 1), '<none>') AS externalip,
  coalesce(nullif(o.value ->> '$.status.nodeInfo.osImage', ''), '<unknown>') AS osimage,
  coalesce(nullif(o.value ->> '$.status.nodeInfo.kernelVersion', ''), '<unknown>')
    || coalesce(' (' || nullif(o.value ->> '$.status.nodeInfo.architecture', '') || ')', '') AS kernelversion,
  coalesce(nullif(o.value ->> '$.status.nodeInfo.containerRuntimeVersion', ''), '<unknown>') AS containerruntime
FROM object AS o;

CREATE VIEW nodes AS
SELECT l.name, r.status, r.roles, r.age, r.version, r.internalip, r.externalip, r.osimage, r.kernelversion,
  r.containerruntime
FROM live AS l JOIN nodes_row AS r USING (id)
WHERE l.key >= '/registry/minions/' AND l.key < '/registry/minions0';
