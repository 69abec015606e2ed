package clients

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
	"k8s.io/client-go/scale"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/client-go/util/retry"
)

var (
	configMaps  = schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}
	deployments = schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}
)

// testDynamic drives the generic client through every verb.
func testDynamic(t *testing.T, s *server) {
	namespace := s.namespace(t, "dynamic")
	client := dynamic.NewForConfigOrDie(s.config).Resource(configMaps).Namespace(namespace)
	object := func(name string) *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": name, "labels": map[string]any{"test": "dynamic"}},
			"data": map[string]any{"a": "1"},
		}}
	}
	for i := range 5 {
		_, err := client.Create(t.Context(), object(fmt.Sprintf("m%d", i)), metav1.CreateOptions{})
		must(t, err)
	}
	_, err := client.Create(t.Context(), object("m0"), metav1.CreateOptions{})
	if !apierrors.IsAlreadyExists(err) {
		t.Errorf("create again: %v", err)
	}

	var names []string
	options := metav1.ListOptions{LabelSelector: "test=dynamic", Limit: 2}
	revision := ""
	for {
		page, err := client.List(t.Context(), options)
		must(t, err)
		for _, item := range page.Items {
			names = append(names, item.GetName())
		}
		revision = page.GetResourceVersion()
		if options.Continue = page.GetContinue(); options.Continue == "" {
			break
		}
	}
	if got := strings.Join(names, " "); got != "m0 m1 m2 m3 m4" {
		t.Errorf("pages: %s", got)
	}

	watcher, err := client.Watch(t.Context(), metav1.ListOptions{ResourceVersion: revision, LabelSelector: "test=dynamic"})
	must(t, err)
	defer watcher.Stop()
	got, err := client.Patch(t.Context(), "m1", types.MergePatchType, []byte(`{"data":{"b":"2"}}`), metav1.PatchOptions{})
	must(t, err)
	got.Object["data"] = map[string]any{"c": "3"}
	got, err = client.Update(t.Context(), got, metav1.UpdateOptions{})
	must(t, err)
	stale := got.DeepCopy()
	stale.SetResourceVersion("1")
	if _, err := client.Update(t.Context(), stale, metav1.UpdateOptions{}); !apierrors.IsConflict(err) {
		t.Errorf("update of an old version: %v", err)
	}
	applied := object("m1")
	applied.Object["data"] = map[string]any{"c": "4"}
	if _, err := client.Apply(t.Context(), "m1", applied, metav1.ApplyOptions{FieldManager: "applier"}); !apierrors.IsConflict(err) {
		t.Errorf("apply of another's field: %v", err)
	}
	_, err = client.Apply(t.Context(), "m1", applied, metav1.ApplyOptions{FieldManager: "applier", Force: true})
	must(t, err)
	must(t, client.Delete(t.Context(), "m1", metav1.DeleteOptions{}))
	for i, want := range []watch.EventType{watch.Modified, watch.Modified, watch.Modified, watch.Deleted} {
		select {
		case event := <-watcher.ResultChan():
			if event.Type != want || event.Object.(*unstructured.Unstructured).GetName() != "m1" {
				t.Errorf("event %d: %s %v, want %s of m1", i, event.Type, event.Object, want)
			}
		case <-time.After(patience):
			t.Fatalf("event %d did not come", i)
		}
	}

	must(t, client.DeleteCollection(t.Context(), metav1.DeleteOptions{}, metav1.ListOptions{LabelSelector: "test=dynamic"}))
	left, err := client.List(t.Context(), metav1.ListOptions{LabelSelector: "test=dynamic"})
	must(t, err)
	if len(left.Items) != 0 {
		t.Errorf("%d left after deletecollection", len(left.Items))
	}
	_, err = client.Get(t.Context(), "m1", metav1.GetOptions{})
	if !apierrors.IsNotFound(err) {
		t.Errorf("get of a deleted one: %v", err)
	}
}

