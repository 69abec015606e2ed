-- certificatesigningrequests: what kubectl get certificatesigningrequests prints.
--
-- view: certificatesigningrequests
-- resource: certificates.k8s.io/certificatesigningrequests
-- keys: /registry/certificatesigningrequests/NAME
-- columns: name | heading | type | format | priority, then the description
--   name | Name | string | name | 0
--     Name must be unique within a namespace. Is required when creating resources, although some resources may
--     allow a client to request the generation of an appropriate name automatically. Name is primarily
--     intended for creation idempotence and configuration definition. Cannot be updated. More info:
--     https://kubernetes.io/docs/concepts/overview/working-with-objects/names#names
--   age | Age | string | - | 0
--     CreationTimestamp is a timestamp representing the server time when this object was created. It is not
--     guaranteed to be set in happens-before order across separate operations. Clients may not set this value.
--     It is represented in RFC3339 form and is in UTC.\n\nPopulated by the system. Read-only. Null for lists.
--     More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata
--   signername | SignerName | string | - | 0
--     Requested signer for the request. It is a qualified name in the form: `scope-hostname.io/name`. If
--     empty, it will be defaulted:\n 1. If it's a kubelet client certificate, it is
--     assigned\n    "kubernetes.io/kube-apiserver-client-kubelet".\n 2. If it's a kubelet serving certificate,
--     it is assigned\n    "kubernetes.io/kubelet-serving".\n 3. Otherwise, it is assigned
--     "kubernetes.io/legacy-unknown".\nDistribution of trust for signers happens out of band. You can select
--     on this field using `spec.signerName`.
--   requestor | Requestor | string | - | 0
--     Base64-encoded PKCS#10 CSR data
--   requestedduration | RequestedDuration | string | - | 0
--     expirationSeconds is the requested duration of validity of the issued certificate. The certificate
--     signer may issue a certificate with a different validity duration so a client must check the delta
--     between the notBefore and and notAfter fields in the issued certificate to determine the actual
--     duration.\n\nThe v1.22+ in-tree implementations of the well-known Kubernetes signers will honor this
--     field as long as the requested duration is not greater than the maximum duration they will honor per the
--     --cluster-signing-duration CLI flag to the Kubernetes controller manager.\n\nCertificate signers may not
--     honor this field for various reasons:\n\n  1. Old signer that is unaware of the field (such as the
--     in-tree\n     implementations prior to v1.22)\n  2. Signer whose configured maximum is shorter than the
--     requested duration\n  3. Signer whose configured minimum is longer than the requested duration\n\nThe
--     minimum valid value for expirationSeconds is 600, i.e. 10 minutes.
--   condition | Condition | string | - | 0
--     Conditions applied to the request, such as approval or denial.

CREATE VIEW certificatesigningrequests_row AS
SELECT o.id, o.name,
  o.age,
  coalesce(nullif(o.value ->> '$.spec.signerName', ''), '<none>') AS signername,
  coalesce(o.value ->> '$.spec.username', '') AS requestor,
  iif(o.value ->> '$.spec.expirationSeconds' IS NULL, '<none>', {{duration o.value ->> '$.spec.expirationSeconds'}}) AS requestedduration,
  CASE
    WHEN {{condition Denied}} IS NOT NULL THEN 'Denied'
    WHEN {{condition Approved}} IS NOT NULL THEN 'Approved'
    ELSE 'Pending'
  END
    || iif({{condition Failed}} IS NOT NULL, ',Failed', '')
    || iif(o.value ->> '$.status.certificate' <> '', ',Issued', '') AS condition
FROM object AS o;

CREATE VIEW certificatesigningrequests AS
SELECT l.name, r.age, r.signername, r.requestor, r.requestedduration, r.condition
FROM live AS l JOIN certificatesigningrequests_row AS r USING (id)
WHERE l.key >= '/registry/certificatesigningrequests/' AND l.key < '/registry/certificatesigningrequests0';
