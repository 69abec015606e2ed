// Package cluster is a whole kuberow in one process: all the wiring between
// the store, the log, the API, the controllers and the pods' runtime, and
// nothing else. The command, the tests and the lessons start it.
//
// Shape: Start is a list in the order of dependency; each step may use those
// above it, and Stop undoes them from the bottom up. Nothing else in the module
// knows more than its neighbours.
//
// Hardest part: being ready in 150 ms. What a first request does not need
// (the controllers' first pass, finding a Docker engine, OpenAPI, the schemas of
// server-side apply) begins after the listener does.
//
// What can be lost: what was not acknowledged when the process died.
package cluster
