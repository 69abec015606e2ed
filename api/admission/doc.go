// Package admission holds the plugins that a write passes between its
// defaults and its proposal.
//
// Purpose: a plugin completes an object by what the cluster knows (the service
// account of a pod, a default storage class) or refuses what the cluster does
// not allow (a terminating namespace, a quota). Default lists those that
// kube-apiserver has on, in its order; first all of them may change the
// object, then all of them may refuse it.
//
// Why this shape: a plugin is two functions and a file of its own, so that its
// rule can be read at one place. What they look up with each pod (namespaces,
// service accounts, limits, quotas, priority classes) is kept in memory at the
// store's revision (lookup.go): a thousand pods must not cost six thousand reads.
//
// Hardest part: quotas. A quota's usage is part of its status, so the check is
// a write of its own, which succeeds only when nobody else used up what was left.
//
// What can be lost: usage that was charged for a write which then failed; the
// quota controller counts again.
package admission
