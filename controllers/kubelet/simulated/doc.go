// Package simulated is the container runtime for a machine without Docker: it
// runs nothing and says so, but pods go through the same states at the same times.
//
// Purpose: the first lesson needs no engine, no root and no network, and a
// thousand pods fit on a laptop.
//
// Shape: a table of sandboxes in memory. Nothing happens by itself: what a
// container does later (it exits after a while) is computed from the clock when
// somebody asks, and Sandbox.Next tells the kubelet when to ask again. So there is no
// goroutine or timer here, and a run with a moved clock repeats exactly.
//
// A pod's annotations script it; each may be given for one container with its name
// after a dot (kuberow.dev/simulate-exit-code.web), else it means all main containers:
//
//	kuberow.dev/simulate-start-delay: 5s    the pod stays in ContainerCreating for that long (of the pod only)
//	kuberow.dev/simulate-ready-delay: 10s   readiness probes fail for that long; without a probe it is not ready for that long
//	kuberow.dev/simulate-exit-after: 30s    the container ends after that time
//	kuberow.dev/simulate-exit-code: "1"     and with this status; alone it means exit-after 1s
//	kuberow.dev/simulate-exit-reason: OOMKilled
//	kuberow.dev/simulate-exit-times: "2"    only the first two attempts end, the third runs on
//	kuberow.dev/simulate-probe-fails-after: 20s   liveness and readiness probes fail from then on
//
// Init containers end at once with status 0. Containers of a pod that a Job owns end
// after a second with status 0. All others run until they are stopped.
//
// The hardest path is a restart of the server: memory is gone, but the status of
// each pod, which is stored, says what ran. [Runtime.Restore] takes it from there:
// same containers, same addresses, nothing restarts.
//
// What can be lost: a pod that started less than a status write ago starts again.
package simulated
