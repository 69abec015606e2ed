package admissionregistration

import (
	"testing"

	v1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestAnEmptyBundleIsAChange: upstream compares webhooks byte for byte, and an empty text is not the same as none.
func TestAnEmptyBundleIsAChange(t *testing.T) {
	of := func(bundle []byte) *v1.ValidatingWebhookConfiguration {
		return &v1.ValidatingWebhookConfiguration{
			ObjectMeta: metav1.ObjectMeta{Generation: 1},
			Webhooks:   []v1.ValidatingWebhook{{ClientConfig: v1.WebhookClientConfig{CABundle: bundle}}},
		}
	}
	for _, c := range []struct {
		bundle     []byte
		generation int64
	}{{nil, 1}, {[]byte{}, 2}} {
		obj := of(c.bundle)
		validatingWebhooks().Strategy.PrepareForUpdate(nil, obj, of(nil))
		if obj.Generation != c.generation {
			t.Errorf("caBundle %#v: generation %d, want %d", c.bundle, obj.Generation, c.generation)
		}
	}
}
