package controllers

import (
	"net/netip"
	"slices"
	"time"

	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"kuberow/api/kinds"
)

// A ServiceCIDR is ready as soon as it is there, and stays while Services have
// addresses that no other range holds. Key: a ServiceCIDR. Woken by it, and one
// that is being deleted by all ranges and addresses.

const (
	cidrManager   = "service-cidr-controller"
	cidrFinalizer = "networking.k8s.io/service-cidr-finalizer"
	// cidrGrace passes between a deletion and its end: an address may just be being given.
	cidrGrace = 10 * time.Second
)

// ServiceCIDR is service-cidr-controller.
func ServiceCIDR() Controller {
	return Controller{
		Name: cidrManager, Account: "service-cidrs-controller",
		Keys: keyMap{
			ServiceCIDRs: func(v View, c Object) []Key { return append(goingCIDRs(v, c), NameKey(c.Current())) },
			IPAddresses:  goingCIDRs,
		},
		Step: func(v View, keys []Key) Outcome {
			var out Outcome
			for _, k := range keys {
				if c := get[*networkingv1.ServiceCIDR](v, ServiceCIDRs, "", k.Name); c != nil {
					stepCIDR(v, k, c, &out)
				}
			}
			return out
		},
	}
}

func goingCIDRs(v View, _ Object) []Key {
	var keys []Key
	for _, c := range typed[*networkingv1.ServiceCIDR](v.List(ServiceCIDRs, "", nil)) {
		if c.DeletionTimestamp != nil {
			keys = append(keys, NameKey(c))
		}
	}
	return keys
}

// stepCIDR does the next thing for a range: the finalizer, the condition, the end.
func stepCIDR(v View, k Key, c *networkingv1.ServiceCIDR, out *Outcome) {
	if c.DeletionTimestamp == nil {
		if !slices.Contains(c.Finalizers, cidrFinalizer) {
			out.Writes = append(out.Writes, finalizerOfCIDR(k, c))
		}
		judgeCIDR(v, k, c, metav1.Condition{Status: metav1.ConditionTrue, Message: "Kubernetes Service CIDR is ready"}, out)
		return
	}
	if holdsAlone(v, c) {
		judgeCIDR(v, k, c, metav1.Condition{Status: metav1.ConditionFalse, Reason: networkingv1.ServiceCIDRReasonTerminating,
			Message: "There are still IPAddresses referencing the ServiceCIDR, please remove them or create a new ServiceCIDR"}, out)
		return
	}
	if due := c.DeletionTimestamp.Add(cidrGrace); due.After(v.Now()) {
		out.again(k, due)
		return
	}
	if slices.Contains(c.Finalizers, cidrFinalizer) {
		out.Writes = append(out.Writes, finalizerOfCIDR(k, c))
	}
}

// finalizerOfCIDR puts the finalizer on, or takes it off what is being deleted.
func finalizerOfCIDR(k Key, c *networkingv1.ServiceCIDR) Write {
	w := mutation(k, ServiceCIDRs, "", c, func(now *networkingv1.ServiceCIDR) error {
		now.Finalizers = slices.DeleteFunc(slices.Clone(now.Finalizers), func(f string) bool { return f == cidrFinalizer })
		if now.DeletionTimestamp == nil {
			now.Finalizers = append(now.Finalizers, cidrFinalizer)
		}
		return nil
	})
	w.Ignore, w.Patch = Gone, true
	return w
}

// judgeCIDR applies the condition Ready when it is not what it should be.
func judgeCIDR(v View, k Key, c *networkingv1.ServiceCIDR, want metav1.Condition, out *Outcome) {
	have := meta.FindStatusCondition(c.Status.Conditions, networkingv1.ServiceCIDRConditionReady)
	if have != nil && have.Status == want.Status && have.Reason == want.Reason && have.Message == want.Message {
		return
	}
	out.Writes = append(out.Writes, Write{Verb: Update, Key: k, Ignore: Gone, Write: kinds.Write{
		Agent: cidrManager, Resource: ServiceCIDRs, Subresource: "status", Name: c.Name, Apply: true,
		Object: &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": networkingv1.SchemeGroupVersion.String(), "kind": "ServiceCIDR",
			"metadata": map[string]any{"name": c.Name, "uid": string(c.UID)},
			"status": map[string]any{"conditions": []any{map[string]any{
				"type": networkingv1.ServiceCIDRConditionReady, "status": string(want.Status), "reason": want.Reason,
				"message": want.Message, "lastTransitionTime": v.Now().UTC().Format(time.RFC3339),
			}}},
		}},
	}})
}

// holdsAlone says whether an address that a Service has lies in this range and in no other.
func holdsAlone(v View, c *networkingv1.ServiceCIDR) bool {
	others := []netip.Prefix{}
	for _, o := range typed[*networkingv1.ServiceCIDR](v.List(ServiceCIDRs, "", nil)) {
		if o.Name != c.Name {
			others = append(others, prefixesOf(o)...)
		}
	}
	for _, a := range typed[*networkingv1.IPAddress](v.List(IPAddresses, "", nil)) {
		ip, err := netip.ParseAddr(a.Name)
		holds := func(p netip.Prefix) bool { return p.Contains(ip) }
		if err == nil && slices.ContainsFunc(prefixesOf(c), holds) && !slices.ContainsFunc(others, holds) {
			return true
		}
	}
	return false
}

func prefixesOf(c *networkingv1.ServiceCIDR) []netip.Prefix {
	var all []netip.Prefix
	for _, text := range c.Spec.CIDRs {
		if p, err := netip.ParsePrefix(text); err == nil {
			all = append(all, p)
		}
	}
	return all
}
