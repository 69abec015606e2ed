// Package controllers holds the control loops of kube-controller-manager, one
// file each, and the Runner that drives them (and the scheduler and the kubelet,
// which live in folders below).
//
// Why this shape: Kubernetes' controllers are level triggered, and the store can
// say what changed after a revision. So a controller needs no informer, work
// queue, expectation or clock: it is a function from a View (the cluster
// at one revision) and the keys that changed to the writes it wants. A test is
// rows in, writes out.
//
// Hardest part: loop.go, which decides when a key is due, and never lets a
// controller see the cluster as it was before its own last write. Real
// controllers read caches that lag behind, and need expectations for that.
//
// What can be lost: nothing that matters. Which keys are due, their back-off
// and the counts of events are in memory; after a start every object is looked at once.
package controllers
