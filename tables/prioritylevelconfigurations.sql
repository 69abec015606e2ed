-- prioritylevelconfigurations: what kubectl get prioritylevelconfigurations prints.
--
-- view: prioritylevelconfigurations
-- resource: flowcontrol.apiserver.k8s.io/prioritylevelconfigurations
-- keys: /registry/prioritylevelconfigurations/NAME
-- columns: name | heading | type | format | priority, then the description
--   name | Name | string | name | 0
--     Name must be unique within a namespace. Is required when creating resources, although some resources may
--     allow a client to request the generation of an appropriate name automatically. Name is primarily
--     intended for creation idempotence and configuration definition. Cannot be updated. More info:
--     https://kubernetes.io/docs/concepts/overview/working-with-objects/names#names
--   type | Type | string | - | 0
--     `type` indicates whether this priority level is subject to limitation on request execution.  A value of
--     `"Exempt"` means that requests of this priority level are not subject to a limit (and thus are never
--     queued) and do not detract from the capacity made available to other priority levels.  A value of
--     `"Limited"` means that (a) requests of this priority level _are_ subject to limits and (b) some of the
--     server's limited capacity is made available exclusively to this priority level. Required.
--   nominalconcurrencyshares | NominalConcurrencyShares | string | - | 0
--     `nominalConcurrencyShares` (NCS) contributes to the computation of the NominalConcurrencyLimit
--     (NominalCL) of this level. This is the number of execution seats available at this priority level. This
--     is used both for requests dispatched from this priority level as well as requests dispatched from other
--     priority levels borrowing seats from this level. The server's concurrency limit (ServerCL) is divided
--     among the Limited priority levels in proportion to their NCS values:\n\nNominalCL(i)  = ceil( ServerCL *
--     NCS(i) / sum_ncs ) sum_ncs = sum[priority level k] NCS(k)\n\nBigger numbers mean a larger nominal
--     concurrency limit, at the expense of every other priority level.\n\nIf not specified, this field
--     defaults to a value of 30.\n\nSetting this field to zero supports the construction of a "jail" for this
--     priority level that is used to hold some request(s)
--   queues | Queues | string | - | 0
--     `queues` is the number of queues for this priority level. The queues exist independently at each
--     apiserver. The value must be positive.  Setting it to 1 effectively precludes shufflesharding and thus
--     makes the distinguisher method of associated flow schemas irrelevant.  This field has a default value of
--     64.
--   handsize | HandSize | string | - | 0
--     `handSize` is a small positive number that configures the shuffle sharding of requests into
--     queues.  When enqueuing a request at this priority level the request's flow identifier (a string pair)
--     is hashed and the hash value is used to shuffle the list of queues and deal a hand of the size specified
--     here.  The request is put into one of the shortest queues in that hand. `handSize` must be no larger
--     than `queues`, and should be significantly smaller (so that a few heavy flows do not saturate most of
--     the queues).  See the user-facing documentation for more extensive guidance on setting this field.  This
--     field has a default value of 8.
--   queuelengthlimit | QueueLengthLimit | string | - | 0
--     `queueLengthLimit` is the maximum number of requests allowed to be waiting in a given queue of this
--     priority level at a time; excess requests are rejected.  This value must be positive.  If not specified,
--     it will be defaulted to 50.
--   age | Age | string | - | 0
--     CreationTimestamp is a timestamp representing the server time when this object was created. It is not
--     guaranteed to be set in happens-before order across separate operations. Clients may not set this value.
--     It is represented in RFC3339 form and is in UTC.\n\nPopulated by the system. Read-only. Null for lists.
--     More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata

CREATE VIEW prioritylevelconfigurations_row AS
SELECT o.id, o.name,
  coalesce(o.value ->> '$.spec.type', '') AS type,
  iif(o.value -> '$.spec.limited' IS NULL, '<none>', coalesce(o.value ->> '$.spec.limited.nominalConcurrencyShares', 0)) AS nominalconcurrencyshares,
  iif(o.value -> '$.spec.limited.limitResponse.queuing' IS NULL, '<none>',
    coalesce(o.value ->> '$.spec.limited.limitResponse.queuing.queues', 0)) AS queues,
  iif(o.value -> '$.spec.limited.limitResponse.queuing' IS NULL, '<none>',
    coalesce(o.value ->> '$.spec.limited.limitResponse.queuing.handSize', 0)) AS handsize,
  iif(o.value -> '$.spec.limited.limitResponse.queuing' IS NULL, '<none>',
    coalesce(o.value ->> '$.spec.limited.limitResponse.queuing.queueLengthLimit', 0)) AS queuelengthlimit,
  o.age
FROM object AS o;

CREATE VIEW prioritylevelconfigurations AS
SELECT l.name, r.type, r.nominalconcurrencyshares, r.queues, r.handsize, r.queuelengthlimit, r.age
FROM live AS l JOIN prioritylevelconfigurations_row AS r USING (id)
WHERE l.key >= '/registry/prioritylevelconfigurations/' AND l.key < '/registry/prioritylevelconfigurations0';
