package admission

// PodSecurity: the labels pod-security.kubernetes.io/enforce, audit and warn
// of a namespace say how strict it is with pods. Enforce refuses pods, warn
// also speaks about the templates of workloads. A namespace without such
// labels allows everything, and then nothing is evaluated; the checks are made
// when the first namespace needs them.

import (
	"fmt"
	"maps"
	"slices"
	"sync"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apiserver/pkg/audit"
	"k8s.io/pod-security-admission/api"
	"k8s.io/pod-security-admission/policy"
)

const maxPodsChecked = 3000 // of a namespace whose level was raised

var privileged = api.Policy{
	Enforce: api.LevelVersion{Level: api.LevelPrivileged, Version: api.LatestVersion()},
	Audit:   api.LevelVersion{Level: api.LevelPrivileged, Version: api.LatestVersion()},
	Warn:    api.LevelVersion{Level: api.LevelPrivileged, Version: api.LatestVersion()},
}

type podSecurityChecks struct {
	lookup    *lookup
	evaluator func() policy.Evaluator
}

func podSecurity(l *lookup) Plugin {
	p := &podSecurityChecks{lookup: l, evaluator: sync.OnceValue(func() policy.Evaluator {
		e, err := policy.NewEvaluator(policy.DefaultChecks(), nil)
		if err != nil {
			panic(fmt.Sprintf("the library refuses its own checks: %v", err))
		}
		return e
	})}
	return Plugin{Name: "PodSecurity", Validate: p.validate}
}

func (p *podSecurityChecks) validate(a *Attributes) error {
	if a.Operation != create && a.Operation != update {
		return nil
	}
	if ns, ok := a.Object.(*corev1.Namespace); ok {
		return p.namespace(a, ns)
	}
	pod, isPod := a.Object.(*corev1.Pod)
	m, spec := podSpecOf(a.Object)
	if spec == nil || isPod && slices.Contains([]string{"status", "binding", "eviction", "log", "exec", "attach", "portforward", "proxy"}, a.Subresource) || !isPod && a.Subresource != "" {
		return nil
	}
	ns, err := p.lookup.namespace(a.Ctx, a.Namespace)
	if err != nil || ns == nil {
		return err
	}
	levels, errs := api.PolicyToEvaluate(ns.Labels, privileged)
	enforced := func() {
		if isPod {
			audit.AddAuditAnnotation(a.Ctx, api.AuditAnnotationPrefix+api.EnforcedPolicyAnnotationKey, levels.Enforce.String())
		}
	}
	if len(errs) == 0 && levels.FullyPrivileged() {
		enforced()
		return nil
	}
	if old, ok := a.Old.(*corev1.Pod); ok && isPod && a.Operation == update && !imagesChanged(pod, old) {
		return nil
	}
	enforced()
	if r := p.check(levels.Audit, m, spec); !r.Allowed {
		audit.AddAuditAnnotation(a.Ctx, api.AuditAnnotationPrefix+api.AuditViolationsAnnotationKey,
			fmt.Sprintf("would violate PodSecurity %q: %s", levels.Audit.String(), r.ForbiddenDetail()))
	}
	if isPod {
		if r := p.check(levels.Enforce, m, spec); !r.Allowed {
			return forbidden(a, "violates PodSecurity %q: %s", levels.Enforce.String(), r.ForbiddenDetail())
		}
	}
	if r := p.check(levels.Warn, m, spec); !r.Allowed && a.Warn != nil {
		a.Warn(fmt.Sprintf("would violate PodSecurity %q: %s", levels.Warn.String(), r.ForbiddenDetail()))
	}
	return nil
}

func (p *podSecurityChecks) check(lv api.LevelVersion, m *metav1.ObjectMeta, spec *corev1.PodSpec) policy.AggregateCheckResult {
	if lv.Level == api.LevelPrivileged {
		return policy.AggregateCheckResult{Allowed: true}
	}
	return policy.AggregateCheckResults(p.evaluator().EvaluatePod(lv, m, spec))
}

