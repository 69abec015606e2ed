package kubelet

import (
	"fmt"
	"hash/fnv"
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// What the rules say about a container: whether it is a sidecar, whether it is
// restarted, which of its attempts counts.

// isSidecar says whether an init container keeps running beside the main ones.
func isSidecar(c *corev1.Container) bool {
	return c.RestartPolicy != nil && *c.RestartPolicy == corev1.ContainerRestartPolicyAlways
}

// restartsAfter says whether a container is started again after it exited with
// code: its rules first, then its own policy, then the pod's.
func restartsAfter(c *corev1.Container, pod *corev1.Pod, code int32) bool {
	if c.RestartPolicy != nil {
		for _, r := range c.RestartPolicyRules {
			if ruleMatches(r, code) {
				return true
			}
		}
		return policyRestarts(corev1.RestartPolicy(*c.RestartPolicy), code)
	}
	return policyRestarts(pod.Spec.RestartPolicy, code)
}

func policyRestarts(p corev1.RestartPolicy, code int32) bool {
	switch p {
	case corev1.RestartPolicyNever:
		return false
	case corev1.RestartPolicyOnFailure:
		return code != 0
	}
	return true
}

func ruleMatches(r corev1.ContainerRestartRule, code int32) bool {
	if r.ExitCodes == nil {
		return false
	}
	in := slices.Contains(r.ExitCodes.Values, code)
	switch r.ExitCodes.Operator {
	case corev1.ContainerRestartRuleOnExitCodesOpIn:
		return in
	case corev1.ContainerRestartRuleOnExitCodesOpNotIn:
		return !in
	}
	return false
}

// mayRestartRunning says whether a container that has to be killed (a failed probe) comes back.
func mayRestartRunning(c *corev1.Container, pod *corev1.Pod) bool {
	if c.RestartPolicy != nil {
		return *c.RestartPolicy != corev1.ContainerRestartPolicyNever
	}
	return pod.Spec.RestartPolicy != corev1.RestartPolicyNever
}

// wantsStart says whether a container that does not run is to be started now or after its back-off.
func wantsStart(c *corev1.Container, pod *corev1.Pod, last *Container) bool {
	switch {
	case pod.DeletionTimestamp != nil:
		return false
	case last == nil:
		return true
	case last.State == StateRunning:
		return false
	case last.State == StateCreated:
		return true
	}
	return restartsAfter(c, pod, last.ExitCode)
}

// specHash is what a running container is compared with: as in the real
// kubelet only its name and image, since nothing else of it can change.
func specHash(c *corev1.Container) string {
	h := fnv.New32a()
	fmt.Fprintf(h, "%s\x00%s", c.Name, c.Image)
	return fmt.Sprintf("%08x", h.Sum32())
}

// attempts gives a container's attempts, newest first.
func (s *Sandbox) attempts(name string) []*Container {
	if s == nil {
		return nil
	}
	var out []*Container
	for i := range s.Containers {
		if s.Containers[i].Name == name {
			out = append(out, &s.Containers[i])
		}
	}
	slices.SortStableFunc(out, func(a, b *Container) int { return b.Attempt - a.Attempt })
	return out
}

// latest gives a container's newest attempt, nil when there is none.
func (s *Sandbox) latest(name string) *Container {
	var last *Container
	if s != nil {
		for i := range s.Containers {
			if c := &s.Containers[i]; c.Name == name && (last == nil || c.Attempt >= last.Attempt) {
				last = c
			}
		}
	}
	return last
}

// ended gives a container's newest attempt that runs no more.
func (s *Sandbox) ended(name string) *Container {
	for _, c := range s.attempts(name) {
		if c.State != StateRunning {
			return c
		}
	}
	return nil
}

// active gives the newest attempt when it belongs to this sandbox: after a
// sandbox had to be replaced, init containers run again.
func (s *Sandbox) active(name string) *Container {
	if c := s.latest(name); c != nil && !c.Created.Before(s.Created) {
		return c
	}
	return nil
}

// running gives what runs, in no order.
func (s *Sandbox) running() []*Container {
	var out []*Container
	if s != nil {
		for i := range s.Containers {
			if s.Containers[i].State == StateRunning {
				out = append(out, &s.Containers[i])
			}
		}
	}
	return out
}

// allContainers gives init, main and ephemeral containers as plain ones, with where events say they are.
func allContainers(pod *corev1.Pod) []specContainer {
	out := make([]specContainer, 0, len(pod.Spec.InitContainers)+len(pod.Spec.Containers)+len(pod.Spec.EphemeralContainers))
	for i := range pod.Spec.InitContainers {
		out = append(out, specContainer{&pod.Spec.InitContainers[i], initContainer})
	}
	for i := range pod.Spec.Containers {
		out = append(out, specContainer{&pod.Spec.Containers[i], mainContainer})
	}
	for i := range pod.Spec.EphemeralContainers {
		c := corev1.Container(pod.Spec.EphemeralContainers[i].EphemeralContainerCommon)
		out = append(out, specContainer{&c, ephemeralContainer})
	}
	return out
}

// containerKind says which list of the pod a container is in.
type containerKind string

const (
	initContainer      containerKind = "initContainers"
	mainContainer      containerKind = "containers"
	ephemeralContainer containerKind = "ephemeralContainers"
)

type specContainer struct {
	*corev1.Container
	kind containerKind
}

// fieldPath is how an event's involvedObject names the container.
func (c specContainer) fieldPath() string { return "spec." + string(c.kind) + "{" + c.Name + "}" }

// findContainer finds a container of the pod by name.
func findContainer(pod *corev1.Pod, name string) (specContainer, bool) {
	for _, c := range allContainers(pod) {
		if c.Name == name {
			return c, true
		}
	}
	return specContainer{}, false
}

// describe is upstream's format of a pod in messages.
func describe(pod *corev1.Pod) string {
	return pod.Name + "_" + pod.Namespace + "(" + string(pod.UID) + ")"
}
