package admission

// LimitRanger: the LimitRanges of a namespace give containers what they did
// not ask for, and bound what containers, pods and claims may ask for.

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	resourcehelper "k8s.io/component-helpers/resource"
)

const limitRangerAnnotation = "kubernetes.io/limit-ranger"

func limitRanger(l *lookup) Plugin {
	return Plugin{
		Name: "LimitRanger",
		Mutate: func(a *Attributes) error {
			pod, ok := a.Object.(*corev1.Pod)
			if !ok {
				return nil
			}
			return eachLimit(a, l, func(r *corev1.LimitRange) error {
				defaultResources(pod, r)
				return nil
			})
		},
		Validate: func(a *Attributes) error {
			return eachLimit(a, l, func(r *corev1.LimitRange) error {
				switch o := a.Object.(type) {
				case *corev1.Pod:
					return limitPod(o, r)
				case *corev1.PersistentVolumeClaim:
					return limitClaim(o, r)
				}
				return nil
			})
		},
	}
}

// eachLimit calls f when the write is one that limits apply to: a new pod or claim, a changed claim, a resized pod.
func eachLimit(a *Attributes, l *lookup, f func(*corev1.LimitRange) error) error {
	switch {
	case a.is("", "pods", "") && a.Operation == create:
	case a.is("", "pods", "resize") && a.Operation == update:
	case a.is("", "persistentvolumeclaims", "") && (a.Operation == create || a.Operation == update):
	default:
		return nil
	}
	if a.Old != nil {
		if m, err := meta.Accessor(a.Old); err == nil && m.GetDeletionTimestamp() != nil {
			return nil
		}
	}
	limits, err := l.limitsIn(a.Ctx, a.Namespace)
	if err != nil {
		return forbidden(a, "unable to %s %v at this time because there was an error enforcing limit ranges", a.Operation, a.Resource.Name)
	}
	for _, r := range limits {
		if err := f(r); err != nil {
			return forbidden(a, "%w", err)
		}
	}
	return nil
}

// defaultResources fills in requests and limits and says so in an annotation.
func defaultResources(pod *corev1.Pod, r *corev1.LimitRange) {
	requests, limits := corev1.ResourceList{}, corev1.ResourceList{}
	for _, item := range r.Spec.Limits {
		if item.Type == corev1.LimitTypeContainer {
			maps.Copy(requests, item.DefaultRequest)
			maps.Copy(limits, item.Default)
		}
	}
	var said []string
	fill := func(containers []corev1.Container, kind string) {
		for i := range containers {
			c := &containers[i]
			for _, part := range []struct {
				name string
				have *corev1.ResourceList
				give corev1.ResourceList
			}{{"request", &c.Resources.Requests, requests}, {"limit", &c.Resources.Limits, limits}} {
				if added := addMissing(part.have, part.give); len(added) > 0 {
					said = append(said, fmt.Sprintf("%s %s for %s %s", strings.Join(added, ", "), part.name, kind, c.Name))
				}
			}
		}
	}
	fill(pod.Spec.Containers, "container")
	fill(pod.Spec.InitContainers, "init container")
	if len(said) > 0 {
		if pod.Annotations == nil {
			pod.Annotations = map[string]string{}
		}
		pod.Annotations[limitRangerAnnotation] = "LimitRanger plugin set: " + strings.Join(said, "; ")
	}
}

func addMissing(have *corev1.ResourceList, give corev1.ResourceList) (added []string) {
	for name, q := range give {
		if _, there := (*have)[name]; !there {
			if *have == nil {
				*have = corev1.ResourceList{}
			}
			(*have)[name] = q.DeepCopy()
			added = append(added, string(name))
		}
	}
	slices.Sort(added)
	return added
}

func limitPod(pod *corev1.Pod, r *corev1.LimitRange) error {
	var errs []error
	for _, item := range r.Spec.Limits {
		switch item.Type {
		case corev1.LimitTypeContainer:
			for _, c := range slices.Concat(pod.Spec.Containers, pod.Spec.InitContainers) {
				errs = append(errs, withinLimits(item, c.Resources.Requests, c.Resources.Limits)...)
			}
		case corev1.LimitTypePod:
			o := resourcehelper.PodResourcesOptions{ExcludeOverhead: true}
			errs = append(errs, withinLimits(item, resourcehelper.PodRequests(pod, o), resourcehelper.PodLimits(pod, o))...)
		}
	}
	return utilerrors.NewAggregate(errs)
}

