// Package kinds is the registry of kinds: what the generic verbs of api/rest
// know about a resource. It is data. A Resource names its versions, its keys,
// its verbs and its Strategy; each group has a folder below this one with one
// file per kind, and Resources() there returns what that group adds. Custom
// resource definitions add entries at run time (api/crd).
//
// Why this shape: there are no internal types here. The storage version's
// Go type (k8s.io/api) is the hub: requests in another version are converted
// to it on the way in and from it on the way out. So a rule (a default, a
// validation) is written once, against the type that a reader finds in the
// Kubernetes API reference, and what is stored is exactly that JSON.
//
// Hardest part: the order of the stages. Each stage of a write is one field of
// Strategy, called by api/rest in the order in which the fields stand.
//
// What can be lost: nothing; the registry holds no state of the cluster.
package kinds
