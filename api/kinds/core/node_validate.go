package core

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	netutils "k8s.io/utils/net"
	"kuberow/api/kinds"
	"kuberow/api/kinds/common"
)

// The rules of a Node.

const taintsAnnotation = "scheduler.alpha.kubernetes.io/taints"

// featureName is what a kubelet calls a feature that it has.
var featureName = regexp.MustCompile(`^([A-Z][a-zA-Z0-9]*)(/[a-zA-Z0-9]+)*$`)

func validateNode(_ *kinds.Context, n *corev1.Node) field.ErrorList {
	var f faults
	meta := field.NewPath("metadata")
	f.nodeAnnotations(n.Annotations, meta.Child("annotations"))
	f.taints(n.Spec.Taints, meta.Child("taints")) // upstream's path
	f.nodeResources(n)
	if s := n.Status.NodeInfo.Swap; s != nil && s.Capacity != nil && *s.Capacity <= 0 {
		f.invalid(meta.Child("nodeSwapStatus", "capacity"), *s.Capacity, "must be greater than zero")
	}
	f.declaredFeatures(n.Status.DeclaredFeatures)
	f.podCIDRs(n.Spec.PodCIDRs, field.NewPath("spec", "podCIDRs"))
	return f.all
}

func (f *faults) nodeAnnotations(a map[string]string, at *field.Path) {
	text := a[taintsAnnotation]
	if text == "" {
		return
	}
	var taints []corev1.Taint
	if err := json.Unmarshal([]byte(text), &taints); err != nil {
		f.invalid(at, taintsAnnotation, err.Error())
		return
	}
	f.taints(taints, at.Child(taintsAnnotation))
}

func (f *faults) taints(list []corev1.Taint, at *field.Path) {
	seen := sets.New[string]()
	for i, t := range list {
		at := at.Index(i)
		f.add(labelName(t.Key, at.Child("key")))
		if m := validation.IsValidLabelValue(t.Value); len(m) > 0 {
			f.invalid(at.Child("value"), t.Value, strings.Join(m, ";"))
		}
		if t.Effect == "" {
			f.required(at.Child("effect"), "")
		} else {
			f.taintEffect(t.Effect, at.Child("effect"))
		}
		key := string(t.Effect) + " " + t.Key
		if seen.Has(key) {
			twice := field.Duplicate(at, common.Internal(t))
			twice.Detail = "taints must be unique by key and effect pair"
			f.all = append(f.all, twice)
		}
		seen.Insert(key)
	}
}

func (f *faults) nodeResources(n *corev1.Node) {
	for _, list := range []struct {
		name    string
		amounts corev1.ResourceList
	}{{"capacity", n.Status.Capacity}, {"allocatable", n.Status.Allocatable}} {
		for _, name := range common.Keys(list.amounts) {
			f.add(resourceAmount(name, list.amounts[name], field.NewPath("status", list.name, string(name))))
		}
	}
}

func (f *faults) declaredFeatures(list []string) {
	at := field.NewPath("status", "declaredFeatures")
	for i, name := range list {
		if len(name) > validation.DNS1123SubdomainMaxLength {
			f.invalid(at.Index(i), name, fmt.Sprintf("invalid feature name %q: must be no more than %d characters", name, validation.DNS1123SubdomainMaxLength))
		} else if !featureName.MatchString(name) {
			f.invalid(at.Index(i), name, fmt.Sprintf("invalid feature name %q: must start with an UpperCamelCase segment, with subsequent segments separated by '/' (e.g., MyFeature or MyFeature/mySubFeature), and contain only alphanumeric characters and slashes", name))
		}
		if i+1 == len(list) {
			break
		}
		if next := list[i+1]; name == next {
			f.duplicate(at.Index(i+1), next)
		} else if name > next {
			f.invalid(at.Index(i+1), next, "list must be sorted alphabetically")
		}
	}
}

func (f *faults) podCIDRs(list []string, at *field.Path) {
	for i, cidr := range list {
		f.add(validation.IsValidCIDRForLegacyField(at.Index(i), cidr, true, nil))
	}
	if len(list) < 2 {
		return
	}
	families := sets.New[bool]()
	for i, cidr := range list {
		_, p, err := netutils.ParseCIDRSloppy(cidr)
		if err != nil {
			f.all = append(f.all, field.InternalError(at, fmt.Errorf("invalid PodCIDRs. failed to check with dual stack with error:invalid CIDR[%d]: <nil> (%w)", i, err)))
			families.Clear()
			break
		}
		families.Insert(netutils.IsIPv4CIDR(p))
	}
	if families.Len() != 2 || len(list) > 2 {
		f.invalid(at, list, "may specify no more than one CIDR for each IP family")
	}
}

func validateNodeUpdate(r *kinds.Context, n, old *corev1.Node) field.ErrorList {
	return append(validateNode(r, n), validateNodeStatus(r, n, old)...)
}

func validateNodeStatus(_ *kinds.Context, n, old *corev1.Node) field.ErrorList {
	var f faults
	meta, spec := field.NewPath("metadata"), field.NewPath("spec")
	f.nodeAnnotations(n.Annotations, meta.Child("annotations"))
	f.nodeResources(n)
	f.declaredFeatures(n.Status.DeclaredFeatures)
	seen := sets.New[corev1.NodeAddress]()
	for i, a := range n.Status.Addresses {
		if seen.Has(a) {
			f.duplicate(field.NewPath("status", "addresses").Index(i), common.Internal(a))
		}
		seen.Insert(a)
	}
	if len(old.Spec.PodCIDRs) > 0 && !sameAddresses(n.Spec.PodCIDRs, old.Spec.PodCIDRs) {
		f.forbidden(spec.Child("podCIDRs"), `node updates may not change podCIDR except from "" to valid`)
	}
	if was, now := old.Spec.ProviderID, n.Spec.ProviderID; was != "" && now == "" {
		f.invalid(spec.Child("providerID"), nil, "field cannot be cleared once set")
	} else if was != "" && now != was {
		f.invalid(spec.Child("providerID"), nil, "field cannot be modified once set")
	}
	f.taints(n.Spec.Taints, meta.Child("taints"))
	if n.Spec.DoNotUseExternalID != old.Spec.DoNotUseExternalID {
		f.forbidden(spec.Child("externalID"), "may not be updated")
	}
	return f.all
}

func nodeWarnings(_ *kinds.Context, n, _ *corev1.Node) []string {
	var out []string
	if n.Spec.ConfigSource != nil {
		out = append(out, "spec.configSource: the feature is removed")
	}
	if n.Spec.DoNotUseExternalID != "" {
		out = append(out, "spec.externalID: this field is deprecated, and is unused by Kubernetes")
	}
	for i, cidr := range n.Spec.PodCIDRs {
		out = append(out, validation.GetWarningsForCIDR(field.NewPath("spec", "podCIDRs").Index(i), cidr)...)
	}
	return out
}
