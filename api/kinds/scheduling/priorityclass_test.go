package scheduling

import (
	"testing"

	schedulingv1 "k8s.io/api/scheduling/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"kuberow/api/kinds/common/kindtest"
)

func TestSystemClassesStay(t *testing.T) {
	for _, c := range []struct {
		verb, name string
		refused    bool
	}{
		{"delete", SystemNodeCritical, true},
		{"delete", "mine", false},
		{"deletecollection", SystemNodeCritical, false},
	} {
		r := new(kindtest.Cluster).Context()
		r.Verb = c.verb
		err := Resources()[0].Strategy.CheckDelete(r, &schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: c.name}})
		if apierrors.IsForbidden(err) != c.refused {
			t.Errorf("%s of %s: %v", c.verb, c.name, err)
		}
	}
}
