package rest_test

import (
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/authentication/user"

	"kuberow/api/apitest"
	"kuberow/api/kinds"
	"kuberow/api/kinds/core"
)

var pods = schema.GroupResource{Resource: "pods"}

func controller(name string) user.Info {
	return &user.DefaultInfo{Name: "system:serviceaccount:kube-system:" + name, Groups: []string{"system:serviceaccounts"}}
}

func benchPod() *corev1.Pod {
	yes := true
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			GenerateName: "web-5d4f8b9c7d-", Namespace: "default",
			Labels: map[string]string{"app": "web", "pod-template-hash": "5d4f8b9c7d"},
			OwnerReferences: []metav1.OwnerReference{{
				APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "web-5d4f8b9c7d", UID: "11111111-1111-1111-1111-111111111111",
				Controller: &yes, BlockOwnerDeletion: &yes,
			}},
		},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{
			Name: "web", Image: "nginx:1.27", Ports: []corev1.ContainerPort{{ContainerPort: 80}},
			Env: []corev1.EnvVar{{Name: "A", Value: "1"}},
		}}},
	}
}

// running gives a pod the status that a kubelet reports.
func running(obj runtime.Object) error {
	p := obj.(*corev1.Pod)
	now := metav1.Now()
	p.Status.Phase = corev1.PodRunning
	p.Status.PodIP, p.Status.HostIP = "10.112.0.7", "10.112.0.1"
	p.Status.PodIPs = []corev1.PodIP{{IP: "10.112.0.7"}}
	p.Status.StartTime = &now
	for _, t := range []corev1.PodConditionType{"PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady"} {
		p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{Type: t, Status: "True", LastTransitionTime: now})
	}
	started := true
	p.Status.ContainerStatuses = []corev1.ContainerStatus{{
		Name: "web", Image: "nginx:1.27", ImageID: "sha256:1", ContainerID: "simulated://1", Ready: true, Started: &started,
		State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: now}},
	}}
	return nil
}

// BenchmarkPodLife is what a thousand replicas cost the API: create, bind and
// a status, from as many goroutines as group commit wants.
func BenchmarkPodLife(b *testing.B) {
	s := apitest.Start(b, core.Resources(), nil)
	s.Warm()
	c := s.Client()
	ctx := b.Context()
	var wg sync.WaitGroup
	work := make(chan int)
	b.ReportAllocs()
	b.ResetTimer()
	for range 64 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for range work {
				obj, err := c.Create(ctx, kinds.Write{User: controller("replicaset-controller"), Agent: "replicaset-controller",
					Resource: pods, Namespace: "default", Object: benchPod()})
				if err != nil {
					b.Error(err)
					continue
				}
				name := obj.(*corev1.Pod).Name
				_, err = c.Create(ctx, kinds.Write{User: controller("kube-scheduler"), Agent: "kube-scheduler", Resource: pods,
					Subresource: "binding", Namespace: "default", Name: name, Object: &corev1.Binding{
						ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default"}, Target: corev1.ObjectReference{Kind: "Node", Name: "node-1"},
					}})
				if err != nil {
					b.Error(err)
				}
				_, err = c.Mutate(ctx, kinds.Write{User: controller("node"), Agent: "kubelet", Resource: pods, Subresource: "status",
					Namespace: "default", Name: name, Mutate: running})
				if err != nil {
					b.Error(err)
				}
			}
		}()
	}
	for i := range b.N {
		work <- i
	}
	close(work)
	wg.Wait()
	b.StopTimer()
	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(3*b.N), "µs/write")
}
