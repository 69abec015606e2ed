package core

import (
	"bytes"
	"fmt"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"kuberow/api/kinds"
	"kuberow/api/kinds/common"
	"kuberow/sqlstore"
)

// A Pod has many writers, and each has a path of its own: users (the main
// path), the kubelet (status), the scheduler (binding), debuggers
// (ephemeralcontainers), autoscalers (resize), drainers (eviction). This file
// lists them; pod_*.go says what each may change.

func pods() *kinds.Resource {
	v := common.Version[corev1.Pod, corev1.PodList](gvk("Pod"))
	stream := func(name, kind string) *kinds.Subresource {
		return &kinds.Subresource{Name: name, GVK: gvk(kind), Verbs: []string{"create", "get"}, Connect: true}
	}
	main := podStrategy()
	return single(kinds.Resource{
		Name: "pods", Singular: "pod", ReturnsDeleted: true, ShortNames: []string{"po"}, Categories: []string{"all"}, Namespaced: true,
		RowConditions: podRowConditions, MayHaveRowConditions: podMayHaveEnded,
		Verbs: common.Verbs(), Prefix: "/registry/pods", StorageVersionHash: "xPOwRZ+Yhw8=",
		Strategy: main.Strategy(),
		Subresources: []*kinds.Subresource{
			stream("attach", "PodAttachOptions"),
			{
				Name: "binding", GVK: gvk("Binding"), Verbs: []string{"create"}, Create: createBinding,
				Strategy: podBindingStrategy(main).Strategy(),
			},
			{Name: "ephemeralcontainers", GVK: v.GVK, Verbs: common.StatusVerbs(), Strategy: podEphemeralStrategy(main).Strategy()},
			{
				Name: "eviction", GVK: policyv1.SchemeGroupVersion.WithKind("Eviction"), Verbs: []string{"create"}, Create: createEviction,
				// The group's beta is served no more, but its Eviction is what old drainers send.
				Also: []schema.GroupVersionKind{{Group: policyv1.GroupName, Version: "v1beta1", Kind: "Eviction"}},
			},
			stream("exec", "PodExecOptions"),
			{Name: "log", GVK: v.GVK, Verbs: []string{"get"}, Connect: true},
			stream("portforward", "PodPortForwardOptions"),
			{Name: "proxy", GVK: gvk("PodProxyOptions"), Verbs: common.ProxyVerbs(), Connect: true},
			{Name: "resize", GVK: v.GVK, Verbs: common.StatusVerbs(), Strategy: podResizeStrategy(main).Strategy()},
			common.Status(v.GVK, podStatusStrategy(main).Strategy()),
		},
	}, v)
}

type podTyped = common.Typed[corev1.Pod, *corev1.Pod]

func podStrategy() podTyped {
	return podTyped{
		Default:          defaultPod,
		Drop:             func(p *corev1.Pod) { dropPodFields(&p.Spec) },
		PrepareForCreate: preparePod,
		PrepareForUpdate: func(_ *kinds.Context, p, old *corev1.Pod) {
			p.Status = old.Status
			keepPodResources(p, old)
			common.BumpGeneration(p, old, !common.Equal(p.Spec, old.Spec))
		},
		Validate:       validatePod,
		ValidateUpdate: validatePodUpdate,
		Warnings:       podWarnings,
		GracePeriod:    podGracePeriod,
		Fields:         podFields,
		FieldNames: []string{
			"spec.hostNetwork", "spec.nodeName", "spec.restartPolicy", "spec.schedulerName", "spec.serviceAccountName",
			"status.nominatedNodeName", "status.phase", "status.podIP",
			"status.podIPs", // may be asked for, but no pod has a value for it
		},
		FieldAliases: map[string]string{"spec.host": "spec.nodeName"}, // of the first clients of v1
		ResetFields:  []string{"status"},
	}
}

func defaultPod(p *corev1.Pod) {
	dropInitAnnotations(p.Annotations)
	defaultPodOnly(&p.Spec)
	DefaultPodSpec(&p.Spec)
	s := &p.Status
	switch {
	case s.PodIP == "" && len(s.PodIPs) > 0:
		s.PodIP = s.PodIPs[0].IP
	case s.PodIP != "" && (len(s.PodIPs) == 0 || s.PodIPs[0].IP != s.PodIP):
		// An old kubelet knows only the singular field, so that one is right.
		s.PodIPs = []corev1.PodIP{{IP: s.PodIP}}
	}
}

// podGracePeriod: a pod that runs nowhere needs no time to stop.
func podGracePeriod(_ *kinds.Context, p *corev1.Pod, asked *int64) int64 {
	if p.Spec.NodeName == "" || p.Status.Phase == corev1.PodFailed || p.Status.Phase == corev1.PodSucceeded {
		return 0
	}
	var seconds int64
	if asked != nil {
		seconds = *asked
	} else if p.Spec.TerminationGracePeriodSeconds != nil {
		seconds = *p.Spec.TerminationGracePeriodSeconds
	}
	if seconds < 0 {
		return 1
	}
	return seconds
}

func podFields(p *corev1.Pod) []sqlstore.Pair {
	ip := ""
	if len(p.Status.PodIPs) > 0 {
		ip = p.Status.PodIPs[0].IP
	}
	return common.Pairs(
		"spec.hostNetwork", strconv.FormatBool(p.Spec.HostNetwork),
		"spec.nodeName", p.Spec.NodeName,
		"spec.restartPolicy", string(p.Spec.RestartPolicy),
		"spec.schedulerName", p.Spec.SchedulerName,
		"spec.serviceAccountName", p.Spec.ServiceAccountName,
		"status.nominatedNodeName", p.Status.NominatedNodeName,
		"status.phase", string(p.Status.Phase),
		"status.podIP", ip)
}

// podWarnings speaks only on creation: updates of pods are frequent, and seldom made by people.
func podWarnings(_ *kinds.Context, p, old *corev1.Pod) []string {
	if old != nil {
		return nil
	}
	var out []string
	if m := validation.IsDNS1123Label(p.Name); len(m) != 0 {
		out = append(out, fmt.Sprintf("metadata.name: this is used in the Pod's hostname, which can result in surprising behavior; a DNS label is recommended: %v", m))
	}
	t := &corev1.PodTemplateSpec{ObjectMeta: p.ObjectMeta, Spec: p.Spec}
	return append(out, PodTemplateWarnings(t, (*field.Path)(nil))...)
}

// podMayHaveEnded looks for the phases of podRowConditions in the stored JSON,
// which is written without spaces.
func podMayHaveEnded(value []byte) bool {
	return bytes.Contains(value, []byte(`"phase":"Succeeded"`)) || bytes.Contains(value, []byte(`"phase":"Failed"`))
}

// podRowConditions mark the row of a pod that has ended; kubectl get greys or skips it.
func podRowConditions(obj runtime.Object) []metav1.TableRowCondition {
	c := metav1.TableRowCondition{Type: metav1.RowCompleted, Status: metav1.ConditionTrue}
	switch phase := obj.(*corev1.Pod).Status.Phase; phase {
	case corev1.PodSucceeded:
		c.Reason, c.Message = string(phase), "The pod has completed successfully."
	case corev1.PodFailed:
		c.Reason, c.Message = string(phase), "The pod failed."
	default:
		return nil
	}
	return []metav1.TableRowCondition{c}
}
