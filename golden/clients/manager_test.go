package clients

import (
	"context"
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
)

// mirror is a controller as people write them: for each ConfigMap there is a
// Secret with the same data, which it owns, and a finalizer that is worked off.
type mirror struct{ client.Client }

const finalizer = "clients.example.com/mirror"

func (m *mirror) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	source := &corev1.ConfigMap{}
	if err := m.Get(ctx, request.NamespacedName, source); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if source.Labels["mirror"] != "yes" {
		return ctrl.Result{}, nil
	}
	if !source.DeletionTimestamp.IsZero() {
		if controllerutil.RemoveFinalizer(source, finalizer) {
			return ctrl.Result{}, m.Update(ctx, source)
		}
		return ctrl.Result{}, nil
	}
	if controllerutil.AddFinalizer(source, finalizer) {
		if err := m.Update(ctx, source); err != nil {
			return ctrl.Result{}, err
		}
	}
	copied := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: source.Name, Namespace: source.Namespace}}
	_, err := controllerutil.CreateOrPatch(ctx, m, copied, func() error {
		copied.StringData = source.Data
		return controllerutil.SetControllerReference(source, copied, m.Scheme())
	})
	return ctrl.Result{}, err
}

// testManager runs that controller under controller-runtime's manager, which
// reads from a cache with an index and leads by a lease.
func testManager(t *testing.T, s *server) {
	namespace := s.namespace(t, "manager")
	manager, err := ctrl.NewManager(s.config, ctrl.Options{
		Scheme: scheme.Scheme, Metrics: metricsserver.Options{BindAddress: "0"}, HealthProbeBindAddress: "0",
		LeaderElection: true, LeaderElectionID: "mirror", LeaderElectionNamespace: namespace, LeaderElectionReleaseOnCancel: true,
		Cache: cache.Options{DefaultNamespaces: map[string]cache.Config{namespace: {}}},
	})
	must(t, err)
	must(t, manager.GetFieldIndexer().IndexField(t.Context(), &corev1.ConfigMap{}, "data.colour", func(o client.Object) []string {
		return []string{o.(*corev1.ConfigMap).Data["colour"]}
	}))
	must(t, ctrl.NewControllerManagedBy(manager).For(&corev1.ConfigMap{}).Owns(&corev1.Secret{}).Complete(&mirror{manager.GetClient()}))
	ctx, cancel := contextOf(t)
	ended := make(chan error, 1)
	go func() { ended <- manager.Start(ctx) }()
	defer func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("the manager ended: %v", err)
		}
	}()
	if !manager.GetCache().WaitForCacheSync(ctx) {
		t.Fatal("the cache did not fill")
	}

	cached, direct := manager.GetClient(), manager.GetAPIReader()
	source := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "source", Namespace: namespace, Labels: map[string]string{"mirror": "yes"}}, Data: map[string]string{"colour": "blue"}}
	must(t, cached.Create(ctx, source))
	key := client.ObjectKeyFromObject(source)
	mirrored := func(colour string) {
		t.Helper()
		eventually(t, "the secret says "+colour, func() (bool, string) {
			got := &corev1.Secret{}
			err := direct.Get(ctx, key, got)
			return err == nil && string(got.Data["colour"]) == colour && metav1.IsControlledBy(got, source), fmt.Sprintf("%v %v", got, err)
		})
	}
	mirrored("blue")
	must(t, cached.Patch(ctx, source, client.RawPatch("application/merge-patch+json", []byte(`{"data":{"colour":"red"}}`))))
	mirrored("red")
	must(t, cached.Delete(ctx, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "source", Namespace: namespace}}))
	mirrored("red")
	eventually(t, "the index finds it", func() (bool, string) {
		list := &corev1.ConfigMapList{}
		err := cached.List(ctx, list, client.InNamespace(namespace), client.MatchingFields{"data.colour": "red"})
		return err == nil && len(list.Items) == 1, fmt.Sprintf("%d %v", len(list.Items), err)
	})
	must(t, cached.Delete(ctx, source))
	eventually(t, "source and secret are gone", func() (bool, string) {
		a, b := direct.Get(ctx, key, &corev1.ConfigMap{}), direct.Get(ctx, key, &corev1.Secret{})
		return apierrors.IsNotFound(a) && apierrors.IsNotFound(b), fmt.Sprint(a, b)
	})
}
