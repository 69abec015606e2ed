// MutatingWebhookConfiguration: webhooks that may change objects in admission.
package admissionregistration

import (
	"reflect"

	v1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"kuberow/api/kinds"
	"kuberow/api/kinds/common"
)

func mutatingWebhooks() *kinds.Resource {
	gvk := v1.SchemeGroupVersion.WithKind("MutatingWebhookConfiguration")
	version := common.Version[v1.MutatingWebhookConfiguration, v1.MutatingWebhookConfigurationList](gvk)
	return &kinds.Resource{
		Group: gvk.Group, Name: "mutatingwebhookconfigurations", Singular: "mutatingwebhookconfiguration", Kind: gvk.Kind,
		Categories: categories(),
		Verbs:      common.Verbs(), Versions: []*kinds.Version{version}, Hub: version, Prefix: "/registry/mutatingwebhookconfigurations",
		Strategy: common.Typed[v1.MutatingWebhookConfiguration, *v1.MutatingWebhookConfiguration]{
			Default:          func(obj *v1.MutatingWebhookConfiguration) { defaultHooks(mutatingHooks(obj)) },
			PrepareForCreate: func(_ *kinds.Context, obj *v1.MutatingWebhookConfiguration) { obj.Generation = 1 },
			PrepareForUpdate: func(_ *kinds.Context, obj, old *v1.MutatingWebhookConfiguration) {
				common.BumpGeneration(obj, old, !reflect.DeepEqual(obj.Webhooks, old.Webhooks)) // an empty caBundle is not the same as none
			},
			Validate: func(_ *kinds.Context, obj *v1.MutatingWebhookConfiguration) field.ErrorList {
				return append(validateHooks(mutatingHooks(obj), hookOptions{}), validateNotStatic(obj.Name)...)
			},
			ValidateUpdate: func(_ *kinds.Context, obj, old *v1.MutatingWebhookConfiguration) field.ErrorList {
				return validateHooks(mutatingHooks(obj), hookOptionsFor(mutatingHooks(old)))
			},
			Warnings: func(_ *kinds.Context, obj, old *v1.MutatingWebhookConfiguration) []string {
				if old == nil {
					return nil
				}
				return warnStatic(obj.Name)
			},
			ForbidUnconditionalUpdate: true,
			FreeFinalizers:            true,
		}.Strategy(),
	}
}
