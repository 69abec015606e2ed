-- clustertrustbundles: what kubectl get clustertrustbundles prints.
--
-- view: clustertrustbundles
-- resource: certificates.k8s.io/clustertrustbundles
-- keys: /registry/clustertrustbundles/NAME
-- columns: name | heading | type | format | priority, then the description
--   name | Name | string | name | 0
--     Name must be unique within a namespace. Is required when creating resources, although some resources may
--     allow a client to request the generation of an appropriate name automatically. Name is primarily
--     intended for creation idempotence and configuration definition. Cannot be updated. More info:
--     https://kubernetes.io/docs/concepts/overview/working-with-objects/names#names
--   signername | SignerName | string | - | 0
--     signerName indicates the associated signer, if any.\n\nIn order to create or update a ClusterTrustBundle
--     that sets signerName, you must have the following cluster-scoped permission: group=certificates.k8s.io
--     resource=signers resourceName=<the signer name> verb=attest.\n\nIf signerName is not empty, then the
--     ClusterTrustBundle object must be named with the signer name as a prefix (translating slashes to
--     colons). For example, for the signer name `example.com/foo`, valid ClusterTrustBundle object names
--     include `example.com:foo:abc` and `example.com:foo:v1`.\n\nIf signerName is empty, then the
--     ClusterTrustBundle object's name must not have such a prefix.\n\nList/watch requests for
--     ClusterTrustBundles can filter on this field using a `spec.signerName=NAME` field selector.

CREATE VIEW clustertrustbundles_row AS
SELECT o.id, o.name,
  coalesce(nullif(o.value ->> '$.spec.signerName', ''), '<none>') AS signername
FROM object AS o;

CREATE VIEW clustertrustbundles AS
SELECT l.name, r.signername
FROM live AS l JOIN clustertrustbundles_row AS r USING (id)
WHERE l.key >= '/registry/clustertrustbundles/' AND l.key < '/registry/clustertrustbundles0';
