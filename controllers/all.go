package controllers

// Options are what controllers can be told.
type Options struct {
	Fleet Fleet
	Sign  SignCertificate // of the cluster's CA; nil: requests stay unsigned

	SignToken SignToken // for Secrets; nil: they stay without a token
}

// All gives the controllers of kube-controller-manager, in the order in which
// RunUntilQuiet runs them. The scheduler and the kubelet are made by their own packages.
func All(o Options) []Controller {
	return []Controller{
		NodeFleet(o.Fleet),
		Namespace(),
		ServiceAccountDefault(),
		ServiceAccountToken(o.SignToken),
		LegacyTokenCleaner(),
		RootCA(),
		Deployment(),
		ReplicaSet(),
		ReplicationController(),
		EndpointsController(),
		EndpointSlice(),
		EndpointSliceMirroring(),
		GarbageCollector(),
		ClusterRoleAggregation(),
		CertificateSigning(o.Sign),
		CertificateApproving(),
		CertificateCleaner(),
		NodeLifecycle(),
		NodeTTL(),
		TaintEviction(),
		PodGC(),
		Job(),
		CronJob(),
		TTLAfterFinished(),
		ResourceQuota(),
		StatefulSet(),
		DaemonSet(),
		Disruption(),
		Autoscaler(),
		VolumeBinder(),
		EphemeralVolume(),
		ClaimProtection(),
		VolumeProtection(),
		AttributesClassProtection(),
		ServiceCIDR(),
	}
}
