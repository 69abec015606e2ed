package core

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"kuberow/api/kinds"
	"kuberow/api/kinds/common/kindtest"
)

func TestPodsThatAreRefused(t *testing.T) {
	disk := corev1.VolumeSource{
		GCEPersistentDisk: &corev1.GCEPersistentDiskVolumeSource{}, CephFS: &corev1.CephFSVolumeSource{}, DownwardAPI: &corev1.DownwardAPIVolumeSource{},
	}
	claim := corev1.VolumeSource{Ephemeral: &corev1.EphemeralVolumeSource{VolumeClaimTemplate: &corev1.PersistentVolumeClaimTemplate{}}}
	claim.Ephemeral.VolumeClaimTemplate.Name = "x"
	for _, c := range []struct {
		name   string
		change func(p *corev1.Pod)
		want   []string
	}{
		{"paths of volume types that are not their fields", func(p *corev1.Pod) { p.Spec.Volumes = []corev1.Volume{{Name: "v", VolumeSource: disk}} }, []string{
			"spec.volumes[0].persistentDisk.pdName: Required value",
			"spec.volumes[0].cephFS: Forbidden: may not specify more than 1 volume type",
			"spec.volumes[0].downwarAPI: Forbidden: may not specify more than 1 volume type",
		}},
		{"a name for an ephemeral claim", func(p *corev1.Pod) { p.Spec.Volumes = []corev1.Volume{{Name: "v", VolumeSource: claim}} }, []string{
			"spec.volumes[0].ephemeral.volumeClaimTemplate.metadata.name: Forbidden: cannot be set",
			"spec.volumes[0].ephemeral.volumeClaimTemplate.spec.accessModes: Required value: at least 1 access mode is required",
			"spec.volumes[0].ephemeral.volumeClaimTemplate.spec.resources[storage]: Required value",
		}},
		{"rules without a policy are not looked at in init containers", func(p *corev1.Pod) {
			p.Spec.InitContainers = []corev1.Container{{Name: "i", Image: "i", RestartPolicyRules: make([]corev1.ContainerRestartRule, 30)}}
		}, []string{"spec.initContainers[0].restartPolicy: Required value: must specify restartPolicy when restart rules are used"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := examplePod()
			c.change(p)
			if d := cmp.Diff(c.want, kindtest.Create(new(kindtest.Cluster).Context(), pods().Strategy, p)); d != "" {
				t.Errorf("(-want +got)\n%s", d)
			}
		})
	}
}

func TestFieldsOfFeaturesThatAreOffAreDropped(t *testing.T) {
	p := examplePod()
	p.Spec.EvictionResponders = []corev1.EvictionResponder{{Name: "x"}}
	p.Spec.Containers[0].Lifecycle = &corev1.Lifecycle{StopSignal: new(corev1.SIGTERM)}
	pods().Strategy.Default(p)
	if p.Spec.EvictionResponders == nil {
		t.Error("dropped before managedFields are computed, which name them")
	}
	if faults := kindtest.Create(new(kindtest.Cluster).Context(), pods().Strategy, p); faults != nil {
		t.Fatal(faults)
	}
	if p.Spec.EvictionResponders != nil || p.Spec.Containers[0].Lifecycle != nil {
		t.Errorf("kept: %v %v", p.Spec.EvictionResponders, p.Spec.Containers[0].Lifecycle)
	}
}

func TestOwnersOfFilesAreDroppedFromEachSource(t *testing.T) {
	user := new(int64(5))
	v := corev1.Volume{VolumeSource: corev1.VolumeSource{
		EmptyDir:  &corev1.EmptyDirVolumeSource{},
		ConfigMap: &corev1.ConfigMapVolumeSource{DefaultUser: user, Items: []corev1.KeyToPath{{Key: "k", User: user}}},
	}}
	dropVolumeFields(&v)
	if v.ConfigMap.DefaultUser != nil || v.ConfigMap.Items[0].User != nil {
		t.Errorf("kept: %+v", v.ConfigMap)
	}
}

func TestPodStatusesThatAreRefused(t *testing.T) {
	old := createdPod(t)
	var status *kinds.Strategy
	for _, s := range pods().Subresources {
		if s.Name == "status" {
			status = s.Strategy
		}
	}
	health := []corev1.ResourceStatus{{Name: "example.com/gpu", Resources: []corev1.ResourceHealth{{Health: "Fine"}}}}
	for _, c := range []struct {
		name   string
		change func(s *corev1.PodStatus)
		want   []string
	}{
		{"a device that was not asked for", func(s *corev1.PodStatus) {
			s.ContainerStatuses = []corev1.ContainerStatus{{Name: "c", AllocatedResourcesStatus: health}}
			s.EphemeralContainerStatuses = s.ContainerStatuses
		}, []string{
			`status.containerStatuses[0].allocatedResourcesStatus[0].name: Invalid value: "example.com/gpu": must match one of the container's resource requests`,
			`status.containerStatuses[0].allocatedResourcesStatus[0].resources[0].health: Unsupported value: "Fine": supported values: "Healthy", "Unhealthy", "Unknown"`,
			`status.ephemeralContainerStatuses[0].allocatedResourcesStatus: Forbidden: must not be specified in container status`,
		}},
		{"a user beyond uid_t", func(s *corev1.PodStatus) {
			s.ContainerStatuses = []corev1.ContainerStatus{{Name: "c", User: &corev1.ContainerUser{Linux: &corev1.LinuxContainerUser{UID: 1 << 32, GID: 1 << 31}}}}
		}, []string{
			`status.containerStatuses[0].user.linux.uid: Invalid value: 4294967296: must be between 0 and 4294967295, inclusive`,
			`status.containerStatuses[0].user.linux.gid: Invalid value: 2147483648: must be between 0 and 2147483647, inclusive`,
		}},
		{"an address that is none", func(s *corev1.PodStatus) {
			s.PodIP, s.PodIPs = "10.0.0.1", []corev1.PodIP{{IP: "10.0.0.1"}, {IP: "x"}}
		}, []string{
			`status.podIPs[1]: Invalid value: "x": must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)`,
			`status.podIPs: Internal error: failed to check for dual stack with error:invalid IP[1]: x`,
			`status.podIPs: Invalid value: [{"IP":"10.0.0.1"},{"IP":"x"}]: may specify no more than one IP for each IP family`,
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := old.DeepCopy()
			c.change(&p.Status)
			if d := cmp.Diff(c.want, kindtest.Update(new(kindtest.Cluster).Context(), status, p, old)); d != "" {
				t.Errorf("(-want +got)\n%s", d)
			}
		})
	}
}
