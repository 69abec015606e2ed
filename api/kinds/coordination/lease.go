// Lease is held by whoever last wrote its holderIdentity and renewTime. The
// API server judges only the numbers; the clients keep the protocol.
package coordination

import (
	"strings"

	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"kuberow/api/kinds"
	"kuberow/api/kinds/common"
)

func leases() *kinds.Resource {
	gvk := coordinationv1.SchemeGroupVersion.WithKind("Lease")
	v1 := common.Version[coordinationv1.Lease, coordinationv1.LeaseList](gvk)
	return &kinds.Resource{
		Group: gvk.Group, Name: "leases", Singular: "lease", Kind: gvk.Kind, Namespaced: true,
		Verbs: common.Verbs(), Versions: []*kinds.Version{v1}, Hub: v1, Prefix: "/registry/leases",
		Strategy: common.Typed[coordinationv1.Lease, *coordinationv1.Lease]{
			PrepareForCreate: func(_ *kinds.Context, obj *coordinationv1.Lease) { dropCoordinated(obj, nil) },
			PrepareForUpdate: func(_ *kinds.Context, obj, old *coordinationv1.Lease) { dropCoordinated(obj, old) },
			Validate: func(_ *kinds.Context, obj *coordinationv1.Lease) field.ErrorList {
				return validateLease(&obj.Spec)
			},
			ValidateUpdate: func(_ *kinds.Context, obj, _ *coordinationv1.Lease) field.ErrorList {
				return validateLease(&obj.Spec)
			},
			AllowCreateOnUpdate:       true,
			ForbidUnconditionalUpdate: true,
			FreeFinalizers:            true,
			FreeUpdate:                true,
		}.Strategy(),
	}
}

// dropCoordinated removes the fields of a feature that is off, unless the old object had them.
func dropCoordinated(obj, old *coordinationv1.Lease) {
	if old == nil || old.Spec.Strategy == nil {
		obj.Spec.Strategy = nil
	}
	if old == nil || old.Spec.PreferredHolder == nil {
		obj.Spec.PreferredHolder = nil
	}
}

func validateLease(spec *coordinationv1.LeaseSpec) field.ErrorList {
	path := field.NewPath("spec")
	var all field.ErrorList
	if n := spec.LeaseDurationSeconds; n != nil && *n <= 0 {
		all = append(all, field.Invalid(path.Child("leaseDurationSeconds"), n, "must be greater than 0"))
	}
	if n := spec.LeaseTransitions; n != nil && *n < 0 {
		all = append(all, field.Invalid(path.Child("leaseTransitions"), n, "must be greater than or equal to 0"))
	}
	if spec.Strategy != nil {
		// The field's name stands twice in the path, in upstream's answers too.
		all = append(all, validateStrategy(*spec.Strategy, path.Child("strategy", "strategy"))...)
	}
	if h := spec.PreferredHolder; h != nil && *h != "" && (spec.Strategy == nil || *spec.Strategy == "") {
		all = append(all, field.Forbidden(path.Child("preferredHolder"), "may only be specified if `strategy` is defined"))
	}
	return all
}

func validateStrategy(s coordinationv1.CoordinatedLeaseStrategy, path *field.Path) field.ErrorList {
	if !strings.Contains(string(s), "/") {
		return knownStrategy(s, path)
	}
	return common.Invalid(validation.IsQualifiedName(string(s)), s, path)
}

func knownStrategy(s coordinationv1.CoordinatedLeaseStrategy, path *field.Path) field.ErrorList {
	if s == coordinationv1.OldestEmulationVersion {
		return nil
	}
	return field.ErrorList{field.NotSupported(path, s, []coordinationv1.CoordinatedLeaseStrategy{coordinationv1.OldestEmulationVersion})}
}