func limitClaim(claim *corev1.PersistentVolumeClaim, r *corev1.LimitRange) error {
	var errs []error
	for _, item := range r.Spec.Limits {
		if item.Type != corev1.LimitTypePersistentVolumeClaim {
			continue
		}
		for _, name := range sortedNames(item.Min) {
			errs = appendError(errs, atLeast(item.Type, name, item.Min[name], claim.Spec.Resources.Requests, nil))
		}
		for _, name := range sortedNames(item.Max) {
			most, request := item.Max[name], claim.Spec.Resources.Requests
			if q, there := request[name]; !there {
				errs = append(errs, fmt.Errorf("maximum %s usage per %s is %s.  No request is specified", name, item.Type, most.String()))
			} else if q.Cmp(most) > 0 {
				errs = append(errs, fmt.Errorf("maximum %s usage per %s is %s, but request is %s", name, item.Type, most.String(), q.String()))
			}
		}
	}
	return utilerrors.NewAggregate(errs)
}

func withinLimits(item corev1.LimitRangeItem, requests, limits corev1.ResourceList) []error {
	var errs []error
	for _, name := range sortedNames(item.Min) {
		errs = appendError(errs, atLeast(item.Type, name, item.Min[name], requests, limits))
	}
	for _, name := range sortedNames(item.Max) {
		errs = appendError(errs, atMost(item.Type, name, item.Max[name], requests, limits))
	}
	for _, name := range sortedNames(item.MaxLimitRequestRatio) {
		errs = appendError(errs, ratio(item.Type, name, item.MaxLimitRequestRatio[name], requests, limits))
	}
	return errs
}

func sortedNames(l corev1.ResourceList) []corev1.ResourceName { return slices.Sorted(maps.Keys(l)) }

func appendError(errs []error, err error) []error {
	if err == nil {
		return errs
	}
	return append(errs, err)
}

func atLeast(t corev1.LimitType, name corev1.ResourceName, least resource.Quantity, requests, limits corev1.ResourceList) error {
	request, there := requests[name]
	limit, limited := limits[name]
	switch {
	case !there:
		return fmt.Errorf("minimum %s usage per %s is %s.  No request is specified", name, t, least.String())
	case request.Cmp(least) < 0:
		return fmt.Errorf("minimum %s usage per %s is %s, but request is %s", name, t, least.String(), request.String())
	case limited && limit.Cmp(least) < 0:
		return fmt.Errorf("minimum %s usage per %s is %s, but limit is %s", name, t, least.String(), limit.String())
	}
	return nil
}

func atMost(t corev1.LimitType, name corev1.ResourceName, most resource.Quantity, requests, limits corev1.ResourceList) error {
	request, asked := requests[name]
	limit, there := limits[name]
	switch {
	case !there:
		return fmt.Errorf("maximum %s usage per %s is %s.  No limit is specified", name, t, most.String())
	case limit.Cmp(most) > 0:
		return fmt.Errorf("maximum %s usage per %s is %s, but limit is %s", name, t, most.String(), limit.String())
	case asked && request.Cmp(most) > 0:
		return fmt.Errorf("maximum %s usage per %s is %s, but request is %s", name, t, most.String(), request.String())
	}
	return nil
}

func ratio(t corev1.LimitType, name corev1.ResourceName, most resource.Quantity, requests, limits corev1.ResourceList) error {
	request, asked := requests[name]
	limit, limited := limits[name]
	switch {
	case !asked || request.IsZero():
		return fmt.Errorf("%s max limit to request ratio per %s is %s, but no request is specified or request is 0", name, t, most.String())
	case !limited || limit.IsZero():
		return fmt.Errorf("%s max limit to request ratio per %s is %s, but no limit is specified or limit is 0", name, t, most.String())
	}
	if r := limit.AsApproximateFloat64() / request.AsApproximateFloat64(); r > most.AsApproximateFloat64() {
		return fmt.Errorf("%s max limit to request ratio per %s is %s, but provided ratio is %f", name, t, most.String(), r)
	}
	return nil
}
