-- events: what kubectl get events prints.
--
-- view: events
-- resource: core/events, events.k8s.io/events
-- keys: /registry/events/NAMESPACE/NAME
-- columns: name | heading | type | format | priority, then the description
--   last_seen | Last Seen | string | - | 0
--     The time at which the most recent occurrence of this event was recorded.
--   type | Type | string | - | 0
--     Type of this event (Normal, Warning), new types could be added in the future
--   reason | Reason | string | - | 0
--     This should be a short, machine understandable string that gives the reason for the transition into the
--     object's current status.
--   object | Object | string | - | 0
--     The object that this event is about.
--   subobject | Subobject | string | - | 1
--     If referring to a piece of an object instead of an entire object, this string should contain a valid
--     JSON/Go field access statement, such as desiredState.manifest.containers[2]. For example, if the object
--     reference is to a container within a pod, this would take on a value like: "spec.containers{name}"
--     (where "name" refers to the name of the container that triggered the event) or if no container name is
--     specified "spec.containers[2]" (container with index 2 in this pod). This syntax is chosen only to have
--     some well-defined way of referencing a part of an object.
--   source | Source | string | - | 1
--     The component reporting this event. Should be a short machine understandable string.
--   message | Message | string | - | 0
--     A human-readable description of the status of this operation.
--   first_seen | First Seen | string | - | 1
--     The time at which the event was first recorded. (Time of server receipt is in TypeMeta.)
--   count | Count | string | - | 1
--     The number of times this event has occurred.
--   name | Name | string | name | 1
--     Name must be unique within a namespace. Is required when creating resources, although some resources may
--     allow a client to request the generation of an appropriate name automatically. Name is primarily
--     intended for creation idempotence and configuration definition. Cannot be updated. More info:
--     https://kubernetes.io/docs/concepts/overview/working-with-objects/names#names

-- An event of the old API has first and last timestamps and a count, one of the new API an eventTime and a series.
CREATE VIEW events_row AS
SELECT o.id,
  o.namespace,
  {{since coalesce(
    o.value ->> '$.series.lastObservedTime',
    iif(o.value -> '$.series' IS NULL, coalesce(o.value ->> '$.lastTimestamp', o.value ->> '$.firstTimestamp', o.value ->> '$.eventTime'), NULL))}} AS last_seen,
  coalesce(o.value ->> '$.type', '') AS type,
  coalesce(o.value ->> '$.reason', '') AS reason,
  lower(coalesce(o.value ->> '$.involvedObject.kind', ''))
    || coalesce('/' || nullif(o.value ->> '$.involvedObject.name', ''), '') AS object,
  coalesce(o.value ->> '$.involvedObject.fieldPath', '') AS subobject,
  coalesce(nullif(o.value ->> '$.source.component', ''), o.value ->> '$.reportingComponent', '')
    || coalesce(', ' || coalesce(nullif(o.value ->> '$.source.host', ''), nullif(o.value ->> '$.reportingInstance', '')), '') AS source,
  trim(coalesce(o.value ->> '$.message', ''), char(9, 10, 11, 12, 13, 32, 133, 160)) AS message,
  {{since coalesce(o.value ->> '$.firstTimestamp', o.value ->> '$.eventTime')}} AS first_seen,
  CASE
    WHEN o.value -> '$.series' IS NOT NULL THEN coalesce(o.value ->> '$.series.count', 0)
    ELSE coalesce(nullif(o.value ->> '$.count', 0), 1)
  END AS count,
  o.name
FROM object AS o;

CREATE VIEW events AS
SELECT l.namespace, r.last_seen, r.type, r.reason, r.object, r.subobject, r.source, r.message, r.first_seen, r.count,
  l.name
FROM live AS l JOIN events_row AS r USING (id)
WHERE l.key >= '/registry/events/' AND l.key < '/registry/events0';
