// StorageVersionMigration: the spec is fixed, a controller reports in the
// status, and what succeeded or failed stays so.
package storagemigration

import (
	"strings"

	migrationv1 "k8s.io/api/storagemigration/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metavalidation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"kuberow/api/kinds"
	"kuberow/api/kinds/common"
)

type object = migrationv1.StorageVersionMigration

func migrations() *kinds.Resource {
	gvk := migrationv1.SchemeGroupVersion.WithKind("StorageVersionMigration")
	v1 := common.Version[object, migrationv1.StorageVersionMigrationList](gvk)
	main := common.Typed[object, *object]{
		ResetFields: []string{"status"},
		PrepareForCreate: func(_ *kinds.Context, obj *object) {
			obj.Status = migrationv1.StorageVersionMigrationStatus{}
		},
		PrepareForUpdate: func(_ *kinds.Context, obj, old *object) { obj.Status = old.Status },
		Validate:         func(_ *kinds.Context, obj *object) field.ErrorList { return validateSpec(&obj.Spec) },
		ValidateUpdate: func(_ *kinds.Context, obj, old *object) field.ErrorList {
			return append(validateSpec(&obj.Spec), common.Immutable(obj.Spec, old.Spec, field.NewPath("spec"))...)
		},
		ForbidUnconditionalUpdate: true,
	}
	status := common.Typed[object, *object]{
		ResetFields: []string{"metadata", "spec"},
		PrepareForUpdate: func(_ *kinds.Context, obj, old *object) {
			obj.Spec = old.Spec
			metav1.ResetObjectMetaForStatus(obj, old)
		},
		ValidateUpdate:            validateStatus,
		ForbidUnconditionalUpdate: true,
	}
	return &kinds.Resource{
		Group: gvk.Group, Name: "storageversionmigrations", Singular: "storageversionmigration", Kind: gvk.Kind,
		Verbs: common.Verbs(), Versions: []*kinds.Version{v1}, Hub: v1, Prefix: "/registry/storageversionmigrations",
		StorageVersionHash: "pCjmmKOkLy4=", // of v1beta1, in which upstream stores it
		Strategy:           main.Strategy(),
		Subresources:       []*kinds.Subresource{common.Status(gvk, status.Strategy())},
	}
}

func validateSpec(spec *migrationv1.StorageVersionMigrationSpec) field.ErrorList {
	path := field.NewPath("spec", "resource")
	var all field.ErrorList
	if spec.Resource.Resource == "" {
		all = append(all, field.Required(path.Child("resource"), "resource is required to be set"))
	} else if m := validation.IsDNS1035Label(spec.Resource.Resource); len(m) > 0 {
		all = append(all, field.Invalid(path.Child("resource"), spec.Resource.Resource, strings.Join(m, ",")))
	}
	if spec.Resource.Group != "" {
		if m := validation.IsDNS1123Subdomain(spec.Resource.Group); len(m) > 0 {
			all = append(all, field.Invalid(path.Child("group"), spec.Resource.Group, strings.Join(m, ",")))
		}
	}
	return all
}

func validateStatus(_ *kinds.Context, obj, old *object) field.ErrorList {
	path := field.NewPath("status")
	version, conditions := path.Child("resourceVersion"), path.Child("conditions")
	var all field.ErrorList
	if v := obj.Status.ResourceVersion; v != "" {
		if _, err := resourceversion.CompareResourceVersion(v, v); err != nil {
			all = append(all, field.Invalid(version, v, err.Error()))
		}
	}
	all = append(all, metavalidation.ValidateConditions(obj.Status.Conditions, conditions)...)
	if old.Status.ResourceVersion != "" && old.Status.ResourceVersion != obj.Status.ResourceVersion {
		all = append(all, field.Invalid(version, obj.Status.ResourceVersion, "field is immutable"))
	}
	refuse := func(wrong bool, message string) {
		if wrong {
			all = append(all, field.Invalid(conditions, obj.Status.Conditions, message))
		}
	}
	succeeded, failed := is(obj, migrationv1.MigrationSucceeded), is(obj, migrationv1.MigrationFailed)
	refuse(succeeded && failed, "Both success and failed conditions cannot be true at the same time")
	refuse(is(old, migrationv1.MigrationSucceeded) && !succeeded, "Success condition cannot be set to false once it is true")
	refuse(is(old, migrationv1.MigrationFailed) && !failed, "Failed condition cannot be set to false once it is true")
	return all
}

func is(obj *object, t migrationv1.MigrationConditionType) bool {
	return meta.IsStatusConditionTrue(obj.Status.Conditions, string(t))
}
