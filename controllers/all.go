package controllers

// Options are what controllers can be told.
type Options struct {
	Fleet Fleet
}

// All gives the controllers of kube-controller-manager, in the order in which
// RunUntilQuiet runs them. The scheduler and the kubelet are made by their own packages.
func All(o Options) []Controller {
	return []Controller{
		NodeFleet(o.Fleet),
		Namespace(),
		ServiceAccountDefault(),
		RootCA(),
		Deployment(),
		ReplicaSet(),
		ReplicationController(),
		EndpointsController(),
		EndpointSlice(),
		EndpointSliceMirroring(),
		GarbageCollector(),
		ClusterRoleAggregation(),
		NodeLifecycle(),
		TaintEviction(),
		PodGC(),
		Job(),
		CronJob(),
		TTLAfterFinished(),
		ResourceQuota(),
	}
}
