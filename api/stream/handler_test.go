package stream_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/endpoints/request"

	"kuberow/api/kinds"
	"kuberow/api/stream"
)

// objects is a Reader of a few pods and nodes by name.
type objects struct {
	kinds.Reader
	byName map[string]runtime.Object
}

// Get implements kinds.Reader.
func (o objects) Get(_ context.Context, gr schema.GroupResource, _, name string) (runtime.Object, error) {
	if obj, ok := o.byName[name]; ok {
		return obj, nil
	}
	return nil, apierrors.NewNotFound(gr, name)
}

// nobody is a node port whose logs say that it was asked.
type nobody struct{ stream.Nodes }

// Logs implements stream.Nodes.
func (nobody) Logs(context.Context, *corev1.Pod, *corev1.PodLogOptions, io.Writer) error {
	return errors.New("asked")
}

// A pod may be bound to a node that is gone, or that never told its addresses: then nobody is asked.
func TestLogsAreAskedOfNodesThatCanBeReached(t *testing.T) {
	pod := func(node string) *corev1.Pod {
		return &corev1.Pod{Spec: corev1.PodSpec{NodeName: node, Containers: []corev1.Container{{Name: "c"}}}}
	}
	reader := objects{byName: map[string]runtime.Object{
		"lost": pod("gone"), "mute": pod("silent"), "fine": pod("real"),
		"silent": &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "silent"}},
		"real":   &corev1.Node{Status: corev1.NodeStatus{Addresses: []corev1.NodeAddress{{Type: corev1.NodeHostName, Address: "real"}}}},
	}}
	for name, want := range map[string]string{
		"lost": `pods "gone" not found`,
		"mute": "no preferred addresses found; known addresses: []",
		"fine": "asked",
	} {
		var got error
		h := &stream.Handler{Nodes: nobody{}, Reader: reader, Fail: func(_ http.ResponseWriter, _ *http.Request, err error) { got = err }}
		r := httptest.NewRequest("GET", "/api/v1/namespaces/default/pods/"+name+"/log", nil)
		info := &request.RequestInfo{Verb: "get", APIVersion: "v1", Namespace: "default", Resource: "pods", Subresource: "log", Name: name}
		h.ServeHTTP(httptest.NewRecorder(), r.WithContext(request.WithRequestInfo(r.Context(), info)))
		if got == nil || got.Error() != want {
			t.Errorf("logs of %s: %v, want %s", name, got, want)
		}
	}
}
