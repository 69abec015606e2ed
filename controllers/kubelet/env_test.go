package kubelet_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kuberow/controllers/kubelet"
)

var (
	configMaps = schema.GroupResource{Resource: "configmaps"}
	secrets    = schema.GroupResource{Resource: "secrets"}
	services   = schema.GroupResource{Resource: "services"}
	nodes      = schema.GroupResource{Resource: "nodes"}
)

func configMap(name string, data map[string]string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}, Data: data}
}

func secret(name string, data map[string][]byte) *corev1.Secret {
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}, Data: data}
}

func named(name string) corev1.LocalObjectReference { return corev1.LocalObjectReference{Name: name} }

func fieldRef(path string) *corev1.EnvVarSource {
	return &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{APIVersion: "v1", FieldPath: path}}
}

func resourceRef(name, divisor string) *corev1.EnvVarSource {
	r := &corev1.ResourceFieldSelector{Resource: name}
	if divisor != "" {
		r.Divisor = resource.MustParse(divisor)
	}
	return &corev1.EnvVarSource{ResourceFieldRef: r}
}

// envOf starts a pod and gives the variables of its container, without those of services.
func envOf(t *testing.T, w *world, f *fakeRuntime, edit func(*corev1.Pod)) map[string]string {
	t.Helper()
	w.put(pods, newPod("e", edit))
	w.until("e", "ready", func() bool { return w.ready("e") })
	out := map[string]string{}
	for _, v := range f.config("c").Env {
		out[v.Name] = v.Value
	}
	return out
}

// Later variables see earlier ones, and env goes before envFrom.
func TestEnvSources(t *testing.T) {
	w, f := withFake(t)
	w.put(configMaps, configMap("m", map[string]string{"A": "from map", "B": "b"}))
	w.put(secrets, secret("s", map[string][]byte{"PASS": []byte("pw")}))
	w.put(nodes, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node-1"}, Status: corev1.NodeStatus{
		Allocatable: corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("2Gi"), corev1.ResourceCPU: resource.MustParse("4")}}})
	yes := true
	got := envOf(t, w, f, func(p *corev1.Pod) {
		p.Labels = map[string]string{"app": "web"}
		p.Annotations = map[string]string{"note": "x\ny"}
		p.Spec.ServiceAccountName = "robot"
		c := &p.Spec.Containers[0]
		c.Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("150m"), corev1.ResourceMemory: resource.MustParse("100Mi")}
		c.EnvFrom = []corev1.EnvFromSource{
			{Prefix: "P_", ConfigMapRef: &corev1.ConfigMapEnvSource{LocalObjectReference: named("m")}},
			{ConfigMapRef: &corev1.ConfigMapEnvSource{LocalObjectReference: named("none"), Optional: &yes}},
			{ConfigMapRef: &corev1.ConfigMapEnvSource{LocalObjectReference: named("m")}},
			{SecretRef: &corev1.SecretEnvSource{LocalObjectReference: named("s")}},
		}
		c.Env = []corev1.EnvVar{
			{Name: "A", Value: "own"},
			{Name: "AB", Value: "$(A)-$(B) $$(A) $(LATER) $(UNKNOWN) $A $"},
			{Name: "LATER", Value: "later"},
			{Name: "EMPTY"},
			{Name: "KEY", ValueFrom: &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{LocalObjectReference: named("s"), Key: "PASS"}}},
			{Name: "NOKEY", ValueFrom: &corev1.EnvVarSource{ConfigMapKeyRef: &corev1.ConfigMapKeySelector{LocalObjectReference: named("m"), Key: "Z", Optional: &yes}}},
			{Name: "IP", ValueFrom: fieldRef("status.podIP")},
			{Name: "HOST", ValueFrom: fieldRef("status.hostIP")},
			{Name: "NODE", ValueFrom: fieldRef("spec.nodeName")},
			{Name: "SA", ValueFrom: fieldRef("spec.serviceAccountName")},
			{Name: "UID", ValueFrom: fieldRef("metadata.uid")},
			{Name: "APP", ValueFrom: fieldRef("metadata.labels['app']")},
			{Name: "NOTES", ValueFrom: fieldRef("metadata.annotations")},
			{Name: "CPU", ValueFrom: resourceRef("requests.cpu", "1m")},
			{Name: "CPUS", ValueFrom: resourceRef("requests.cpu", "")},
			{Name: "MEM", ValueFrom: resourceRef("requests.memory", "1Mi")},
			{Name: "LIMIT", ValueFrom: resourceRef("limits.memory", "1Mi")},
		}
		c.Command = []string{"run", "$(A)", "$(NOTHING)"}
	})
	want := map[string]string{
		"P_A": "from map", "P_B": "b", "A": "own", "B": "b", "PASS": "pw",
		"AB": "own-b $(A) $(LATER) $(UNKNOWN) $A $", "LATER": "later", "EMPTY": "", "KEY": "pw",
		"IP": "10.0.0.1", "HOST": "192.0.2.1", "NODE": "node-1", "SA": "robot", "UID": "e-uid", "APP": "web", "NOTES": `note="x\ny"`,
		"CPU": "150", "CPUS": "1", "MEM": "100", "LIMIT": "2048",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("variables (-want +got):\n%s", d)
	}
	if d := cmp.Diff([]string{"run", "own", "$(NOTHING)"}, f.config("c").Command); d != "" {
		t.Errorf("command (-want +got):\n%s", d)
	}
}

