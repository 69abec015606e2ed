package rest_test

import (
	"context"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
)

// TestInformer runs client-go's informer, in JSON and in protobuf: it lists or
// asks for initial events, watches, and must end with what the server has.
func TestInformer(t *testing.T) {
	for _, mediaType := range []string{"application/json", "application/vnd.kubernetes.protobuf"} {
		t.Run(mediaType, func(t *testing.T) {
			s := start(t)
			many(t, s, 3)
			client, err := rest.RESTClientFor(&rest.Config{
				Host: s.URL, APIPath: "/api",
				ContentConfig: rest.ContentConfig{
					GroupVersion: &corev1.SchemeGroupVersion, NegotiatedSerializer: scheme.Codecs.WithoutConversion(),
					ContentType: mediaType, AcceptContentTypes: mediaType,
				},
			})
			if err != nil {
				t.Fatal(err)
			}
			events := make(chan string, 100)
			name := func(obj any) string {
				if gone, ok := obj.(cache.DeletedFinalStateUnknown); ok {
					obj = gone.Obj
				}
				return obj.(*corev1.ConfigMap).Name + "=" + obj.(*corev1.ConfigMap).Data["i"]
			}
			store, informer := cache.NewInformerWithOptions(cache.InformerOptions{
				ListerWatcher: cache.NewListWatchFromClient(client, "configmaps", "default", fields.Everything()),
				ObjectType:    &corev1.ConfigMap{},
				Handler: cache.ResourceEventHandlerFuncs{
					AddFunc:    func(obj any) { events <- "add " + name(obj) },
					UpdateFunc: func(_, obj any) { events <- "update " + name(obj) },
					DeleteFunc: func(obj any) { events <- "delete " + name(obj) },
				},
			})
			ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
			defer cancel()
			go informer.RunWithContext(ctx)
			expectEvents(ctx, t, events, "add c00=0", "add c01=1", "add c02=2")
			want(t, s, 200, "PATCH", configmaps+"/c01", `{"data":{"i":"one"}}`, "Content-Type", "application/merge-patch+json")
			expectEvents(ctx, t, events, "update c01=one")
			want(t, s, 200, "DELETE", configmaps+"/c00", "")
			expectEvents(ctx, t, events, "delete c00=0")
			if n := len(store.List()); n != 2 {
				t.Errorf("the informer holds %d objects, want 2", n)
			}
		})
	}
}

// expectEvents waits for the events, in any order: the first ones come from a map.
func expectEvents(ctx context.Context, t *testing.T, events chan string, want ...string) {
	t.Helper()
	var got []string
	for range want {
		select {
		case e := <-events:
			got = append(got, e)
		case <-ctx.Done():
			t.Fatalf("only %v of %v", got, want)
		}
	}
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Fatalf("events %v, want %v", got, want)
	}
}
