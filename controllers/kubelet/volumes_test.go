package kubelet_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kuberow/controllers"
	"kuberow/controllers/kubelet"
)

func change(w *world, gr schema.GroupResource, name string) controllers.Object {
	o, _ := w.read(gr, "default", name)
	return controllers.Object{Resource: gr, Now: o}
}

func secretChange(w *world) controllers.Object { return change(w, secrets, "s") }

// wake does what the runner does when a config map or secret changed.
func (w *world) wake(gr schema.GroupResource, name string) {
	for _, k := range w.k.Controller().Keys[gr](view{w}, change(w, gr, name)) {
		w.woken <- k
	}
}

func mode(m int32) *int32 { return &m }

// withVolumes mounts every volume at /its-name.
func withVolumes(volumes ...corev1.Volume) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Spec.Volumes = volumes
		for _, v := range volumes {
			p.Spec.Containers[0].VolumeMounts = append(p.Spec.Containers[0].VolumeMounts, corev1.VolumeMount{Name: v.Name, MountPath: "/" + v.Name})
		}
	}
}

func volume(name string, s corev1.VolumeSource) corev1.Volume {
	return corev1.Volume{Name: name, VolumeSource: s}
}

// files are a mount's, as path:mode:content.
func files(m kubelet.Mount) []string {
	var out []string
	for _, f := range m.Files {
		out = append(out, fmt.Sprintf("%s:%o:%s", f.Path, f.Mode, f.Data))
	}
	return out
}

// Every kind of volume resolves to what the runtime can mount.
func TestVolumes(t *testing.T) {
	w, f := withFake(t)
	dir := t.TempDir()
	w.put(configMaps, configMap("m", map[string]string{"a": "1", "b": "2"}))
	w.put(secrets, secret("s", map[string][]byte{"key": []byte("pw")}))
	claims, volumes := schema.GroupResource{Resource: "persistentvolumeclaims"}, schema.GroupResource{Resource: "persistentvolumes"}
	w.put(claims, &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "c"},
		Spec: corev1.PersistentVolumeClaimSpec{VolumeName: "pv"}, Status: corev1.PersistentVolumeClaimStatus{Phase: corev1.ClaimBound}})
	w.put(volumes, &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: "pv"},
		Spec: corev1.PersistentVolumeSpec{PersistentVolumeSource: corev1.PersistentVolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/data"}}}})
	yes, create := true, corev1.HostPathDirectoryOrCreate
	w.put(pods, newPod("v", func(p *corev1.Pod) { p.Labels = map[string]string{"app": "web"} }, withVolumes(
		volume("map", corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: named("m"), DefaultMode: mode(0o600)}}),
		volume("items", corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: named("m"), DefaultMode: mode(0o644),
			Items: []corev1.KeyToPath{{Key: "b", Path: "sub/b", Mode: mode(0o400)}}}}),
		volume("secret", corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: "s", DefaultMode: mode(0o644)}}),
		volume("optional", corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: "none", Optional: &yes}}),
		volume("empty", corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}),
		volume("host", corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: filepath.Join(dir, "new"), Type: &create}}),
		volume("claim", corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "c", ReadOnly: true}}),
		volume("down", corev1.VolumeSource{DownwardAPI: &corev1.DownwardAPIVolumeSource{DefaultMode: mode(0o644), Items: []corev1.DownwardAPIVolumeFile{
			{Path: "labels", FieldRef: &corev1.ObjectFieldSelector{FieldPath: "metadata.labels"}}}}}),
	)))
	w.until("v", "ready", func() bool { return w.ready("v") })
	got := map[string]kubelet.Mount{}
	for _, m := range f.config("c").Mounts {
		got[m.Volume] = m
	}
	for name, want := range map[string][]string{
		"map": {"a:600:1", "b:600:2"}, "items": {"sub/b:400:2"}, "secret": {"key:644:pw"}, "down": {`labels:644:app="web"`}, "optional": nil,
	} {
		if d := cmp.Diff(want, files(got[name])); d != "" {
			t.Errorf("volume %s (-want +got):\n%s", name, d)
		}
		if got[name].Files == nil || got[name].Path != "/"+name || !got[name].ReadOnly {
			t.Errorf("volume %s: %+v", name, got[name])
		}
	}
	if got["empty"].EmptyDir == nil || got["empty"].ReadOnly {
		t.Errorf("emptyDir: %+v", got["empty"])
	}
	if info, err := os.Stat(got["host"].HostPath); err != nil || !info.IsDir() {
		t.Errorf("hostPath was not made: %v", err)
	}
	if m := got["claim"]; m.HostPath != "/data" || !m.ReadOnly {
		t.Errorf("claim: %+v", m)
	}
}

// A pod waits for a config map that is not there, says so, and starts when it comes.
func TestMissingVolume(t *testing.T) {
	w, f := withFake(t)
	w.put(pods, newPod("v", withVolumes(volume("conf", corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: named("m")}}))))
	w.rest("v")
	if got := w.reason("v"); got != "ContainerCreating" {
		t.Errorf("waits for %q", got)
	}
	if !w.told(`Warning FailedMount MountVolume.SetUp failed for volume "conf" : configmap "m" not found`) {
		t.Errorf("events %q", w.events)
	}
	if calls := f.did(); len(calls) != 0 {
		t.Errorf("calls before the volumes are there: %q", calls)
	}
	w.put(configMaps, configMap("m", map[string]string{"a": "1"}))
	w.wake(configMaps, "m")
	w.until("v", "ready", func() bool { return w.ready("v") })
}

