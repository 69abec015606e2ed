package wire

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"
)

// The form is that of a round through the types' own protobuf.
func TestNormalizeIsProtobufsForm(t *testing.T) {
	type message interface {
		runtime.Object
		Marshal() ([]byte, error)
		Unmarshal([]byte) error
	}
	for _, c := range []struct {
		obj, again message
	}{
		{&corev1.LimitRange{Spec: corev1.LimitRangeSpec{Limits: []corev1.LimitRangeItem{}}}, &corev1.LimitRange{}},
		{&corev1.Secret{Data: map[string][]byte{"a": nil, "b": {}, "c": []byte("x")}}, &corev1.Secret{}},
		{&discoveryv1.EndpointSlice{Endpoints: []discoveryv1.Endpoint{{Addresses: []string{}}}, Ports: []discoveryv1.EndpointPort{}}, &discoveryv1.EndpointSlice{}},
		{&corev1.Pod{Spec: corev1.PodSpec{Containers: []corev1.Container{}, Volumes: []corev1.Volume{
			{Name: "v", VolumeSource: corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{Sources: []corev1.VolumeProjection{}}}}}}}, &corev1.Pod{}},
	} {
		raw, err := c.obj.Marshal()
		if err == nil {
			err = c.again.Unmarshal(raw)
		}
		if err != nil {
			t.Fatal(err)
		}
		Normalize(c.obj)
		want, _ := yaml.Marshal(c.again)
		got, _ := yaml.Marshal(c.obj)
		if diff := cmp.Diff(string(want), string(got)); diff != "" {
			t.Errorf("%T: %s", c.obj, diff)
		}
	}
}