// testMetadata asks for metadata only.
func testMetadata(t *testing.T, s *server) {
	namespace := s.namespace(t, "metadata")
	typed := kubernetes.NewForConfigOrDie(s.config).CoreV1().ConfigMaps(namespace)
	made, err := typed.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "m", Labels: map[string]string{"a": "1"}}, Data: map[string]string{"big": strings.Repeat("x", 10000)}}, metav1.CreateOptions{})
	must(t, err)
	client := metadata.NewForConfigOrDie(s.config).Resource(configMaps).Namespace(namespace)
	got, err := client.Get(t.Context(), "m", metav1.GetOptions{})
	must(t, err)
	if got.UID != made.UID || got.Labels["a"] != "1" {
		t.Errorf("got %+v", got)
	}
	list, err := client.List(t.Context(), metav1.ListOptions{LabelSelector: "a=1"})
	must(t, err)
	if len(list.Items) != 1 || list.Items[0].UID != made.UID {
		t.Errorf("list: %+v", list)
	}
	watcher, err := client.Watch(t.Context(), metav1.ListOptions{ResourceVersion: list.ResourceVersion})
	must(t, err)
	defer watcher.Stop()
	_, err = client.Patch(t.Context(), "m", types.MergePatchType, []byte(`{"metadata":{"annotations":{"seen":"yes"}}}`), metav1.PatchOptions{})
	must(t, err)
	select {
	case event := <-watcher.ResultChan():
		if o, ok := event.Object.(*metav1.PartialObjectMetadata); !ok || event.Type != watch.Modified || o.Annotations["seen"] != "yes" {
			t.Errorf("event: %s %+v", event.Type, event.Object)
		}
	case <-time.After(patience):
		t.Fatal("no event came")
	}
	must(t, client.DeleteCollection(t.Context(), metav1.DeleteOptions{}, metav1.ListOptions{LabelSelector: "a=1"}))
}

// testDiscovery reads what the server has, in both forms, and its schemas.
func testDiscovery(t *testing.T, s *server) {
	client := discovery.NewDiscoveryClientForConfigOrDie(s.config)
	legacy := discovery.NewDiscoveryClientForConfigOrDie(s.config)
	legacy.UseLegacyDiscovery = true
	groups, lists, err := client.ServerGroupsAndResources()
	must(t, err)
	legacyGroups, legacyLists, err := legacy.ServerGroupsAndResources()
	must(t, err)
	if len(groups) != len(legacyGroups) || len(lists) != len(legacyLists) {
		t.Errorf("aggregated: %d groups, %d versions; one by one: %d, %d", len(groups), len(lists), len(legacyGroups), len(legacyLists))
	}
	// Aggregated discovery comes through a map: its order is the client's own.
	for _, l := range [][]*metav1.APIResourceList{lists, legacyLists} {
		slices.SortFunc(l, func(a, b *metav1.APIResourceList) int { return strings.Compare(a.GroupVersion, b.GroupVersion) })
	}
	for i, list := range lists {
		if count, want := withoutSubresources(list), withoutSubresources(legacyLists[i]); list.GroupVersion != legacyLists[i].GroupVersion || count != want {
			t.Errorf("%s: %d resources, one by one %s: %d", list.GroupVersion, count, legacyLists[i].GroupVersion, want)
		}
	}
	version, err := client.ServerVersion()
	must(t, err)
	if version.Major != "1" || version.Minor == "" {
		t.Errorf("version: %+v", version)
	}
	document, err := client.OpenAPISchema()
	must(t, err)
	if n := len(document.GetDefinitions().GetAdditionalProperties()); n < 500 {
		t.Errorf("OpenAPI v2 has %d definitions", n)
	}
	paths, err := client.OpenAPIV3().Paths()
	must(t, err)
	body, err := paths["apis/apps/v1"].Schema("application/json")
	must(t, err)
	var v3 struct {
		Components struct{ Schemas map[string]any }
	}
	must(t, json.Unmarshal(body, &v3))
	if v3.Components.Schemas["io.k8s.api.apps.v1.Deployment"] == nil {
		t.Errorf("apps/v1 has no Deployment among %d schemas", len(v3.Components.Schemas))
	}
	mapper := restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(client))
	mapping, err := mapper.RESTMapping(schema.GroupKind{Group: "apps", Kind: "Deployment"})
	must(t, err)
	if mapping.Resource != deployments || mapping.Scope.Name() != meta.RESTScopeNameNamespace {
		t.Errorf("mapping: %+v", mapping)
	}
}

