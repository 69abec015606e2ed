-- jobs: what kubectl get jobs prints.
--
-- view: jobs
-- resource: batch/jobs
-- keys: /registry/jobs/NAMESPACE/NAME
-- columns: name | heading | type | format | priority, then the description
--   name | Name | string | name | 0
--     Name must be unique within a namespace. Is required when creating resources, although some resources may
--     allow a client to request the generation of an appropriate name automatically. Name is primarily
--     intended for creation idempotence and configuration definition. Cannot be updated. More info:
--     https://kubernetes.io/docs/concepts/overview/working-with-objects/names#names
--   status | Status | string | - | 0
--     Status of the job.
--   completions | Completions | string | - | 0
--     The number of pods which reached phase Succeeded. The value increases monotonically for a given spec.
--     However, it may decrease in reaction to scale down of elastic indexed jobs.
--   duration | Duration | string | - | 0
--     Time required to complete the job.
--   age | Age | string | - | 0
--     CreationTimestamp is a timestamp representing the server time when this object was created. It is not
--     guaranteed to be set in happens-before order across separate operations. Clients may not set this value.
--     It is represented in RFC3339 form and is in UTC.\n\nPopulated by the system. Read-only. Null for lists.
--     More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata
--   containers | Containers | string | - | 1
--     Names of each container in the template.
--   images | Images | string | - | 1
--     Images referenced by each container in the template.
--   selector | Selector | string | - | 1
--     A label query over pods that should match the pod count. Normally, the system sets this field for you.
--     More info: https://kubernetes.io/docs/concepts/overview/working-with-objects/labels/#label-selectors

CREATE VIEW jobs_row AS
SELECT o.id, o.namespace, o.name,
  CASE
    WHEN {{condition Complete}} = 'True' THEN 'Complete'
    WHEN {{condition Failed}} = 'True' THEN 'Failed'
    WHEN o.value -> '$.metadata.deletionTimestamp' IS NOT NULL THEN 'Terminating'
    WHEN {{condition Suspended}} = 'True' THEN 'Suspended'
    WHEN {{condition FailureTarget}} = 'True' THEN 'FailureTarget'
    WHEN {{condition SuccessCriteriaMet}} = 'True' THEN 'SuccessCriteriaMet'
    ELSE 'Running'
  END AS status,
  coalesce(o.value ->> '$.status.succeeded', 0) || '/' || CASE
    WHEN o.value -> '$.spec.completions' IS NOT NULL THEN o.value ->> '$.spec.completions'
    WHEN o.value ->> '$.spec.parallelism' > 1 THEN '1 of ' || (o.value ->> '$.spec.parallelism')
    ELSE '1'
  END AS completions,
  CASE
    WHEN o.value ->> '$.status.startTime' IS NULL THEN ''
    ELSE {{duration coalesce(unixepoch(o.value ->> '$.status.completionTime'), (SELECT now FROM clock)) - unixepoch(o.value ->> '$.status.startTime')}}
  END AS duration,
  o.age,
  {{containers $.spec.template; $.name}} AS containers,
  {{containers $.spec.template; $.image}} AS images,
  coalesce({{selector o.value -> '$.spec.selector'}}, '<none>') AS selector
FROM object AS o;

CREATE VIEW jobs AS
SELECT l.namespace, l.name, r.status, r.completions, r.duration, r.age, r.containers, r.images, r.selector
FROM live AS l JOIN jobs_row AS r USING (id)
WHERE l.key >= '/registry/jobs/' AND l.key < '/registry/jobs0';
