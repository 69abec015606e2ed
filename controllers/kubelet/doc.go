// Package kubelet runs the pods that are bound to this cluster's nodes.
//
// Purpose: bring each pod's containers to what its spec says, and its status
// to what its containers are: init containers in order, sidecars, restarts
// with back-off, probes, hooks, termination, volumes and environment.
//
// Shape: a [Kubelet] is the memory of one fleet of nodes, and one
// controllers.Controller whose keys are pods. Its Step does three things with
// a key: it shows the pod to the pod's worker, asks what the worker reported
// last, and wants a status write where the two differ. The worker does what may
// take long (pulling, starting, stopping) in a goroutine that lives while there
// is work, one per pod, and wakes the key when something changed. What has to
// happen at a time (a back-off that ends, a probe, a deadline) is a field with a
// time in it, and Step asks to be called again at the earliest of them: there
// are no timers here, so a test moves a clock and calls Step. A [Simulator]
// never waits, so its workers run inside Step, and a pod goes from bound to
// running and ready with one write.
//
// The hardest path is the end of a pod. A delete only sets
// metadata.deletionTimestamp. The worker then runs preStop hooks, stops the
// main containers, then the sidecars in reverse order, frees the network,
// and says so; Step writes the final status, and when the API shows a terminal
// phase, deletes the object with grace 0; the object's disappearance lets the
// worker remove the sandbox with its logs and volumes. Each of the three can be
// interrupted by a crash: it is found again from the API and Runtime.List.
//
// What can be lost: back-off counters and probe results live in memory, as in
// a real kubelet; a restart forgets them. Containers are never lost: those that
// run are adopted by pod UID, name, attempt and hash, and those whose pod is
// gone are removed.
//
// Real Kubernetes does this once per node, with the state machine spread over
// pod workers, PLEG, and status, volume, image and probe managers.
package kubelet
