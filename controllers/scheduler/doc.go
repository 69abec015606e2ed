// Package scheduler is default-scheduler: it finds a node for each pod that has
// none, and says in Kubernetes' own words why when it finds none.
//
// Why this shape: kube-scheduler keeps a cache of nodes and assumed pods, since what it
// reads lags behind what it wrote. Here each Step reads the cluster as it
// is, builds the nodes' state from it once, and places all pods that wait,
// each placement counting for the next. A thousand pods are one Step.
//
// Hardest part: filter.go, whose order of checks decides which reason a node is counted
// under, and message.go, which turns the counts into upstream's sentence.
//
// What can be lost: nothing; a pod without a node is looked at again after a start.
// Real Kubernetes also evicts pods of lower priority to make room; this scheduler does not.
package scheduler
