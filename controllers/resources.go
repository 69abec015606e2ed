package controllers

import (
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// The resources that controllers read and write, by the names that the registry has.
var (
	Pods                      = schema.GroupResource{Resource: "pods"}
	Nodes                     = schema.GroupResource{Resource: "nodes"}
	Namespaces                = schema.GroupResource{Resource: "namespaces"}
	Services                  = schema.GroupResource{Resource: "services"}
	Endpoints                 = schema.GroupResource{Resource: "endpoints"}
	ServiceAccounts           = schema.GroupResource{Resource: "serviceaccounts"}
	ConfigMaps                = schema.GroupResource{Resource: "configmaps"}
	Secrets                   = schema.GroupResource{Resource: "secrets"}
	ReplicationControllers    = schema.GroupResource{Resource: "replicationcontrollers"}
	PersistentVolumes         = schema.GroupResource{Resource: "persistentvolumes"}
	PersistentVolumeClaims    = schema.GroupResource{Resource: "persistentvolumeclaims"}
	ResourceQuotas            = schema.GroupResource{Resource: "resourcequotas"}
	Deployments               = schema.GroupResource{Group: "apps", Resource: "deployments"}
	ReplicaSets               = schema.GroupResource{Group: "apps", Resource: "replicasets"}
	StatefulSets              = schema.GroupResource{Group: "apps", Resource: "statefulsets"}
	DaemonSets                = schema.GroupResource{Group: "apps", Resource: "daemonsets"}
	ControllerRevisions       = schema.GroupResource{Group: "apps", Resource: "controllerrevisions"}
	Jobs                      = schema.GroupResource{Group: "batch", Resource: "jobs"}
	CronJobs                  = schema.GroupResource{Group: "batch", Resource: "cronjobs"}
	EndpointSlices            = schema.GroupResource{Group: "discovery.k8s.io", Resource: "endpointslices"}
	Leases                    = schema.GroupResource{Group: "coordination.k8s.io", Resource: "leases"}
	ClusterRoles              = schema.GroupResource{Group: "rbac.authorization.k8s.io", Resource: "clusterroles"}
	CustomResourceDefinitions = schema.GroupResource{Group: "apiextensions.k8s.io", Resource: "customresourcedefinitions"}
	APIServices               = schema.GroupResource{Group: "apiregistration.k8s.io", Resource: "apiservices"}
	FlowSchemas               = schema.GroupResource{Group: "flowcontrol.apiserver.k8s.io", Resource: "flowschemas"}
	PriorityLevels            = schema.GroupResource{Group: "flowcontrol.apiserver.k8s.io", Resource: "prioritylevelconfigurations"}
	ServiceCIDRs              = schema.GroupResource{Group: "networking.k8s.io", Resource: "servicecidrs"}
	IPAddresses               = schema.GroupResource{Group: "networking.k8s.io", Resource: "ipaddresses"}
	SigningRequests           = schema.GroupResource{Group: "certificates.k8s.io", Resource: "certificatesigningrequests"}
	StorageClasses            = schema.GroupResource{Group: "storage.k8s.io", Resource: "storageclasses"}
	AttributesClasses         = schema.GroupResource{Group: "storage.k8s.io", Resource: "volumeattributesclasses"}
	CSINodes                  = schema.GroupResource{Group: "storage.k8s.io", Resource: "csinodes"}
	PriorityClasses           = schema.GroupResource{Group: "scheduling.k8s.io", Resource: "priorityclasses"}
	PodDisruptionBudgets      = schema.GroupResource{Group: "policy", Resource: "poddisruptionbudgets"}
	HorizontalPodAutoscalers  = schema.GroupResource{Group: "autoscaling", Resource: "horizontalpodautoscalers"}
)

// KeysFunc is the type of the values of Controller.Keys.
type KeysFunc = func(v View, c Object) []Key

// keyMap is the type of Controller.Keys.
type keyMap = map[schema.GroupResource]func(v View, c Object) []Key

// itself maps a change of an object to the key that is its name.
func itself(_ View, c Object) []Key { return []Key{NameKey(c.Current())} }

// Resource names a resource.
type Resource = schema.GroupResource
