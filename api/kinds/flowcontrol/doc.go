// Package flowcontrol holds the kinds of flowcontrol.apiserver.k8s.io:
// FlowSchema, which sorts requests into flows, and
// PriorityLevelConfiguration, which says how much of the server a level gets.
//
// Why this shape: as in every package below api/kinds, a file a kind.
//
// Hardest part: four objects (exempt and catch-all of both kinds) must keep
// their meaning, or the server could be locked out of itself.
//
// What can be lost: nothing beyond the objects themselves. Real Kubernetes
// shares out its time by these objects; here one limit serves all
// (--max-requests-inflight), and the objects are stored and shown.
package flowcontrol
