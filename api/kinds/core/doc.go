// Package core holds the kinds of the core group: pods, services, nodes and
// the rest of /api/v1.
//
// Why this shape: one file per kind says what the kind is (its names, verbs,
// selectable fields) and how its writers are kept apart; rules that are long
// live beside it, named after it (service_alloc.go, pod_eviction.go). What a
// pod and a pod template share is in podspec_*.go, exported for the workload
// kinds of apps and batch.
//
// Hardest part: a pod's update. Almost nothing of a running pod may change, so
// ValidateUpdate first undoes the few allowed changes in a copy, and what then
// still differs is refused with a diff.
//
// What can be lost: nothing; what is allocated (addresses, ports) is decided by
// the store when the proposal is applied.
package core
