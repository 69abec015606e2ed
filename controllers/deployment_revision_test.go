package controllers

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// The hashes are those that a real cluster gives these templates.
func TestTemplateHashIsUpstreams(t *testing.T) {
	for image, want := range map[string]string{"nginx:1": "bfbd49cc7", "nginx:2": "664bbf55cb"} {
		if got := templateHash(webTemplate(image), nil); got != want {
			t.Errorf("hash of %s: got %s, want %s", image, got, want)
		}
	}
}

// webTemplate is a template as it is stored, with its defaults.
func webTemplate(image string) *corev1.PodTemplateSpec {
	grace := int64(30)
	return &corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "web"}},
		Spec: corev1.PodSpec{
			Containers: []corev1.Container{{
				Name: "c", Image: image, ImagePullPolicy: corev1.PullIfNotPresent,
				Ports:                  []corev1.ContainerPort{{ContainerPort: 80, Protocol: corev1.ProtocolTCP}},
				TerminationMessagePath: "/dev/termination-log", TerminationMessagePolicy: corev1.TerminationMessageReadFile,
			}},
			DNSPolicy: corev1.DNSClusterFirst, RestartPolicy: corev1.RestartPolicyAlways, SchedulerName: "default-scheduler",
			SecurityContext: &corev1.PodSecurityContext{}, TerminationGracePeriodSeconds: &grace,
		},
	}
}
