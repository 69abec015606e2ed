// Package policy holds policy/v1: the PodDisruptionBudget. The Eviction that asks
// it is a subresource of pods (package core).
//
// Why this shape: one file, one kind.
//
// Hardest part: none here; the budget is spent in core's pod_eviction.go.
//
// What can be lost: nothing; everything here is a pure function.
package policy
