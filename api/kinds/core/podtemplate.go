package core

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"kuberow/api/kinds"
	"kuberow/api/kinds/common"
)

// A PodTemplate is a template on its own; nothing in Kubernetes itself uses it.

func podTemplates() *kinds.Resource {
	return single(kinds.Resource{
		Name: "podtemplates", Singular: "podtemplate", ReturnsDeleted: true, Namespaced: true,
		Verbs: common.Verbs(), Prefix: "/registry/podtemplates", StorageVersionHash: "LIXB2x4IFpk=",
		Strategy: common.Typed[corev1.PodTemplate, *corev1.PodTemplate]{
			Default:          func(t *corev1.PodTemplate) { DefaultPodTemplate(&t.Template) },
			Drop:             func(t *corev1.PodTemplate) { DropTemplateFields(&t.Template) },
			PrepareForCreate: func(_ *kinds.Context, t *corev1.PodTemplate) { t.Generation = 1 },
			PrepareForUpdate: func(_ *kinds.Context, t, old *corev1.PodTemplate) {
				common.BumpGeneration(t, old, !common.Equal(t.Template, old.Template))
			},
			Validate: func(_ *kinds.Context, t *corev1.PodTemplate) field.ErrorList {
				return ValidatePodTemplateSpec(&t.Template, field.NewPath("template"))
			},
			FreeUpdate: true,
			ValidateUpdate: func(_ *kinds.Context, t, _ *corev1.PodTemplate) field.ErrorList {
				return ValidatePodTemplateSpec(&t.Template, field.NewPath("template"))
			},
			Warnings: func(_ *kinds.Context, t, old *corev1.PodTemplate) []string {
				if old == nil {
					return PodTemplateWarnings(&t.Template, field.NewPath("template"))
				}
				if t.Generation == old.Generation {
					return nil
				}
				return PodTemplateWarnings(&t.Template, field.NewPath("template"))
			},
		}.Strategy(),
	}, common.Version[corev1.PodTemplate, corev1.PodTemplateList](gvk("PodTemplate")))
}
