package kubelet

import (
	"context"
	"os"
	"runtime"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// What a node says of itself. The Node objects and their leases are the node
// fleet's (controllers/fleet.go); it asks here for the facts and the conditions.

// Version is the Kubernetes version whose behaviour the kubelet has.
const Version = "v1.37.2"

// NodeInfo describes the machine and the runtime. The engine's version is
// "unknown" while it does not answer.
func (k *Kubelet) NodeInfo(ctx context.Context) corev1.NodeSystemInfo {
	version, err := k.Runtime.Version(ctx)
	if err != nil {
		version = "unknown"
	}
	id := readLine("/etc/machine-id")
	return corev1.NodeSystemInfo{
		MachineID:               id,
		SystemUUID:              id,
		BootID:                  readLine("/proc/sys/kernel/random/boot_id"),
		KernelVersion:           readLine("/proc/sys/kernel/osrelease"),
		OSImage:                 osImage(),
		ContainerRuntimeVersion: k.Runtime.Name() + "://" + version,
		KubeletVersion:          Version,
		OperatingSystem:         "linux",
		Architecture:            runtime.GOARCH,
	}
}

// readLine reads a file of one line; "" when there is none.
func readLine(path string) string {
	b, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(b))
}

// osImage is the distribution's name.
func osImage() string {
	for _, line := range strings.Split(readLine("/etc/os-release"), "\n") {
		if v, ok := strings.CutPrefix(line, "PRETTY_NAME="); ok {
			return strings.Trim(v, `"`)
		}
	}
	return runtime.GOOS
}

// NodeConditions gives the conditions of every node of the fleet: they share
// one engine. The caller keeps lastTransitionTime where the status did not change.
func (k *Kubelet) NodeConditions(now metav1.Time) []corev1.NodeCondition {
	ready := corev1.NodeCondition{Type: corev1.NodeReady, Status: corev1.ConditionTrue, Reason: "KubeletReady", Message: "kubelet is posting ready status"}
	if !k.up.Load() {
		ready.Status, ready.Reason, ready.Message = corev1.ConditionFalse, "KubeletNotReady", "container runtime is down"
	}
	out := []corev1.NodeCondition{
		{Type: corev1.NodeMemoryPressure, Status: corev1.ConditionFalse, Reason: "KubeletHasSufficientMemory", Message: "kubelet has sufficient memory available"},
		{Type: corev1.NodeDiskPressure, Status: corev1.ConditionFalse, Reason: "KubeletHasNoDiskPressure", Message: "kubelet has no disk pressure"},
		{Type: corev1.NodePIDPressure, Status: corev1.ConditionFalse, Reason: "KubeletHasSufficientPID", Message: "kubelet has sufficient PID available"},
		ready,
	}
	for i := range out {
		out[i].LastHeartbeatTime, out[i].LastTransitionTime = now, now
	}
	return out
}

// Up says whether the engine answers: whether the nodes are ready.
func (k *Kubelet) Up() bool { return k.up.Load() }
