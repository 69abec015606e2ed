// Package admissionregistration holds the kinds of
// admissionregistration.k8s.io: the configurations of webhooks, and the
// admission policies written in CEL with their bindings.
//
// Why this shape: one file per kind; what they share (rules, match
// conditions, parameters) is in rules.go and expressions.go.
//
// Hardest part: an object stored under looser rules stays updatable; what is
// excused is computed from the old object.
//
// What can be lost: nothing; everything here is a pure function.
package admissionregistration

import "kuberow/api/kinds"

// Resources lists the resources of the group.
func Resources() []*kinds.Resource {
	return []*kinds.Resource{
		mutatingPolicies(), mutatingPolicyBindings(), mutatingWebhooks(),
		validatingPolicies(), validatingPolicyBindings(), validatingWebhooks(),
	}
}
