package apps

import (
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"kuberow/api/kinds"
)

// Resources lists apps/v1 in discovery's order.
func Resources() []*kinds.Resource {
	return []*kinds.Resource{controllerRevisions(), daemonSets(), deployments(), replicaSets(), statefulSets()}
}

func gvk(kind string) schema.GroupVersionKind { return appsv1.SchemeGroupVersion.WithKind(kind) }

// single makes a Resource with one version, which is its hub.
func single(r kinds.Resource, v *kinds.Version) *kinds.Resource {
	r.Group, r.Kind, r.Namespaced = v.GVK.Group, v.GVK.Kind, true
	r.Versions, r.Hub = []*kinds.Version{v}, v
	return &r
}

// selectorText is a selector as scale.status.selector shows it.
func selectorText(s *metav1.LabelSelector) (string, error) {
	selector, err := metav1.LabelSelectorAsSelector(s)
	if err != nil {
		return "", err
	}
	return selector.String(), nil
}
