// Package scheduling holds the kinds of scheduling.k8s.io: PriorityClass.
//
// Why this shape: as in every package below api/kinds, a file a kind.
//
// Hardest part: none; the Priority admission plugin does the work.
//
// What can be lost: nothing beyond the objects themselves.
package scheduling
