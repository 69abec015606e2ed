package clients

import (
	"fmt"
	"reflect"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/features"
	featurestesting "k8s.io/client-go/features/testing"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
)

// testInformers lets client-go's informers fill their caches in both encodings,
// by list and watch and by one streaming list, and follow what happens next.
func testInformers(t *testing.T, s *server) {
	for _, encoding := range []string{runtime.ContentTypeJSON, runtime.ContentTypeProtobuf} {
		for _, watchList := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s watchlist=%t", encoding, watchList), func(t *testing.T) {
				featurestesting.SetFeatureDuringTest(t, features.WatchListClient, watchList)
				testInformer(t, s, encoding, watchList)
			})
		}
	}
}

func testInformer(t *testing.T, s *server, encoding string, watchList bool) {
	namespace := s.namespace(t, "informer")
	config, wire := s.wire()
	config.ContentType = encoding
	if encoding == runtime.ContentTypeProtobuf {
		config.AcceptContentTypes = encoding
	}
	client := kubernetes.NewForConfigOrDie(config)
	maps := client.CoreV1().ConfigMaps(namespace)
	create := func(name string) *corev1.ConfigMap {
		t.Helper()
		made, err := maps.Create(t.Context(), &corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"test": "informer"}},
			Data:       map[string]string{"name": name, "text": "\u00e4\u4e16\n\""}, BinaryData: map[string][]byte{"bytes": {0, 1, 255}},
		}, metav1.CreateOptions{})
		must(t, err)
		return made
	}
	want := map[string]*corev1.ConfigMap{}
	for i := range 30 {
		name := fmt.Sprintf("before-%d", i)
		want[name] = create(name)
	}

	factory := informers.NewSharedInformerFactoryWithOptions(client, 0, informers.WithNamespace(namespace),
		informers.WithTweakListOptions(func(o *metav1.ListOptions) { o.LabelSelector = "test=informer"; o.Limit = 7 }))
	informer := factory.Core().V1().ConfigMaps()
	deleted := collectDeleted(informer.Informer())
	factory.Start(t.Context().Done())
	if !cache.WaitForCacheSync(t.Context().Done(), informer.Informer().HasSynced) {
		t.Fatal("the cache did not fill")
	}
	if got := wire.has("watch=true", "sendInitialEvents=true"); got != watchList {
		t.Errorf("a streaming list was used: %t, want %t: %v", got, watchList, wire.lines)
	}
	if !wire.has("/configmaps?", "watch=true", encoding) {
		t.Errorf("no watch that accepts %s", encoding)
	}
	same := func() (bool, string) {
		items := informer.Informer().GetStore().List()
		if len(items) != len(want) {
			return false, fmt.Sprintf("%d objects, want %d", len(items), len(want))
		}
		for _, item := range items {
			got := item.(*corev1.ConfigMap)
			if w := want[got.Name]; w == nil || !equality.Semantic.DeepEqual(got, w) {
				return false, fmt.Sprintf("%s: got %v, want %v", got.Name, got, w)
			}
		}
		return true, ""
	}
	eventually(t, "the cache holds what was created", same)

	for i := range 10 {
		name := fmt.Sprintf("after-%d", i)
		want[name] = create(name)
	}
	changed := want["before-3"].DeepCopy()
	changed.Data["name"] = "changed"
	changed, err := maps.Update(t.Context(), changed, metav1.UpdateOptions{})
	must(t, err)
	want["before-3"] = changed
	// One leaves by deletion, one by losing the label that selects it.
	must(t, maps.Delete(t.Context(), "before-4", metav1.DeleteOptions{}))
	unlabeled := want["before-5"].DeepCopy()
	unlabeled.Labels = nil
	_, err = maps.Update(t.Context(), unlabeled, metav1.UpdateOptions{})
	must(t, err)
	delete(want, "before-4")
	delete(want, "before-5")
	eventually(t, "the cache follows", same)
	eventually(t, "handlers hear of deletions", func() (bool, string) {
		got := deleted.names()
		return reflect.DeepEqual(got, []string{"before-4", "before-5"}), fmt.Sprint(got)
	})
}

// deletions collects the names that an informer reported as deleted, in order.
type deletions struct{ notes }

func collectDeleted(informer cache.SharedIndexInformer) *deletions {
	d := &deletions{}
	informer.AddEventHandler(cache.ResourceEventHandlerFuncs{DeleteFunc: func(obj any) {
		if o, ok := obj.(metav1.Object); ok {
			d.add(o.GetName())
		}
	}})
	return d
}

func (d *deletions) names() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return append([]string(nil), d.lines...)
}
