// Package docker runs pods as containers of a Docker engine: it implements the
// kubelet's Runtime, and connects Services and cluster DNS through one proxy
// container.
//
// Shape. A pod is a sandbox container, which owns the pod's address, hostname
// and resolver, and containers that join its namespaces. All state is the
// engine's: labels on containers and volumes say which cluster, pod, container
// and attempt they are, so a restarted server finds what runs (list.go) and
// keeps nothing of its own. Volumes of a pod are Docker volumes, mounted in the
// sandbox too, and the sandbox is the door through which files are written
// into them (files.go). This process opens no path of the engine's host, so the
// engine may be anywhere; hostPath volumes and subPaths are paths that it resolves.
//
// One network carries pods and Services: its subnet holds both ranges, and the
// proxy container answers for every ClusterIP (docker/proxy).
//
// Hardest part: starting a container in the right order, container.go: files
// first, then create, then start, and an error of the start is not an error
// of the create.
//
// What can be lost: output of a container whose log the engine rotated; nothing
// of the cluster, whose state is in the store.
package docker
