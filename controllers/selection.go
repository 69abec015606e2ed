package controllers

import (
	"fmt"
	"slices"
	"strings"
)

// The flag --controllers, as kube-controller-manager reads it: a list of
// names; * means all that are on by default, NAME turns one on, -NAME off. The first
// item that fits decides. Both the long names (deployment-controller) and
// the old short ones (deployment) are understood.

// shortNames are the names of before Kubernetes 1.29 that are not just the long one without "-controller".
var shortNames = map[string]string{
	"serviceaccount":           "serviceaccount-controller",
	"garbagecollector":         "garbage-collector-controller",
	"podgc":                    "pod-garbage-collector-controller",
	"nodelifecycle":            "node-lifecycle-controller",
	"endpoint":                 "endpoints-controller",
	"root-ca-cert-publisher":   "root-ca-certificate-publisher-controller",
	"horizontalpodautoscaling": "horizontal-pod-autoscaler-controller",
	"ttl-after-finished":       "ttl-after-finished-controller",
	"clusterrole-aggregation":  "clusterrole-aggregation-controller",
	"persistentvolume-binder":  "persistentvolume-binder-controller",
	"pvc-protection":           "persistentvolumeclaim-protection-controller",
	"pv-protection":            "persistentvolume-protection-controller",
	"ephemeral-volume":         "ephemeral-volume-controller",
	"csrsigning":               "certificatesigningrequest-signing-controller",
	"csrapproving":             "certificatesigningrequest-approving-controller",
	"csrcleaner":               "certificatesigningrequest-cleaner-controller",
	"scheduler":                "default-scheduler",

	"legacy-service-account-token-cleaner": "legacy-serviceaccount-token-cleaner-controller",
}

// longName gives the name that a Controller has.
func longName(name string) string {
	if long, ok := shortNames[name]; ok {
		return long
	}
	return name
}

// Select keeps the controllers that the items of --controllers turn on. An
// item that names none of them is an error.
func Select(all []Controller, items []string) ([]Controller, error) {
	known := map[string]bool{}
	for _, c := range all {
		known[c.Name] = true
		known[strings.TrimSuffix(c.Name, "-controller")] = true
	}
	for _, item := range items {
		name := strings.TrimPrefix(item, "-")
		if name != "*" && !known[name] && !known[longName(name)] {
			return nil, fmt.Errorf("--controllers=%s: there is no controller %q; there are %s", strings.Join(items, ","), name, allNames(all))
		}
	}
	var on []Controller
	for _, c := range all {
		if selected(c.Name, items) {
			on = append(on, c)
		}
	}
	return on, nil
}

// allNames lists the controllers, for who misspelt one.
func allNames(all []Controller) string {
	var names []string
	for _, c := range all {
		names = append(names, c.Name)
	}
	slices.Sort(names)
	return strings.Join(names, ", ")
}

// selected says whether the items turn a controller on.
func selected(name string, items []string) bool {
	star := false
	for _, item := range items {
		if off, ok := strings.CutPrefix(item, "-"); ok && (off == "*" || names(off, name)) {
			if off == "*" {
				continue // -* is what an absent * means
			}
			return false
		}
		if item == "*" {
			star = true
		} else if names(item, name) {
			return true
		}
	}
	return star
}

// names says whether an item of the flag means this controller.
func names(item, controller string) bool {
	return item == controller || longName(item) == controller || item+"-controller" == controller
}
