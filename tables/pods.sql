-- pods: what kubectl get pods prints. STATUS follows upstream's order of cases.
--
-- view: pods
-- resource: core/pods
-- keys: /registry/pods/NAMESPACE/NAME
-- columns: name | heading | type | format | priority, then the description
--   name | Name | string | name | 0
--     Name must be unique within a namespace. Is required when creating resources, although some resources may
--     allow a client to request the generation of an appropriate name automatically. Name is primarily
--     intended for creation idempotence and configuration definition. Cannot be updated. More info:
--     https://kubernetes.io/docs/concepts/overview/working-with-objects/names#names
--   ready | Ready | string | - | 0
--     The aggregate readiness state of this pod for accepting traffic.
--   status | Status | string | - | 0
--     The aggregate status of the containers in this pod.
--   restarts | Restarts | string | - | 0
--     The number of times the containers in this pod have been restarted and when the last container in this
--     pod has restarted.
--   age | Age | string | - | 0
--     CreationTimestamp is a timestamp representing the server time when this object was created. It is not
--     guaranteed to be set in happens-before order across separate operations. Clients may not set this value.
--     It is represented in RFC3339 form and is in UTC.\n\nPopulated by the system. Read-only. Null for lists.
--     More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata
--   ip | IP | string | - | 1
--     podIP address allocated to the pod. Routable at least within the cluster. Empty if not yet allocated.
--   node | Node | string | - | 1
--     NodeName indicates in which node this pod is scheduled. If empty, this pod is a candidate for scheduling
--     by the scheduler defined in schedulerName. Once this field is set, the kubelet for this node becomes
--     responsible for the lifecycle of this pod. This field should not be used to express a desire for the pod
--     to be scheduled on a specific node.
--     https://kubernetes.io/docs/concepts/scheduling-eviction/assign-pod-node/#nodename
--   nominated_node | Nominated Node | string | - | 1
--     nominatedNodeName is set only when this pod preempts other pods on the node, but it cannot be scheduled
--     right away as preemption victims receive their graceful termination periods. This field does not
--     guarantee that the pod will be scheduled on this node. Scheduler may decide to place the pod elsewhere
--     if other nodes become available sooner. Scheduler may also decide to give the resources on this node to
--     a higher priority pod that is created after preemption. As a result, this field may be different than
--     PodSpec.nodeName when the pod is scheduled.
--   readiness_gates | Readiness Gates | string | - | 1
--     If specified, all readiness gates will be evaluated for pod readiness. A pod is ready when all its
--     containers are ready AND all conditions specified in the readiness gates have status equal to "True"
--     More info: https://git.k8s.io/enhancements/keps/sig-network/580-pod-readiness-gates

-- p.value is one JSON object, made once a row: json_each over an array of one element is
-- how SQLite spells "let". i are its init containers up to the first that is not done, c its
-- containers; started says whether those count.
CREATE VIEW pods_row AS
SELECT o.id,
  o.namespace,
  o.name,
  p.value ->> '$.ready' AS ready,
  CASE
    WHEN o.value -> '$.metadata.deletionTimestamp' IS NULL THEN p.value ->> '$.reason'
    WHEN o.value ->> '$.status.reason' = 'NodeLost' THEN 'Unknown'
    WHEN o.value ->> '$.status.phase' IN ('Succeeded', 'Failed') THEN p.value ->> '$.reason'
    ELSE 'Terminating'
  END AS status,
  CASE
    WHEN p.value ->> '$.restarts' = 0 OR p.value ->> '$.last' IS NULL THEN CAST(p.value ->> '$.restarts' AS TEXT)
    ELSE (p.value ->> '$.restarts') || ' (' || {{since p.value ->> '$.last'}} || ' ago)'
  END AS restarts,
  o.age,
  coalesce(nullif(o.value ->> '$.status.podIPs[0].ip', ''), '<none>') AS ip,
  coalesce(nullif(o.value ->> '$.spec.nodeName', ''), '<none>') AS node,
  coalesce(nullif(o.value ->> '$.status.nominatedNodeName', ''), '<none>') AS nominated_node,
  coalesce((
    -- a gate counts when the first condition of its type is True
    SELECT count(*) FILTER (WHERE 'True' = (
        SELECT value ->> '$.status' FROM json_each(o.value -> '$.status.conditions')
        WHERE value ->> '$.type' = gate.value ->> '$.conditionType' LIMIT 1))
      || '/' || count(*)
    FROM json_each(o.value -> '$.spec.readinessGates') AS gate
    HAVING count(*) > 0), '<none>') AS readiness_gates
