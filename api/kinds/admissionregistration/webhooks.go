// The two webhook configurations. They hold lists of webhooks that differ in
// one field, so both are judged through one description of a webhook.
package admissionregistration

import (
	"strings"

	v1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metavalidation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"kuberow/api/kinds/common"
)

const maxTimeoutSeconds = 30

// hook is what the two kinds of webhook have in common; the pointers lead into the object.
type hook struct {
	name           string
	client         *v1.WebhookClientConfig
	rules          []v1.RuleWithOperations
	failure        **v1.FailurePolicyType
	match          **v1.MatchPolicyType
	namespaces     **metav1.LabelSelector
	objects        **metav1.LabelSelector
	sideEffects    *v1.SideEffectClass
	timeout        **int32
	reviewVersions []string
	conditions     []v1.MatchCondition
	reinvocation   **v1.ReinvocationPolicyType // mutating webhooks only
}

func mutatingHooks(c *v1.MutatingWebhookConfiguration) []hook {
	out := make([]hook, len(c.Webhooks))
	for i := range c.Webhooks {
		w := &c.Webhooks[i]
		out[i] = hook{w.Name, &w.ClientConfig, w.Rules, &w.FailurePolicy, &w.MatchPolicy, &w.NamespaceSelector, &w.ObjectSelector,
			w.SideEffects, &w.TimeoutSeconds, w.AdmissionReviewVersions, w.MatchConditions, &w.ReinvocationPolicy}
	}
	return out
}

func validatingHooks(c *v1.ValidatingWebhookConfiguration) []hook {
	out := make([]hook, len(c.Webhooks))
	for i := range c.Webhooks {
		w := &c.Webhooks[i]
		out[i] = hook{w.Name, &w.ClientConfig, w.Rules, &w.FailurePolicy, &w.MatchPolicy, &w.NamespaceSelector, &w.ObjectSelector,
			w.SideEffects, &w.TimeoutSeconds, w.AdmissionReviewVersions, w.MatchConditions, nil}
	}
	return out
}

func defaultHooks(hooks []hook) {
	for _, h := range hooks {
		fill(h.failure, v1.Fail)
		fill(h.match, v1.Equivalent)
		fill(h.namespaces, metav1.LabelSelector{})
		fill(h.objects, metav1.LabelSelector{})
		fill(h.timeout, int32(10))
		if h.reinvocation != nil {
			fill(h.reinvocation, v1.NeverReinvocationPolicy)
		}
		if s := h.client.Service; s != nil {
			fill(&s.Port, int32(443))
		}
		defaultRules(h.rules)
	}
}

// fill sets a field that is not there.
func fill[T any](at **T, value T) {
	if *at == nil {
		*at = &value
	}
}

// hookOptions is what the old object excuses.
type hookOptions struct{ anySideEffects, anyReviewVersion, sameNames, looseSelectors bool }

func hookOptionsFor(old []hook) hookOptions {
	var o hookOptions
	seen := map[string]bool{}
	for _, h := range old {
		if h.sideEffects == nil || (*h.sideEffects != v1.SideEffectClassNone && *h.sideEffects != v1.SideEffectClassNoneOnDryRun) {
			o.anySideEffects = true
		}
		if len(h.reviewVersions) > 0 && !knownReview(h.reviewVersions) {
			o.anyReviewVersion = true
		}
		o.sameNames = o.sameNames || seen[h.name]
		seen[h.name] = true
		if len(common.LabelSelector(*h.namespaces, nil)) > 0 || len(common.LabelSelector(*h.objects, nil)) > 0 {
			o.looseSelectors = true
		}
	}
	return o
}

func knownReview(versions []string) bool {
	for _, v := range versions {
		if v == "v1" || v == "v1beta1" {
			return true
		}
	}
	return false
}

func validateHooks(hooks []hook, o hookOptions) field.ErrorList {
	var all field.ErrorList
	seen := map[string]bool{}
	for i, h := range hooks {
		path := field.NewPath("webhooks").Index(i)
		all = append(all, validateHook(h, o, path)...)
		all = append(all, validateReviewVersions(h.reviewVersions, o, path.Child("admissionReviewVersions"))...)
		if !o.sameNames && h.name != "" {
			if seen[h.name] {
				all = append(all, field.Duplicate(path.Child("name"), h.name))
			}
			seen[h.name] = true
		}
	}
	return all
}

func validateHook(h hook, o hookOptions, path *field.Path) field.ErrorList {
	all := validation.IsFullyQualifiedName(path.Child("name"), h.name)
	for i := range h.rules {
		all = append(all, validateRule(&h.rules[i], path.Child("rules").Index(i))...)
	}
	all = append(all, common.Among(**h.failure, path.Child("failurePolicy"), v1.Fail, v1.Ignore)...)
	all = append(all, common.Among(**h.match, path.Child("matchPolicy"), v1.Equivalent, v1.Exact)...)
	all = append(all, validateSideEffects(h.sideEffects, o, path.Child("sideEffects"))...)
	if t := **h.timeout; t < 1 || t > maxTimeoutSeconds {
		all = append(all, field.Invalid(path.Child("timeoutSeconds"), t, "the timeout value must be between 1 and 30 seconds"))
	}
	loose := metavalidation.LabelSelectorValidationOptions{AllowInvalidLabelValueInSelector: o.looseSelectors}
	all = append(all, metavalidation.ValidateLabelSelector(*h.namespaces, loose, path.Child("namespaceSelector"))...)
	all = append(all, metavalidation.ValidateLabelSelector(*h.objects, loose, path.Child("objectSelector"))...)
	if h.reinvocation != nil {
		all = append(all, common.Among(**h.reinvocation, path.Child("reinvocationPolicy"), v1.IfNeededReinvocationPolicy, v1.NeverReinvocationPolicy)...)
	}
	all = append(all, validateClient(h.client, path.Child("clientConfig"))...)
	return append(all, validateMatchConditions(h.conditions, false, path.Child("matchConditions"))...)
}

func validateSideEffects(s *v1.SideEffectClass, o hookOptions, path *field.Path) field.ErrorList {
	allowed := []v1.SideEffectClass{v1.SideEffectClassNone, v1.SideEffectClassNoneOnDryRun}
	text := "None, NoneOnDryRun"
	if o.anySideEffects {
		allowed = append(allowed, v1.SideEffectClassSome, v1.SideEffectClassUnknown)
		text += ", Some, Unknown"
	}
	if s == nil {
		return field.ErrorList{field.Required(path, "must specify one of "+text)}
	}
	for _, a := range allowed {
		if *s == a {
			return nil
		}
	}
	return field.ErrorList{field.NotSupported(path, *s, allowed)}
}

func validateReviewVersions(versions []string, o hookOptions, path *field.Path) field.ErrorList {
	known := []string{"v1", "v1beta1"}
	if len(versions) == 0 {
		return field.ErrorList{field.Required(path, "must specify one of "+strings.Join(known, ", "))}
	}
	var all field.ErrorList
	seen := map[string]bool{}
	for i, v := range versions {
		if seen[v] {
			all = append(all, field.Invalid(path.Index(i), v, "duplicate version"))
			continue
		}
		seen[v] = true
		all = append(all, common.Invalid(validation.IsDNS1035Label(v), v, path.Index(i))...)
	}
	if !o.anyReviewVersion && !knownReview(versions) {
		all = append(all, field.Invalid(path, versions, "must include at least one of "+strings.Join(known, ", ")))
	}
	return all
}
