// StorageClass says which provisioner makes the volumes of a class, and how.
package storage

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"kuberow/api/kinds"
	"kuberow/api/kinds/common"
)

const (
	maxParameters     = 512
	maxParametersSize = 256 << 10
)

func storageClasses() *kinds.Resource {
	gvk := storagev1.SchemeGroupVersion.WithKind("StorageClass")
	v1 := common.Version[storagev1.StorageClass, storagev1.StorageClassList](gvk)
	return &kinds.Resource{
		Group: gvk.Group, Name: "storageclasses", Singular: "storageclass", Kind: gvk.Kind, ReturnsDeleted: true, ShortNames: []string{"sc"},
		Verbs: common.Verbs(), Versions: []*kinds.Version{v1}, Hub: v1, Prefix: "/registry/storageclasses",
		Strategy: common.Typed[storagev1.StorageClass, *storagev1.StorageClass]{
			Default:  defaultStorageClass,
			Validate: func(_ *kinds.Context, obj *storagev1.StorageClass) field.ErrorList { return validateStorageClass(obj) },
			ValidateUpdate: func(_ *kinds.Context, obj, old *storagev1.StorageClass) field.ErrorList {
				return common.Declared(validateStorageClass(obj), storageClassFixed(obj, old))
			},
		}.Strategy(),
	}
}

func defaultStorageClass(obj *storagev1.StorageClass) {
	if obj.ReclaimPolicy == nil {
		p := corev1.PersistentVolumeReclaimDelete
		obj.ReclaimPolicy = &p
	}
	if obj.VolumeBindingMode == nil {
		m := storagev1.VolumeBindingImmediate
		obj.VolumeBindingMode = &m
	}
}

func validateStorageClass(obj *storagev1.StorageClass) field.ErrorList {
	all, missing := provisioner(obj.Provisioner, field.NewPath("provisioner"))
	all = append(all, parameters(obj.Parameters, field.NewPath("parameters"))...)
	if p := obj.ReclaimPolicy; p != nil && *p != "" {
		all = append(all, common.OneOf(*p, field.NewPath("reclaimPolicy"), corev1.PersistentVolumeReclaimDelete, corev1.PersistentVolumeReclaimRetain)...)
	}
	if m := obj.VolumeBindingMode; m == nil {
		all = append(all, field.Required(field.NewPath("volumeBindingMode"), ""))
	} else if *m != storagev1.VolumeBindingImmediate && *m != storagev1.VolumeBindingWaitForFirstConsumer {
		all = append(all, field.NotSupported(field.NewPath("volumeBindingMode"), *m,
			[]storagev1.VolumeBindingMode{storagev1.VolumeBindingImmediate, storagev1.VolumeBindingWaitForFirstConsumer}))
	}
	all = append(all, topologies(obj.AllowedTopologies, field.NewPath("allowedTopologies"))...)
	return append(all, missing...)
}

func storageClassFixed(obj, old *storagev1.StorageClass) field.ErrorList {
	all := common.Frozen(obj.Provisioner, old.Provisioner, field.NewPath("provisioner"))
	all = append(all, common.Frozen(obj.Parameters, old.Parameters, field.NewPath("parameters"))...)
	all = append(all, common.Frozen(obj.ReclaimPolicy, old.ReclaimPolicy, field.NewPath("reclaimPolicy"))...)
	return append(all, common.Frozen(obj.VolumeBindingMode, old.VolumeBindingMode, field.NewPath("volumeBindingMode"))...)
}

// provisioner checks a driver's name; upstream reports a missing one last.
func provisioner(name string, path *field.Path) (all, missing field.ErrorList) {
	if name == "" {
		return nil, field.ErrorList{field.Required(path, "")}
	}
	return common.QualifiedName(strings.ToLower(name), path), nil
}

func parameters(p map[string]string, path *field.Path) field.ErrorList {
	if len(p) > maxParameters {
		return field.ErrorList{field.TooLong(path, "", maxParameters)}
	}
	var all field.ErrorList
	size := 0
	for k, v := range p {
		if k == "" {
			all = append(all, field.Invalid(path, k, "field can not be empty."))
		}
		size += len(k) + len(v)
	}
	if size > maxParametersSize {
		all = append(all, field.TooLong(path, "", maxParametersSize))
	}
	return all
}

// topologies: keys are unique in a term, values in a key, and terms in the class. An empty term is called a duplicate too.
func topologies(terms []corev1.TopologySelectorTerm, path *field.Path) field.ErrorList {
	var all field.ErrorList
	var seen []map[string]sets.Set[string]
	for i, term := range terms {
		at := path.Index(i).Child("matchLabelExpressions")
		keys := map[string]sets.Set[string]{}
		for j, e := range term.MatchLabelExpressions {
			all = append(all, topology(&e, at.Index(j))...)
			if keys[e.Key] != nil {
				all = append(all, field.Duplicate(at.Index(j).Child("key"), e.Key))
			}
			keys[e.Key] = sets.New(e.Values...)
		}
		same := func(other map[string]sets.Set[string]) bool { return common.Equal(keys, other) }
		if len(keys) == 0 || slices.ContainsFunc(seen, same) {
			all = append(all, field.Duplicate(at, ""))
		}
		seen = append(seen, keys)
	}
	return all
}

func topology(e *corev1.TopologySelectorLabelRequirement, path *field.Path) field.ErrorList {
	var all field.ErrorList
	if len(e.Values) == 0 {
		all = append(all, field.Required(path.Child("values"), ""))
	}
	seen := map[string]bool{}
	for i, v := range e.Values {
		if seen[v] {
			all = append(all, field.Duplicate(path.Child("values").Index(i), v))
		}
		seen[v] = true
	}
	return append(all, common.QualifiedName(e.Key, path.Child("key"))...)
}
