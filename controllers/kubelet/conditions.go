package kubelet

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// The conditions of a pod. The kubelet owns five of them and PodScheduled of a
// bound pod; all others (readiness gates, DisruptionTarget, resize) belong to
// somebody else and are kept as they are.

var ownConditions = []corev1.PodConditionType{
	corev1.PodReadyToStartContainers, corev1.PodInitialized, corev1.PodReady, corev1.ContainersReady, corev1.PodScheduled,
}

// conditions sets all of them in upstream's order.
func conditions(in statusInput, s *corev1.PodStatus) {
	for _, c := range in.pod.Status.Conditions {
		if !slices.Contains(ownConditions, c.Type) {
			s.Conditions = append(s.Conditions, c)
		}
	}
	containers := containersReady(in, s)
	own := []corev1.PodCondition{
		readyToStart(in),
		initialized(in, s),
		podReady(in, s, containers),
		containers,
		{Type: corev1.PodScheduled, Status: corev1.ConditionTrue},
	}
	for _, c := range own {
		c.ObservedGeneration = in.pod.Generation
		c.LastTransitionTime = stamp(in.now)
		if old := findCondition(in.pod.Status.Conditions, c.Type); old != nil {
			c.LastProbeTime = old.LastProbeTime
			if old.Status == c.Status {
				c.LastTransitionTime = old.LastTransitionTime
			}
		}
		s.Conditions = append(s.Conditions, c)
	}
}

func findCondition(list []corev1.PodCondition, t corev1.PodConditionType) *corev1.PodCondition {
	i := slices.IndexFunc(list, func(c corev1.PodCondition) bool { return c.Type == t })
	if i < 0 {
		return nil
	}
	return &list[i]
}

// readyToStart says whether the sandbox stands.
func readyToStart(in statusInput) corev1.PodCondition {
	c := corev1.PodCondition{Type: corev1.PodReadyToStartContainers, Status: corev1.ConditionFalse, Reason: "PodSandboxNotReady"}
	switch {
	case in.sandbox == nil:
		c.Message = "no pod sandbox exists"
	case !in.sandbox.Ready:
		c.Message = "pod sandbox is not ready"
	default:
		c.Status, c.Reason = corev1.ConditionTrue, ""
	}
	return c
}

// initialized says whether the init containers are done; once a main container
// has started they are, whatever a sidecar does later.
func initialized(in statusInput, s *corev1.PodStatus) corev1.PodCondition {
	c := corev1.PodCondition{Type: corev1.PodInitialized, Status: corev1.ConditionTrue}
	var incomplete []string
	for i := range in.pod.Spec.InitContainers {
		spec := &in.pod.Spec.InitContainers[i]
		st := findStatus(s.InitContainerStatuses, spec.Name)
		done := st != nil && st.Ready
		if isSidecar(spec) {
			done = st != nil && st.Started != nil && *st.Started
		}
		if !done {
			incomplete = append(incomplete, spec.Name)
		}
	}
	switch {
	case s.Phase == corev1.PodSucceeded:
		c.Reason = "PodCompleted"
	case anyMainStarted(s), len(incomplete) == 0:
	default:
		c.Status, c.Reason = corev1.ConditionFalse, "ContainersNotInitialized"
		c.Message = fmt.Sprintf("containers with incomplete status: %s", incomplete)
	}
	return c
}

// anyMainStarted says whether a main container runs or ran.
func anyMainStarted(s *corev1.PodStatus) bool {
	return slices.ContainsFunc(s.ContainerStatuses, func(c corev1.ContainerStatus) bool {
		return c.State.Running != nil || c.State.Terminated != nil || c.LastTerminationState.Terminated != nil
	})
}

// containersReady says whether all main containers and sidecars are ready.
func containersReady(in statusInput, s *corev1.PodStatus) corev1.PodCondition {
	c := corev1.PodCondition{Type: corev1.ContainersReady, Status: corev1.ConditionFalse}
	var unready []string
	for i := range in.pod.Spec.InitContainers {
		spec := &in.pod.Spec.InitContainers[i]
		if st := findStatus(s.InitContainerStatuses, spec.Name); isSidecar(spec) && (st == nil || !st.Ready) {
			unready = append(unready, spec.Name)
		}
	}
	for i := range in.pod.Spec.Containers {
		if st := findStatus(s.ContainerStatuses, in.pod.Spec.Containers[i].Name); st == nil || !st.Ready {
			unready = append(unready, in.pod.Spec.Containers[i].Name)
		}
	}
	switch {
	case s.Phase == corev1.PodSucceeded:
		c.Reason = "PodCompleted"
	case s.Phase == corev1.PodFailed:
		c.Reason = "PodFailed"
	case len(unready) > 0:
		c.Reason = "ContainersNotReady"
		c.Message = fmt.Sprintf("containers with unready status: %s", unready)
	default:
		c.Status = corev1.ConditionTrue
	}
	return c
}

// podReady adds the readiness gates to ContainersReady.
func podReady(in statusInput, s *corev1.PodStatus, containers corev1.PodCondition) corev1.PodCondition {
	c := containers
	c.Type = corev1.PodReady
	if c.Status != corev1.ConditionTrue {
		return c
	}
	var missing []string
	for _, gate := range in.pod.Spec.ReadinessGates {
		switch g := findCondition(s.Conditions, gate.ConditionType); {
		case g == nil:
			missing = append(missing, fmt.Sprintf("corresponding condition of pod readiness gate %q does not exist.", gate.ConditionType))
		case g.Status != corev1.ConditionTrue:
			missing = append(missing, fmt.Sprintf("the status of pod readiness gate %q is not \"True\", but %v", gate.ConditionType, g.Status))
		}
	}
	if len(missing) > 0 {
		c.Status, c.Reason, c.Message = corev1.ConditionFalse, "ReadinessGatesNotReady", strings.Join(missing, ", ")
	}
	return c
}

// mergeStatus puts the kubelet's status on what is stored now: conditions that
// are not its own, and what the kubelet does not write, are the stored ones.
func mergeStatus(stored, mine corev1.PodStatus) corev1.PodStatus {
	out := mine
	out.Conditions = nil
	for _, c := range stored.Conditions {
		if !slices.Contains(ownConditions, c.Type) {
			out.Conditions = append(out.Conditions, c)
		}
	}
	for _, c := range mine.Conditions {
		if slices.Contains(ownConditions, c.Type) {
			out.Conditions = append(out.Conditions, c)
		}
	}
	out.QOSClass = stored.QOSClass
	out.NominatedNodeName = stored.NominatedNodeName
	out.Resize = stored.Resize
	out.VolumeHealth = stored.VolumeHealth
	out.ResourceClaimStatuses = stored.ResourceClaimStatuses
	out.ExtendedResourceClaimStatus = stored.ExtendedResourceClaimStatus
	out.NodeAllocatableResourceClaimStatuses = stored.NodeAllocatableResourceClaimStatuses
	if terminalPhase(stored.Phase) {
		out.Phase, out.Reason, out.Message = stored.Phase, stored.Reason, stored.Message
	}
	return out
}
