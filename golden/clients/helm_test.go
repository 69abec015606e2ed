package clients

import (
	"fmt"
	"log/slog"
	"testing"

	"helm.sh/helm/v4/pkg/action"
	"helm.sh/helm/v4/pkg/chart/loader"
	"helm.sh/helm/v4/pkg/cli"
	"helm.sh/helm/v4/pkg/kube"
	"helm.sh/helm/v4/pkg/release"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// testHelm lets helm's library install, upgrade, roll back and uninstall a chart
// whose hooks are Jobs; helm applies server-side and waits with its watcher.
func testHelm(t *testing.T, s *server) {
	namespace := s.namespace(t, "helm")
	client := kubernetes.NewForConfigOrDie(s.config)
	settings := cli.New()
	settings.KubeConfig = s.kubeconfig
	settings.SetNamespace(namespace)
	config := action.NewConfiguration(action.ConfigurationSetLogger(slog.DiscardHandler))
	must(t, config.Init(settings.RESTClientGetter(), namespace, "secrets"))
	chart, err := loader.Load("testdata/chart")
	must(t, err)

	shows := func(colour, revision string, replicas int32, jobs ...string) {
		t.Helper()
		settings, err := client.CoreV1().ConfigMaps(namespace).Get(t.Context(), "shop-settings", metav1.GetOptions{})
		must(t, err)
		if settings.Data["colour"] != colour || settings.Data["revision"] != revision {
			t.Errorf("settings: %v, want %s at revision %s", settings.Data, colour, revision)
		}
		deployment, err := client.AppsV1().Deployments(namespace).Get(t.Context(), "shop", metav1.GetOptions{})
		must(t, err)
		if deployment.Status.ReadyReplicas != replicas {
			t.Errorf("%d replicas are ready, want %d", deployment.Status.ReadyReplicas, replicas)
		}
		for _, name := range jobs {
			job, err := client.BatchV1().Jobs(namespace).Get(t.Context(), "shop-"+name, metav1.GetOptions{})
			if err != nil || job.Status.Succeeded != 1 {
				t.Errorf("hook %s: %v %+v", name, err, job.Status)
			}
		}
	}

	install := action.NewInstall(config)
	install.ReleaseName, install.Namespace, install.Timeout = "shop", namespace, patience
	install.WaitStrategy, install.WaitForJobs = kube.StatusWatcherStrategy, true
	installed, err := install.Run(chart, map[string]any{})
	must(t, err)
	accessor, err := release.NewAccessor(installed)
	must(t, err)
	if accessor.Version() != 1 || accessor.Status() != "deployed" || accessor.Notes() != "shop is blue.\n" {
		t.Errorf("installed: version %d, %s, notes %q", accessor.Version(), accessor.Status(), accessor.Notes())
	}
	shows("blue", "1", 1, "pre-install", "post-install")

	upgrade := action.NewUpgrade(config)
	upgrade.Namespace, upgrade.Timeout, upgrade.WaitStrategy, upgrade.WaitForJobs = namespace, patience, kube.StatusWatcherStrategy, true
	_, err = upgrade.Run("shop", chart, map[string]any{"colour": "red", "replicas": 2})
	must(t, err)
	shows("red", "2", 2, "pre-upgrade", "post-upgrade")

	rollback := action.NewRollback(config)
	rollback.Version, rollback.Timeout, rollback.WaitStrategy, rollback.WaitForJobs = 1, patience, kube.StatusWatcherStrategy, true
	must(t, rollback.Run("shop"))
	shows("blue", "1", 1, "pre-rollback", "post-rollback")

	history, err := action.NewHistory(config).Run("shop")
	must(t, err)
	var told []string
	for _, r := range history {
		a, err := release.NewAccessor(r)
		must(t, err)
		told = append(told, fmt.Sprint(a.Version(), " ", a.Status()))
	}
	if got := fmt.Sprint(told); got != "[1 superseded 2 superseded 3 deployed]" {
		t.Errorf("history: %s", got)
	}

	uninstall := action.NewUninstall(config)
	uninstall.Timeout, uninstall.WaitStrategy = patience, kube.StatusWatcherStrategy
	_, err = uninstall.Run("shop")
	must(t, err)
	left, err := client.AppsV1().Deployments(namespace).List(t.Context(), metav1.ListOptions{})
	must(t, err)
	if len(left.Items) != 0 {
		t.Errorf("%d deployments left", len(left.Items))
	}
}
