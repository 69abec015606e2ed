-- podcertificaterequests: what kubectl get podcertificaterequests prints.
--
-- view: podcertificaterequests
-- resource: certificates.k8s.io/podcertificaterequests
-- keys: /registry/podcertificaterequests/NAMESPACE/NAME
-- columns: name | heading | type | format | priority, then the description
--   name | Name | string | name | 0
--     Name must be unique within a namespace. Is required when creating resources, although some resources may
--     allow a client to request the generation of an appropriate name automatically. Name is primarily
--     intended for creation idempotence and configuration definition. Cannot be updated. More info:
--     https://kubernetes.io/docs/concepts/overview/working-with-objects/names#names
--   podname | PodName | string | - | 0
--     podName is the name of the pod into which the certificate will be mounted.
--   serviceaccountname | ServiceAccountName | string | - | 0
--     serviceAccountName is the name of the service account the pod is running as.
--   nodename | NodeName | string | - | 0
--     nodeName is the name of the node the pod is assigned to.
--   signername | SignerName | string | - | 0
--     signerName indicates the requested signer.\n\nAll signer names beginning with `kubernetes.io` are
--     reserved for use by the Kubernetes project.  There is currently one well-known signer documented by the
--     Kubernetes project, `kubernetes.io/kube-apiserver-client-pod`, which will issue client certificates
--     understood by kube-apiserver.  It is currently unimplemented.
--   state | State | string | - | 0
--     Is the request Pending, Issued, Denied, or Failed?
--   unverifieduserannotations | UnverifiedUserAnnotations | string | - | 0
--     unverifiedUserAnnotations allow pod authors to pass additional information to the signer
--     implementation.  Kubernetes does not restrict or validate this metadata in any way.\n\nEntries are
--     subject to the same validation as object metadata annotations, with the addition that all keys must be
--     domain-prefixed. No restrictions are placed on values, except an overall size limitation on the entire
--     field.\n\nSigners should document the keys and values they support.  Signers should deny requests that
--     contain keys they do not recognize.

CREATE VIEW podcertificaterequests_row AS
SELECT o.id, o.namespace, o.name,
  coalesce(o.value ->> '$.spec.podName', '') AS podname,
  coalesce(o.value ->> '$.spec.serviceAccountName', '') AS serviceaccountname,
  coalesce(o.value ->> '$.spec.nodeName', '') AS nodename,
  coalesce(o.value ->> '$.spec.signerName', '') AS signername,
  coalesce((SELECT value ->> '$.type' FROM json_each(o.value -> '$.status.conditions')
    WHERE value ->> '$.type' IN ('Issued', 'Denied', 'Failed') ORDER BY key DESC LIMIT 1), 'Pending') AS state,
  {{labels o.value -> '$.spec.unverifiedUserAnnotations'}} AS unverifieduserannotations
FROM object AS o;

CREATE VIEW podcertificaterequests AS
SELECT l.namespace, l.name, r.podname, r.serviceaccountname, r.nodename, r.signername, r.state,
  r.unverifieduserannotations
FROM live AS l JOIN podcertificaterequests_row AS r USING (id)
WHERE l.key >= '/registry/podcertificaterequests/' AND l.key < '/registry/podcertificaterequests0';
