// Command reference asks a real Kubernetes and kuberow the same questions and
// prints where their answers differ.
//
// # Shape
//
// This is a nested module, so that upstream's control plane never becomes a
// dependency of kuberow: its go.mod names k8s.io/kubernetes and etcd as tools,
// and `make reference` builds kube-apiserver, kube-controller-manager,
// kube-scheduler, etcd and this command.
//
//	reference up       start etcd, kube-apiserver and a kuberow, each in a new directory (servers.go)
//	reference replay   send the exchanges of a file to both servers (exchange.go)
//	reference mutate   send each object of a file, changed in every place and way (mutate.go)
//	reference record   keep a digest of each of upstream's answers (answers.go)
//
// Replay and mutate take the two servers' addresses, so any server that speaks the
// Kubernetes API can stand on either side.
//
// # The hardest part
//
// Saying what may differ between two runs of the same server, and nothing more:
// normalize.go. What it hides, nobody sees; so it replaces values, never fields.
//
// # What can be lost
//
// Nothing: the servers that `up` starts live in a directory that it removes.
package main
