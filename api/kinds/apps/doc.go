// Package apps holds the workload kinds of apps/v1: Deployment, ReplicaSet,
// StatefulSet, DaemonSet and the ControllerRevision that the last two keep their
// history in.
//
// Why this shape: all of them are a pod template, a selector and a count; what a
// template may hold is said once, in package core. A file here holds the rest of
// one kind: defaults, who may write what, and its rules.
//
// Hardest part: which fields of a StatefulSet may change, for its claims cannot
// be made again without losing data.
//
// What can be lost: nothing; everything here is a pure function.
package apps
