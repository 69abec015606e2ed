// CustomResourceDefinition: names, versions and schemas of a kind that users
// add. status.storedVersions remembers every version that was ever stored.
package apiextensions

import (
	"slices"

	"k8s.io/apiextensions-apiserver/pkg/apihelpers"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	v1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"kuberow/api/kinds"
	"kuberow/api/kinds/common"
)

type definition = v1.CustomResourceDefinition

func definitions() *kinds.Resource {
	gvk := v1.SchemeGroupVersion.WithKind("CustomResourceDefinition")
	version := common.Version[definition, v1.CustomResourceDefinitionList](gvk)
	main := common.Typed[definition, *definition]{
		Default:     v1.SetObjectDefaults_CustomResourceDefinition,
		ResetFields: []string{"status"},
		PrepareForCreate: func(_ *kinds.Context, obj *definition) {
			obj.Status = v1.CustomResourceDefinitionStatus{}
			obj.Generation = 1
			rememberStored(obj)
		},
		PrepareForUpdate: func(_ *kinds.Context, obj, old *definition) {
			old.Status.DeepCopyInto(&obj.Status)
			common.BumpGeneration(obj, old, !common.Equal(obj.Spec, old.Spec))
			rememberStored(obj)
		},
		Validate: func(r *kinds.Context, obj *definition) field.ErrorList {
			return judge([]*definition{obj}, func(in []*apiextensions.CustomResourceDefinition) field.ErrorList {
				return validation.ValidateCustomResourceDefinition(r.Ctx, in[0])
			})
		},
		ValidateUpdate: func(r *kinds.Context, obj, old *definition) field.ErrorList {
			return judge([]*definition{obj, old}, func(in []*apiextensions.CustomResourceDefinition) field.ErrorList {
				return validation.ValidateCustomResourceDefinitionUpdate(r.Ctx, in[0], in[1])
			})
		},
		Warnings:                  warnings,
		CheckDelete:               terminate,
		ForbidUnconditionalUpdate: true,
	}
	status := common.Typed[definition, *definition]{
		ResetFields:      []string{"spec"},
		PrepareForUpdate: func(_ *kinds.Context, obj, old *definition) { obj.Spec = old.Spec },
		ValidateUpdate: func(r *kinds.Context, obj, old *definition) field.ErrorList {
			return judge([]*definition{obj, old}, func(in []*apiextensions.CustomResourceDefinition) field.ErrorList {
				return validation.ValidateUpdateCustomResourceDefinitionStatus(r.Ctx, in[0], in[1])
			})
		},
		ForbidUnconditionalUpdate: true,
	}
	return &kinds.Resource{
		Group: gvk.Group, Name: "customresourcedefinitions", Singular: "customresourcedefinition", Kind: gvk.Kind,
		ShortNames: []string{"crd", "crds"}, Categories: []string{"api-extensions"},
		Verbs: common.Verbs(), Versions: []*kinds.Version{version}, Hub: version,
		Holds:              holds,
		KeepsEmpties:       true,
		Prefix:             "/registry/apiextensions.k8s.io/customresourcedefinitions",
		StorageVersionHash: "jfWCUB31mvA=", // of v1beta1, in which upstream stores it
		Strategy:           main.Strategy(),
		Subresources:       []*kinds.Subresource{common.UnprintedStatus(gvk, status.Strategy())},
	}
}

// terminate adds to a definition that is deleted what holds it until its objects are gone.
func terminate(_ *kinds.Context, d *definition) error {
	if d.DeletionTimestamp != nil {
		return nil
	}
	if !apihelpers.CRDHasFinalizer(d, v1.CustomResourceCleanupFinalizer) {
		d.Finalizers = append(d.Finalizers, v1.CustomResourceCleanupFinalizer)
	}
	apihelpers.SetCRDCondition(d, v1.CustomResourceDefinitionCondition{
		Type: v1.Terminating, Status: v1.ConditionTrue, Reason: "InstanceDeletionPending",
		Message: "CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon",
	})
	return nil
}

// holds tells whether a deletion only marks the definition: the first one does.
func holds(obj runtime.Object) bool {
	d := obj.(*definition)
	return d.DeletionTimestamp == nil && apihelpers.CRDHasFinalizer(d, v1.CustomResourceCleanupFinalizer)
}

// rememberStored: objects of every version that was a storage version may be in the store. Of several the first counts,
// so that validation finds the others unremembered.
func rememberStored(obj *definition) {
	stored := slices.IndexFunc(obj.Spec.Versions, func(v v1.CustomResourceDefinitionVersion) bool { return v.Storage })
	if stored < 0 {
		return
	}
	if name := obj.Spec.Versions[stored].Name; !slices.Contains(obj.Status.StoredVersions, name) {
		obj.Status.StoredVersions = append(obj.Status.StoredVersions, name)
	}
}

// judge converts the definitions to the type that the rules are written over.
func judge(defs []*definition, rules func([]*apiextensions.CustomResourceDefinition) field.ErrorList) field.ErrorList {
	in := make([]*apiextensions.CustomResourceDefinition, len(defs))
	for i, d := range defs {
		var err error
		if in[i], err = internal(d); err != nil {
			return field.ErrorList{field.InternalError(nil, err)}
		}
	}
	return rules(in)
}

func internal(d *definition) (*apiextensions.CustomResourceDefinition, error) {
	out := &apiextensions.CustomResourceDefinition{}
	// The conversion shares memory with its input, and rewrites parts of it.
	err := v1.Convert_v1_CustomResourceDefinition_To_apiextensions_CustomResourceDefinition(d.DeepCopy(), out, nil)
	return out, err
}