// What cannot be mounted says why.
func TestUnmountable(t *testing.T) {
	w, _ := withFake(t)
	dir := t.TempDir()
	file := corev1.HostPathFile
	for name, c := range map[string]struct {
		source corev1.VolumeSource
		want   string
	}{
		"nfs":  {corev1.VolumeSource{NFS: &corev1.NFSVolumeSource{}}, "unsupported volume type nfs"},
		"host": {corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: dir, Type: &file}}, "hostPath type check failed: " + dir + " is not a file"},
		"pvc":  {corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "x"}}, `error getting PVC default/x: persistentvolumeclaim "x" not found`},
		"keys": {corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: named("m"), Items: []corev1.KeyToPath{{Key: "z", Path: "z"}}}}, "configmap references non-existent config key: z"},
	} {
		w.put(configMaps, configMap("m", nil))
		w.put(pods, newPod(name, withVolumes(volume("v", c.source))))
		w.rest(name)
		if want := `Warning FailedMount MountVolume.SetUp failed for volume "v" : ` + c.want; !w.told(want) {
			t.Errorf("no %q in %q", want, w.events)
		}
	}
}

// The files of a running pod follow their config map.
func TestFilesFollow(t *testing.T) {
	w, f := withFake(t)
	w.put(configMaps, configMap("m", map[string]string{"a": "1"}))
	w.put(pods, newPod("v", withVolumes(volume("conf", corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: named("m")}}))))
	w.until("v", "ready", func() bool { return w.ready("v") })
	w.put(configMaps, configMap("m", map[string]string{"a": "2"}))
	w.wake(configMaps, "m")
	w.until("v", "update", func() bool {
		f.mu.Lock()
		defer f.mu.Unlock()
		return slices.Contains(f.updated, "conf=a:2")
	})
}

// A service account token is bound to its pod, and renewed when 80 % of its life is over.
func TestTokens(t *testing.T) {
	var asked []string
	n := 0
	w := newWorld(t)
	f := newFake(w.clock)
	w.start(f, func(c *kubelet.Config) {
		c.Tokens = func(_ context.Context, namespace, account string, tr *authenticationv1.TokenRequest) (*authenticationv1.TokenRequest, error) {
			n++
			ref := tr.Spec.BoundObjectRef
			asked = append(asked, fmt.Sprintf("%s/%s %v %s/%s/%s", namespace, account, tr.Spec.Audiences, ref.Kind, ref.Name, ref.UID))
			out := tr.DeepCopy()
			out.Status = authenticationv1.TokenRequestStatus{Token: fmt.Sprint("token ", n), ExpirationTimestamp: metav1.NewTime(w.clock.Now().Add(time.Hour))}
			return out, nil
		}
	})
	hour := int64(3600)
	w.put(pods, newPod("v", func(p *corev1.Pod) { p.Spec.ServiceAccountName = "robot" },
		withVolumes(volume("tok", corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{Sources: []corev1.VolumeProjection{
			{ServiceAccountToken: &corev1.ServiceAccountTokenProjection{Path: "token", Audience: "me", ExpirationSeconds: &hour}},
			{DownwardAPI: &corev1.DownwardAPIProjection{Items: []corev1.DownwardAPIVolumeFile{{Path: "namespace", FieldRef: &corev1.ObjectFieldSelector{FieldPath: "metadata.namespace"}}}}},
		}}}))))
	w.until("v", "ready", func() bool { return w.ready("v") })
	if d := cmp.Diff([]string{"namespace:644:default", "token:644:token 1"}, files(f.config("c").Mounts[0])); d != "" {
		t.Errorf("files (-want +got):\n%s", d)
	}
	w.pass("v", 47*time.Minute)
	if n != 1 {
		t.Fatalf("%d tokens after 47 minutes", n)
	}
	w.pass("v", 2*time.Minute)
	if !slices.Contains(f.updated, "tok=token:token 2") {
		t.Errorf("updates %q", f.updated)
	}
	if d := cmp.Diff([]string{"default/robot [me] Pod/v/v-uid", "default/robot [me] Pod/v/v-uid"}, asked); d != "" {
		t.Errorf("requests (-want +got):\n%s", d)
	}
}

// subPath and subPathExpr are resolved, and cannot leave the volume.
func TestSubPath(t *testing.T) {
	w, f := withFake(t)
	w.put(pods, newPod("s", func(p *corev1.Pod) {
		p.Spec.Volumes = []corev1.Volume{volume("e", corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}})}
		c := &p.Spec.Containers[0]
		c.Env = []corev1.EnvVar{{Name: "POD", ValueFrom: fieldRef("metadata.name")}}
		c.VolumeMounts = []corev1.VolumeMount{{Name: "e", MountPath: "/a", SubPath: "x/y"}, {Name: "e", MountPath: "/b", SubPathExpr: "$(POD)/z"}}
	}))
	w.until("s", "ready", func() bool { return w.ready("s") })
	var got []string
	for _, m := range f.config("c").Mounts {
		got = append(got, m.Path+"="+m.SubPath)
	}
	if d := cmp.Diff([]string{"/a=x/y", "/b=s/z"}, got); d != "" {
		t.Errorf("mounts (-want +got):\n%s", d)
	}
	w.put(pods, newPod("bad", func(p *corev1.Pod) {
		p.Spec.Volumes = []corev1.Volume{volume("e", corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}})}
		p.Spec.Containers[0].VolumeMounts = []corev1.VolumeMount{{Name: "e", MountPath: "/a", SubPath: "../x"}}
	}))
	w.until("bad", "config error", func() bool { return w.reason("bad") == "CreateContainerConfigError" })
}