// namespace wants labels that make sense, and warns of pods that a stricter level would not let in.
func (p *podSecurityChecks) namespace(a *Attributes, ns *corev1.Namespace) error {
	if a.Subresource != "" {
		return nil
	}
	levels, errs := api.PolicyToEvaluate(ns.Labels, privileged)
	invalid := func() error {
		return apierrors.NewInvalid(schema.GroupKind{Kind: "Namespace"}, ns.Name, errs)
	}
	if a.Operation == create {
		if len(errs) > 0 {
			return invalid()
		}
		return nil
	}
	old, ok := a.Old.(*corev1.Namespace)
	if !ok {
		return nil
	}
	before, oldErrs := api.PolicyToEvaluate(old.Labels, privileged)
	if len(errs) > 0 && (len(oldErrs) == 0 || errs.ToAggregate().Error() != oldErrs.ToAggregate().Error()) {
		return invalid()
	}
	if levels.Enforce == before.Enforce || levels.Enforce.Level == api.LevelPrivileged ||
		levels.Enforce.Version == before.Enforce.Version && api.CompareLevels(levels.Enforce.Level, before.Enforce.Level) < 1 {
		return nil
	}
	return p.warnOfPods(a, ns.Name, levels.Enforce)
}

// warnOfPods looks at one pod of each controller before the rest, and joins pods with the same fault to one warning.
func (p *podSecurityChecks) warnOfPods(a *Attributes, namespace string, lv api.LevelVersion) error {
	objects, err := a.Reader.List(a.Ctx, schema.GroupResource{Resource: "pods"}, namespace, nil)
	if err != nil {
		return apierrors.NewInternalError(err)
	}
	all := podsOf(objects)
	pods := all[:min(len(all), maxPodsChecked)]
	names := map[string][]string{}
	for _, pod := range pods {
		if r := p.check(lv, &pod.ObjectMeta, &pod.Spec); !r.Allowed {
			names[r.ForbiddenReason()] = append(names[r.ForbiddenReason()], pod.Name)
		}
	}
	warn := a.Warn
	if warn == nil {
		return nil
	}
	if len(pods) < len(all) {
		warn(fmt.Sprintf("new PodSecurity enforce level only checked against the first %d of %d existing pods", len(pods), len(all)))
	}
	if len(names) > 0 {
		warn(fmt.Sprintf("existing pods in namespace %q violate the new PodSecurity enforce level %q", namespace, lv.String()))
	}
	var lines []string
	for fault, who := range names {
		more := ""
		switch n := len(who) - 1; n {
		case 0:
		case 1:
			more = " (and 1 other pod)"
		default:
			more = fmt.Sprintf(" (and %d other pods)", n)
		}
		lines = append(lines, slices.Min(who)+more+": "+fault)
	}
	slices.Sort(lines)
	for _, l := range lines {
		warn(l)
	}
	return nil
}

func podsOf(objects []runtime.Object) []*corev1.Pod {
	var first, more []*corev1.Pod
	seen := map[types.UID]bool{}
	for _, o := range objects {
		pod, ok := o.(*corev1.Pod)
		if !ok {
			continue
		}
		if owner := metav1.GetControllerOfNoCopy(pod); owner != nil && seen[owner.UID] {
			more = append(more, pod)
			continue
		} else if owner != nil {
			seen[owner.UID] = true
		}
		first = append(first, pod)
	}
	return append(first, more...)
}

// podSpecOf finds the pod in what can make pods; nil when there is none.
func podSpecOf(o runtime.Object) (*metav1.ObjectMeta, *corev1.PodSpec) {
	template := func(t *corev1.PodTemplateSpec) (*metav1.ObjectMeta, *corev1.PodSpec) {
		if t == nil {
			return nil, nil
		}
		return &t.ObjectMeta, &t.Spec
	}
	switch o := o.(type) {
	case *corev1.Pod:
		return &o.ObjectMeta, &o.Spec
	case *corev1.PodTemplate:
		return template(&o.Template)
	case *corev1.ReplicationController:
		return template(o.Spec.Template)
	case *appsv1.ReplicaSet:
		return template(&o.Spec.Template)
	case *appsv1.Deployment:
		return template(&o.Spec.Template)
	case *appsv1.DaemonSet:
		return template(&o.Spec.Template)
	case *appsv1.StatefulSet:
		return template(&o.Spec.Template)
	case *batchv1.Job:
		return template(&o.Spec.Template)
	case *batchv1.CronJob:
		return template(&o.Spec.JobTemplate.Spec.Template)
	}
	return nil, nil
}

// imagesChanged: nothing else that matters here can change in a pod.
func imagesChanged(pod, old *corev1.Pod) bool {
	images := func(p *corev1.Pod) map[string]string {
		out := map[string]string{}
		for _, c := range p.Spec.InitContainers {
			out["i/"+c.Name] = c.Image
		}
		for _, c := range p.Spec.Containers {
			out["c/"+c.Name] = c.Image
		}
		for _, c := range p.Spec.EphemeralContainers {
			out["e/"+c.Name] = c.Image
		}
		return out
	}
	return !maps.Equal(images(pod), images(old))
}
