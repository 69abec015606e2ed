package rbac

import (
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"kuberow/api/kinds"
	"kuberow/api/kinds/common"
)

// A ClusterRole with an aggregation rule is the sum of others: a controller
// writes its rules. Who makes one can thereby come to hold any rule, so he
// must hold all of them.
func clusterRoles() *kinds.Resource {
	return resource(kinds.Resource{
		Name: "clusterroles", Singular: "clusterrole", StorageVersionHash: "bYE5ZWDrJ44=",
		Strategy: common.Typed[rbacv1.ClusterRole, *rbacv1.ClusterRole]{
			AllowCreateOnUpdate: true,
			BeginCreate: func(r *kinds.Context, o *rbacv1.ClusterRole) error {
				return mayWriteClusterRole(r, o, aggregates(o))
			},
			BeginUpdate: func(r *kinds.Context, o, old *rbacv1.ClusterRole) error {
				if onlyForGC(o, old) {
					return nil
				}
				return mayWriteClusterRole(r, o, aggregates(o) || aggregates(old))
			},
			Validate: func(_ *kinds.Context, o *rbacv1.ClusterRole) field.ErrorList {
				return validateClusterRole(o, metav1validation.LabelSelectorValidationOptions{})
			},
			ValidateUpdate: func(_ *kinds.Context, o, old *rbacv1.ClusterRole) field.ErrorList {
				tolerate := old.AggregationRule != nil && len(validateAggregation(old.AggregationRule, metav1validation.LabelSelectorValidationOptions{})) > 0
				return validateClusterRole(o, metav1validation.LabelSelectorValidationOptions{AllowInvalidLabelValueInSelector: tolerate})
			},
			ValidateName: common.NamePath,
		}.Strategy(),
	}, common.Version[rbacv1.ClusterRole, rbacv1.ClusterRoleList](gvk("ClusterRole")))
}

func aggregates(o *rbacv1.ClusterRole) bool {
	return o.AggregationRule != nil && len(o.AggregationRule.ClusterRoleSelectors) > 0
}

func validateClusterRole(o *rbacv1.ClusterRole, opts metav1validation.LabelSelectorValidationOptions) field.ErrorList {
	errs := validateRules(o.Rules, false)
	if o.AggregationRule != nil {
		errs = append(errs, validateAggregation(o.AggregationRule, opts)...)
	}
	return append(errs, declaredRules(o.Rules)...)
}

func validateAggregation(a *rbacv1.AggregationRule, opts metav1validation.LabelSelectorValidationOptions) field.ErrorList {
	path := field.NewPath("aggregationRule", "clusterRoleSelectors")
	var errs field.ErrorList
	if len(a.ClusterRoleSelectors) == 0 {
		errs = append(errs, field.Required(path, "at least one clusterRoleSelector required if aggregationRule is non-nil"))
	}
	for i := range a.ClusterRoleSelectors {
		s := &a.ClusterRoleSelectors[i]
		errs = append(errs, metav1validation.ValidateLabelSelector(s, opts, path.Index(i))...)
		if selector, err := metav1.LabelSelectorAsSelector(s); err != nil {
			errs = append(errs, field.Invalid(path.Index(i), selector, "invalid label selector."))
		}
	}
	return errs
}
