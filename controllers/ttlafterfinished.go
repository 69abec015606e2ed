package controllers

import (
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// The TTL controller deletes finished Jobs that say how long they want to be kept. Key: a Job. Woken by it.

// TTLAfterFinished is ttl-after-finished-controller.
func TTLAfterFinished() Controller {
	return Controller{
		Name: "ttl-after-finished-controller",
		Keys: keyMap{Jobs: itself},
		Step: func(v View, keys []Key) Outcome {
			var out Outcome
			for _, k := range keys {
				j := get[*batchv1.Job](v, Jobs, k.Namespace, k.Name)
				if j == nil || j.DeletionTimestamp != nil || j.Spec.TTLSecondsAfterFinished == nil {
					continue
				}
				end := jobEnd(j)
				if end.IsZero() {
					continue
				}
				at := end.Add(time.Duration(*j.Spec.TTLSecondsAfterFinished) * time.Second)
				if at.After(v.Now()) {
					out.again(k, at)
					continue
				}
				w := deletion(k, Jobs, j)
				w.Propagation = string(metav1.DeletePropagationForeground)
				out.Writes = append(out.Writes, w)
			}
			return out
		},
	}
}

// jobEnd is when a Job got its final condition; zero while it runs.
func jobEnd(j *batchv1.Job) time.Time {
	for _, c := range j.Status.Conditions {
		if (c.Type == batchv1.JobComplete || c.Type == batchv1.JobFailed) && c.Status == corev1.ConditionTrue {
			return c.LastTransitionTime.Time
		}
	}
	return time.Time{}
}
