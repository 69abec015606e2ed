-- horizontalpodautoscalers: what kubectl get horizontalpodautoscalers prints: two metrics as current/target and how many more.
--
-- view: horizontalpodautoscalers
-- resource: autoscaling/horizontalpodautoscalers
-- keys: /registry/horizontalpodautoscalers/NAMESPACE/NAME
-- columns: name | heading | type | format | priority, then the description
--   name | Name | string | name | 0
--     Name must be unique within a namespace. Is required when creating resources, although some resources may
--     allow a client to request the generation of an appropriate name automatically. Name is primarily
--     intended for creation idempotence and configuration definition. Cannot be updated. More info:
--     https://kubernetes.io/docs/concepts/overview/working-with-objects/names#names
--   reference | Reference | string | - | 0
--     scaleTargetRef points to the target resource to scale, and is used to the pods for which metrics should
--     be collected, as well as to actually change the replica count.
--   targets | Targets | string | - | 0
--     metrics contains the specifications for which to use to calculate the desired replica count (the maximum
--     replica count across all metrics will be used).  The desired replica count is calculated multiplying the
--     ratio between the target value and the current value by the current number of pods.  Ergo, metrics used
--     must decrease as the pod count is increased, and vice-versa.  See the individual metric source types for
--     more information about how each type of metric must respond. If not set, the default metric will be set
--     to 80% average CPU utilization.
--   minpods | MinPods | string | - | 0
--     minReplicas is the lower limit for the number of replicas to which the autoscaler can scale down.  It
--     defaults to 1 pod.  minReplicas is allowed to be 0 if the alpha feature gate HPAScaleToZero is enabled
--     and at least one Object or External metric is configured.  Scaling is active as long as at least one
--     metric value is available.
--   maxpods | MaxPods | string | - | 0
--     maxReplicas is the upper limit for the number of replicas to which the autoscaler can scale up. It
--     cannot be less that minReplicas.
--   replicas | Replicas | string | - | 0
--     currentReplicas is current number of replicas of pods managed by this autoscaler, as last seen by the
--     autoscaler.
--   age | Age | string | - | 0
--     CreationTimestamp is a timestamp representing the server time when this object was created. It is not
--     guaranteed to be set in happens-before order across separate operations. Clients may not set this value.
--     It is represented in RFC3339 form and is in UTC.\n\nPopulated by the system. Read-only. Null for lists.
--     More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata

-- The n-th entry of status.currentMetrics belongs to the n-th of spec.metrics. t is the target, c the current value.
CREATE VIEW horizontalpodautoscalers_row AS
SELECT o.id, o.namespace, o.name,
  coalesce(o.value ->> '$.spec.scaleTargetRef.kind', '') || '/' || coalesce(o.value ->> '$.spec.scaleTargetRef.name', '') AS reference,
  coalesce((
    SELECT group_concat(metric, ', ') FILTER (WHERE n < 2) || iif(count(*) > 2, ' + ' || (count(*) - 2) || ' more...', '')
    FROM (
      SELECT n, CASE
        WHEN type IN ('External', 'Object') THEN
          CASE WHEN t -> '$.averageValue' IS NOT NULL
            THEN coalesce(c ->> '$.averageValue', '<unknown>') || '/' || (t ->> '$.averageValue') || ' (avg)'
            ELSE iif(c IS NULL, '<unknown>', coalesce(c ->> '$.value', '<nil>')) || '/' || coalesce(t ->> '$.value', '<nil>') END
        WHEN type = 'Pods' THEN
          iif(c IS NULL, '<unknown>', coalesce(c ->> '$.averageValue', '<nil>')) || '/' || coalesce(t ->> '$.averageValue', '<nil>')
        WHEN type IN ('Resource', 'ContainerResource') THEN
          resource || ': ' || CASE WHEN t -> '$.averageValue' IS NOT NULL
            THEN iif(c IS NULL, '<unknown>', coalesce(c ->> '$.averageValue', '<nil>')) || '/' || (t ->> '$.averageValue')
            ELSE coalesce((c ->> '$.averageUtilization') || '%', '<unknown>') || '/' || coalesce((t ->> '$.averageUtilization') || '%', '<auto>') END
        ELSE '<unknown type>'
      END AS metric
      FROM (
        SELECT n, type, spec ->> '$.name' AS resource, spec -> '$.target' AS t, status -> '$.current' AS c
        FROM (
          SELECT n, type, m -> field AS spec, o.value -> ('$.status.currentMetrics[' || n || '].' || field) AS status
          FROM (
            SELECT key AS n, value AS m, value ->> '$.type' AS type,
              lower(substr(value ->> '$.type', 1, 1)) || substr(value ->> '$.type', 2) AS field
            FROM json_each(o.value -> '$.spec.metrics')))))), '<none>') AS targets,
  coalesce(CAST(o.value ->> '$.spec.minReplicas' AS TEXT), '<unset>') AS minpods,
  coalesce(o.value ->> '$.spec.maxReplicas', 0) AS maxpods,
  coalesce(o.value ->> '$.status.currentReplicas', 0) AS replicas,
  o.age
FROM object AS o;

CREATE VIEW horizontalpodautoscalers AS
SELECT l.namespace, l.name, r.reference, r.targets, r.minpods, r.maxpods, r.replicas, r.age
FROM live AS l JOIN horizontalpodautoscalers_row AS r USING (id)
WHERE l.key >= '/registry/horizontalpodautoscalers/' AND l.key < '/registry/horizontalpodautoscalers0';