func service(namespace, name, ip string, ports ...corev1.ServicePort) *corev1.Service {
	return &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Spec: corev1.ServiceSpec{ClusterIP: ip, Ports: ports}}
}

// Services of the namespace and default/kubernetes are in the environment.
func TestServiceEnv(t *testing.T) {
	w, f := withFake(t)
	w.put(services, service("default", "kubernetes", "10.96.0.1", corev1.ServicePort{Name: "https", Port: 443, Protocol: corev1.ProtocolTCP}))
	w.put(services, service("default", "my-db", "10.96.0.7", corev1.ServicePort{Name: "sql", Port: 5432}, corev1.ServicePort{Name: "dns-x", Port: 53, Protocol: corev1.ProtocolUDP}))
	w.put(services, service("default", "headless", corev1.ClusterIPNone, corev1.ServicePort{Port: 1}))
	w.put(services, service("elsewhere", "far", "10.96.0.9", corev1.ServicePort{Port: 1}))
	got := envOf(t, w, f, func(*corev1.Pod) {})
	want := map[string]string{
		"KUBERNETES_SERVICE_HOST": "10.96.0.1", "KUBERNETES_SERVICE_PORT": "443", "KUBERNETES_SERVICE_PORT_HTTPS": "443",
		"KUBERNETES_PORT": "tcp://10.96.0.1:443", "KUBERNETES_PORT_443_TCP": "tcp://10.96.0.1:443", "KUBERNETES_PORT_443_TCP_PROTO": "tcp",
		"KUBERNETES_PORT_443_TCP_PORT": "443", "KUBERNETES_PORT_443_TCP_ADDR": "10.96.0.1",
		"MY_DB_SERVICE_HOST": "10.96.0.7", "MY_DB_SERVICE_PORT": "5432", "MY_DB_SERVICE_PORT_SQL": "5432", "MY_DB_SERVICE_PORT_DNS_X": "53",
		"MY_DB_PORT": "tcp://10.96.0.7:5432", "MY_DB_PORT_5432_TCP": "tcp://10.96.0.7:5432", "MY_DB_PORT_5432_TCP_PROTO": "tcp",
		"MY_DB_PORT_5432_TCP_PORT": "5432", "MY_DB_PORT_5432_TCP_ADDR": "10.96.0.7",
		"MY_DB_PORT_53_UDP": "udp://10.96.0.7:53", "MY_DB_PORT_53_UDP_PROTO": "udp", "MY_DB_PORT_53_UDP_PORT": "53", "MY_DB_PORT_53_UDP_ADDR": "10.96.0.7",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("variables (-want +got):\n%s", d)
	}
}

// Without service links only default/kubernetes is told of.
func TestNoServiceLinks(t *testing.T) {
	w, f := withFake(t)
	w.put(services, service("default", "kubernetes", "10.96.0.1", corev1.ServicePort{Port: 443}))
	w.put(services, service("default", "db", "10.96.0.7", corev1.ServicePort{Port: 5432}))
	no := false
	got := envOf(t, w, f, func(p *corev1.Pod) { p.Spec.EnableServiceLinks = &no })
	if got["KUBERNETES_SERVICE_HOST"] == "" || got["DB_SERVICE_HOST"] != "" {
		t.Errorf("variables %v", got)
	}
}

// A key that is not there keeps the container from starting.
func TestMissingKey(t *testing.T) {
	w, _ := withFake(t)
	w.put(secrets, secret("s", nil))
	w.put(pods, newPod("e", func(p *corev1.Pod) {
		p.Spec.Containers[0].Env = []corev1.EnvVar{{Name: "X", ValueFrom: &corev1.EnvVarSource{
			SecretKeyRef: &corev1.SecretKeySelector{LocalObjectReference: named("s"), Key: "k"}}}}
	}))
	w.until("e", "config error", func() bool { return w.reason("e") == "CreateContainerConfigError" })
	if !w.told("Warning Failed Error: couldn't find key k in Secret default/s") {
		t.Errorf("events %q", w.events)
	}
	w.put(secrets, secret("s", map[string][]byte{"k": []byte("v")}))
	for _, k := range w.k.Controller().Keys[secrets](view{w}, secretChange(w)) {
		w.woken <- k
	}
	w.until("e", "ready", func() bool { return w.ready("e") })
}

var _ kubelet.FilesUpdater = (*fakeRuntime)(nil)
