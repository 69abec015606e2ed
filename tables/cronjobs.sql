-- cronjobs: what kubectl get cronjobs prints.
--
-- view: cronjobs
-- resource: batch/cronjobs
-- keys: /registry/cronjobs/NAMESPACE/NAME
-- columns: name | heading | type | format | priority, then the description
--   name | Name | string | name | 0
--     Name must be unique within a namespace. Is required when creating resources, although some resources may
--     allow a client to request the generation of an appropriate name automatically. Name is primarily
--     intended for creation idempotence and configuration definition. Cannot be updated. More info:
--     https://kubernetes.io/docs/concepts/overview/working-with-objects/names#names
--   schedule | Schedule | string | - | 0
--     The schedule in Cron format, see https://en.wikipedia.org/wiki/Cron.
--   timezone | Timezone | string | - | 0
--     The time zone name for the given schedule, see
--     https://en.wikipedia.org/wiki/List_of_tz_database_time_zones. If not specified, this will default to the
--     time zone of the kube-controller-manager process. The set of valid time zone names and the time zone
--     offset is loaded from the system-wide time zone database by the API server during CronJob validation and
--     the controller manager during execution. If no system-wide time zone database can be found a bundled
--     version of the database is used instead. If the time zone name becomes invalid during the lifetime of a
--     CronJob or due to a change in host configuration, the controller will stop creating new new Jobs and
--     will create a system event with the reason UnknownTimeZone. More information can be found in
--     https://kubernetes.io/docs/concepts/workloads/controllers/cron-jobs/#time-zones
--   suspend | Suspend | boolean | - | 0
--     This flag tells the controller to suspend subsequent executions, it does not apply to already started
--     executions.  Defaults to false.
--   active | Active | integer | - | 0
--     A list of pointers to currently running jobs.
--   last_schedule | Last Schedule | string | - | 0
--     Information when was the last time the job was successfully scheduled.
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

CREATE VIEW cronjobs_row AS
SELECT o.id, o.namespace, o.name,
  coalesce(o.value ->> '$.spec.schedule', '') AS schedule,
  coalesce(o.value ->> '$.spec.timeZone', '<none>') AS timezone,
  CASE o.value ->> '$.spec.suspend' WHEN 1 THEN 'True' WHEN 0 THEN 'False' ELSE '<unset>' END AS suspend,
  coalesce(json_array_length(o.value, '$.status.active'), 0) AS active,
  iif(o.value ->> '$.status.lastScheduleTime' IS NULL, '<none>', {{since o.value ->> '$.status.lastScheduleTime'}}) AS last_schedule,
  o.age,
  {{containers $.spec.jobTemplate.spec.template; $.name}} AS containers,
  {{containers $.spec.jobTemplate.spec.template; $.image}} AS images,
  coalesce({{selector o.value -> '$.spec.jobTemplate.spec.selector'}}, '<none>') AS selector
FROM object AS o;

CREATE VIEW cronjobs AS
SELECT l.namespace, l.name, r.schedule, r.timezone, r.suspend, r.active, r.last_schedule, r.age, r.containers,
  r.images, r.selector
FROM live AS l JOIN cronjobs_row AS r USING (id)
WHERE l.key >= '/registry/cronjobs/' AND l.key < '/registry/cronjobs0';