func withoutSubresources(list *metav1.APIResourceList) int {
	n := 0
	for _, r := range list.APIResources {
		if !strings.Contains(r.Name, "/") {
			n++
		}
	}
	return n
}

// testScale reads and sets replicas through the polymorphic scale client.
func testScale(t *testing.T, s *server) {
	namespace := s.namespace(t, "scale")
	typed := kubernetes.NewForConfigOrDie(s.config)
	replicas := int32(1)
	labels := map[string]string{"app": "scaled"}
	template := corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "busybox"}}}}
	_, err := typed.AppsV1().Deployments(namespace).Create(t.Context(), &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: "d"},
		Spec: appsv1.DeploymentSpec{Replicas: &replicas, Selector: &metav1.LabelSelector{MatchLabels: labels}, Template: template}}, metav1.CreateOptions{})
	must(t, err)
	client, err := scale.NewForConfig(s.config, restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(typed.Discovery())),
		dynamic.LegacyAPIPathResolverFunc, scale.NewDiscoveryScaleKindResolver(typed.Discovery()))
	must(t, err)
	scales := client.Scales(namespace)
	group := deployments.GroupResource()
	got, err := scales.Get(t.Context(), group, "d", metav1.GetOptions{})
	must(t, err)
	if got.Spec.Replicas != 1 || got.Status.Selector != "app=scaled" {
		t.Errorf("scale: %+v", got)
	}
	must(t, retry.RetryOnConflict(retry.DefaultBackoff, func() error { // the controller writes status meanwhile
		got, err := scales.Get(t.Context(), group, "d", metav1.GetOptions{})
		if err != nil {
			return err
		}
		got.Spec.Replicas = 3
		_, err = scales.Update(t.Context(), group, got, metav1.UpdateOptions{})
		return err
	}))
	eventually(t, "three replicas", func() (bool, string) {
		got, err := scales.Get(t.Context(), group, "d", metav1.GetOptions{})
		return err == nil && got.Status.Replicas == 3, fmt.Sprintf("%+v %v", got, err)
	})
	got, err = scales.Patch(t.Context(), deployments, "d", types.MergePatchType, []byte(`{"spec":{"replicas":0}}`), metav1.PatchOptions{})
	must(t, err)
	if got.Spec.Replicas != 0 {
		t.Errorf("patched: %+v", got)
	}
	var raw autoscalingv1.Scale
	must(t, typed.AppsV1().RESTClient().Get().Namespace(namespace).Resource("deployments").Name("d").SubResource("scale").Do(t.Context()).Into(&raw))
	if raw.Spec.Replicas != 0 {
		t.Errorf("read back: %+v", raw)
	}
}

// testLeaderElection lets two candidates hold one Lease after each other.
func testLeaderElection(t *testing.T, s *server) {
	namespace := s.namespace(t, "leader")
	led := make(chan string)
	run := func(name string) (release func()) {
		lock, err := resourcelock.NewFromKubeconfig(resourcelock.LeasesResourceLock, namespace, "lock", resourcelock.ResourceLockConfig{Identity: name}, rest.CopyConfig(s.config), 2*time.Second)
		must(t, err)
		ctx, cancel := contextOf(t)
		go leaderelection.RunOrDie(ctx, leaderelection.LeaderElectionConfig{
			Lock: lock, LeaseDuration: 4 * time.Second, RenewDeadline: 2 * time.Second, RetryPeriod: 200 * time.Millisecond, ReleaseOnCancel: true,
			Callbacks: leaderelection.LeaderCallbacks{OnStartedLeading: func(context.Context) { led <- name }, OnStoppedLeading: func() {}},
		})
		return cancel
	}
	expect := func(want string) {
		t.Helper()
		select {
		case got := <-led:
			if got != want {
				t.Fatalf("%s leads, want %s", got, want)
			}
		case <-time.After(patience):
			t.Fatalf("%s does not lead", want)
		}
	}
	release := run("first")
	expect("first")
	run("second")
	release()
	expect("second")
}
