// ValidatingWebhookConfiguration: webhooks that may refuse objects in admission.
package admissionregistration

import (
	"reflect"

	v1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"kuberow/api/kinds"
	"kuberow/api/kinds/common"
)

func validatingWebhooks() *kinds.Resource {
	gvk := v1.SchemeGroupVersion.WithKind("ValidatingWebhookConfiguration")
	version := common.Version[v1.ValidatingWebhookConfiguration, v1.ValidatingWebhookConfigurationList](gvk)
	return &kinds.Resource{
		Group: gvk.Group, Name: "validatingwebhookconfigurations", Singular: "validatingwebhookconfiguration", Kind: gvk.Kind,
		Categories: categories(),
		Verbs:      common.Verbs(), Versions: []*kinds.Version{version}, Hub: version, Prefix: "/registry/validatingwebhookconfigurations",
		Strategy: common.Typed[v1.ValidatingWebhookConfiguration, *v1.ValidatingWebhookConfiguration]{
			Default:          func(obj *v1.ValidatingWebhookConfiguration) { defaultHooks(validatingHooks(obj)) },
			PrepareForCreate: func(_ *kinds.Context, obj *v1.ValidatingWebhookConfiguration) { obj.Generation = 1 },
			PrepareForUpdate: func(_ *kinds.Context, obj, old *v1.ValidatingWebhookConfiguration) {
				common.BumpGeneration(obj, old, !reflect.DeepEqual(obj.Webhooks, old.Webhooks)) // an empty caBundle is not the same as none
			},
			Validate: func(_ *kinds.Context, obj *v1.ValidatingWebhookConfiguration) field.ErrorList {
				return append(validateHooks(validatingHooks(obj), hookOptions{}), validateNotStatic(obj.Name)...)
			},
			ValidateUpdate: func(_ *kinds.Context, obj, old *v1.ValidatingWebhookConfiguration) field.ErrorList {
				return validateHooks(validatingHooks(obj), hookOptionsFor(validatingHooks(old)))
			},
			Warnings: func(_ *kinds.Context, obj, old *v1.ValidatingWebhookConfiguration) []string {
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