FROM object AS o, json_each(json_array((
  SELECT json_object(
    'ready', (sidecars_ready + iif(started, containers_ready, 0)) || '/' || (
      SELECT coalesce(json_array_length(o.value, '$.spec.containers'), 0) + count(*)
      FROM json_each(o.value -> '$.spec.initContainers') WHERE value ->> '$.restartPolicy' = 'Always'),
    'restarts', iif(started, sidecar_restarts + container_restarts, init_restarts),
    'last', nullif(iif(started, max(sidecar_last, container_last), init_last), ''),
    'reason', CASE
      WHEN reason IS NOT 'Completed' OR NOT started THEN reason
      -- a finished container does not hide one that still runs, or one that failed
      WHEN containers_ready > 0 AND 'True' IN {{conditions Ready}} THEN 'Running'
      WHEN error IS NOT NULL THEN error
      WHEN containers_ready > 0 THEN 'NotReady'
      ELSE reason
    END)
  FROM (
    SELECT *, coalesce(iif(started, container_reason, NULL), init_reason,
      -- most pods never had a gate: the text says so faster than its conditions
      CASE WHEN instr(o.value, 'SchedulingGated') > 0 AND EXISTS (SELECT * FROM json_each(o.value -> '$.status.conditions')
        WHERE value ->> '$.type' = 'PodScheduled' AND value ->> '$.reason' = 'SchedulingGated') THEN 'SchedulingGated' END,
      nullif(o.value ->> '$.status.reason', ''), o.value ->> '$.status.phase', '') AS reason
    FROM (
      SELECT *, CASE WHEN init_reason IS NULL THEN 1 ELSE 'True' IS {{condition Initialized}} END AS started
      FROM (
        WITH status AS NOT MATERIALIZED (
          SELECT s.key AS n, s.value AS s, EXISTS (
            SELECT * FROM json_each(o.value -> '$.spec.initContainers') AS spec
            WHERE spec.value ->> '$.name' = s.value ->> '$.name' AND spec.value ->> '$.restartPolicy' = 'Always') AS sidecar
          FROM json_each(o.value -> '$.status.initContainerStatuses') AS s
        ), init AS NOT MATERIALIZED (
          SELECT n, s, sidecar, CASE
            WHEN s ->> '$.state.terminated.exitCode' = 0 THEN NULL
            WHEN sidecar AND s ->> '$.started' THEN NULL
            WHEN s ->> '$.state.terminated.reason' <> '' THEN 'Init:' || (s ->> '$.state.terminated.reason')
            WHEN s ->> '$.state.terminated.signal' <> 0 THEN 'Init:Signal:' || (s ->> '$.state.terminated.signal')
            WHEN s -> '$.state.terminated' IS NOT NULL THEN 'Init:ExitCode:' || (s ->> '$.state.terminated.exitCode')
            WHEN s ->> '$.state.waiting.reason' NOT IN ('', 'PodInitializing') THEN 'Init:' || (s ->> '$.state.waiting.reason')
            ELSE 'Init:' || n || '/' || coalesce(json_array_length(o.value, '$.spec.initContainers'), 0)
          END AS waits
          FROM status
        )
        SELECT
          max(waits) AS init_reason,
          coalesce(sum(s ->> '$.restartCount'), 0) AS init_restarts,
          coalesce(max(s ->> '$.lastState.terminated.finishedAt'), '') AS init_last,
          coalesce(sum(s ->> '$.restartCount') FILTER (WHERE sidecar), 0) AS sidecar_restarts,
          coalesce(max(s ->> '$.lastState.terminated.finishedAt') FILTER (WHERE sidecar), '') AS sidecar_last,
          count(*) FILTER (WHERE waits IS NULL AND sidecar AND s ->> '$.ready' AND s ->> '$.state.terminated.exitCode' IS NOT 0) AS sidecars_ready
        FROM init
        WHERE n <= coalesce((SELECT min(n) FROM init WHERE waits IS NOT NULL), n)
      ) AS i, (
        -- the first container that waits or has ended names the reason: its place goes before the text, so that min() finds it
        SELECT
          count(*) FILTER (WHERE why IS NULL AND s ->> '$.ready' AND s -> '$.state.running' IS NOT NULL) AS containers_ready,
          coalesce(sum(s ->> '$.restartCount'), 0) AS container_restarts,
          coalesce(max(s ->> '$.lastState.terminated.finishedAt'), '') AS container_last,
          substr(min(format('%04d', n) || why), 5) AS container_reason,
          substr(min(format('%04d', n) || why) FILTER (WHERE waits = '' AND s ->> '$.state.terminated.exitCode' <> 0), 5) AS error
        FROM (
          SELECT n, s, waits, CASE
            WHEN waits <> '' THEN waits
            WHEN s -> '$.state.terminated' IS NULL THEN NULL
            WHEN s ->> '$.state.terminated.reason' <> '' THEN s ->> '$.state.terminated.reason'
            WHEN s ->> '$.state.terminated.signal' <> 0 THEN 'Signal:' || (s ->> '$.state.terminated.signal')
            ELSE 'ExitCode:' || (s ->> '$.state.terminated.exitCode')
          END AS why
          FROM (SELECT key AS n, value AS s, coalesce(value ->> '$.state.waiting.reason', '') AS waits
            FROM json_each(o.value -> '$.status.containerStatuses'))
        )
      ) AS c
    )
  )
))) AS p;

CREATE VIEW pods AS
SELECT l.namespace, l.name, r.ready, r.status, r.restarts, r.age, r.ip, r.node, r.nominated_node, r.readiness_gates
FROM live AS l JOIN pods_row AS r USING (id)
WHERE l.key >= '/registry/pods/' AND l.key < '/registry/pods0';
