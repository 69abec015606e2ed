package controllers

import (
	"fmt"
	"sort"
	"strconv"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// The pods of a Job: how many it should have, which indexes are missing, and how long to wait after failures.

// manage makes the writes that bring the number of active pods to what it
// should be, and leaves in status.active how many that will be.
func (s *jobStep) manage() []Write {
	active := int32(len(s.active))
	s.status.Active = active
	if s.suspended() {
		return s.deletePods(s.active)
	}
	want := *s.job.Spec.Parallelism
	if s.job.Spec.Completions != nil {
		want = max(0, min(want, *s.job.Spec.Completions-s.succeeded))
	} else if s.succeeded > 0 {
		want = active
	}
	if active > want {
		ranked := append([]*corev1.Pod(nil), s.active...)
		rankForDeletion(ranked, nil, s.now.Time)
		return s.deletePods(ranked[:active-want])
	}
	missing := want - active
	if !s.replacesTerminating() {
		missing -= *s.status.Terminating
	}
	if missing <= 0 {
		return nil
	}
	if until := s.backoff(); until.After(s.now.Time) {
		s.out.again(s.k, until)
		return nil
	}
	return s.createPods(int(min(missing, burst)))
}

// backoff is until when the Job waits after failures in a row.
func (s *jobStep) backoff() time.Time {
	var ends []time.Time
	var lastSuccess time.Time
	for _, p := range s.pods {
		end := endOf(p)
		switch p.Status.Phase {
		case corev1.PodFailed:
			ends = append(ends, end)
		case corev1.PodSucceeded:
			if end.After(lastSuccess) {
				lastSuccess = end
			}
		}
	}
	failures, last := 0, time.Time{}
	for _, end := range ends {
		if end.After(lastSuccess) {
			failures++
			if end.After(last) {
				last = end
			}
		}
	}
	if failures == 0 {
		return time.Time{}
	}
	d := jobBackoffMost
	if failures < 8 {
		d = min(d, jobBackoffFirst<<(failures-1))
	}
	return last.Add(d)
}

// endOf is when the last container of a pod ended.
func endOf(p *corev1.Pod) time.Time {
	end := time.Time{}
	for _, c := range p.Status.ContainerStatuses {
		if c.State.Terminated != nil && c.State.Terminated.FinishedAt.After(end) {
			end = c.State.Terminated.FinishedAt.Time
		}
	}
	if c := podCondition(p, corev1.PodReady); end.IsZero() && c != nil {
		end = c.LastTransitionTime.Time
	}
	if end.IsZero() {
		end = p.CreationTimestamp.Time
	}
	return end
}

// createPods makes the writes for n pods, in doubling batches.
func (s *jobStep) createPods(n int) []Write {
	var free []int
	if s.indexed() {
		free = s.freeIndexes(n)
		n = len(free)
	}
	about := Reference(s.job, jobKind)
	ref := controllerRef(s.job, jobKind)
	var writes []Write
	for size, left := 1, n; left > 0; size *= 2 {
		for i := range min(size, left) {
			p := podFromTemplate(&s.job.Spec.Template, s.job, ref)
			p.Finalizers = append(p.Finalizers, jobFinalizer)
			if s.indexed() {
				giveIndex(p, s.job.Name, free[len(writes)])
			}
			w := creation(s.k, Pods, p)
			w.Beside = i > 0
			w.Ignore = terminating
			w.Done = func(pod runtime.Object) []Write {
				return []Write{record(s.k, "job-controller", about, corev1.EventTypeNormal, "SuccessfulCreate", "Created pod: "+accessor(pod).GetName())}
			}
			w.Failed = func(err error) []Write {
				return []Write{record(s.k, "job-controller", about, corev1.EventTypeWarning, "FailedCreate", "Error creating: "+err.Error())}
			}
			writes = append(writes, w)
		}
		left -= min(size, left)
	}
	s.status.Active += int32(n)
	return writes
}

// deletePods makes the writes that end active pods.
func (s *jobStep) deletePods(pods []*corev1.Pod) []Write {
	about := Reference(s.job, jobKind)
	var writes []Write
	for i, p := range pods {
		w := deletion(s.k, Pods, p)
		w.Beside = i > 0
		w.Done = func(runtime.Object) []Write {
			return []Write{record(s.k, "job-controller", about, corev1.EventTypeNormal, "SuccessfulDelete", "Deleted pod: "+p.Name)}
		}
		writes = append(writes, w)
	}
	s.status.Active = int32(len(s.active) - len(pods))
	return writes
}

// freeIndexes finds the first n indexes that neither are complete nor have a pod.
func (s *jobStep) freeIndexes(n int) []int {
	taken := map[int]bool{}
	for _, p := range s.active {
		if i, ok := completionIndex(p); ok {
			taken[i] = true
		}
	}
	var free []int
	for i := 0; i < int(*s.job.Spec.Completions) && len(free) < n; i++ {
		if !taken[i] && !s.indexes[i] {
			free = append(free, i)
		}
	}
	return free
}

// completionIndex reads a pod's index.
func completionIndex(p *corev1.Pod) (int, bool) {
	i, err := strconv.Atoi(p.Annotations[batchv1.JobCompletionIndexAnnotation])
	return i, err == nil && i >= 0
}

// giveIndex tells a pod its index: as label, annotation, hostname and variable.
func giveIndex(p *corev1.Pod, job string, index int) {
	text := strconv.Itoa(index)
	if p.Labels == nil {
		p.Labels = map[string]string{}
	}
	if p.Annotations == nil {
		p.Annotations = map[string]string{}
	}
	p.Labels[batchv1.JobCompletionIndexAnnotation], p.Annotations[batchv1.JobCompletionIndexAnnotation] = text, text
	p.Spec.Hostname = job + "-" + text
	p.GenerateName = job + "-" + text + "-"
	variable := corev1.EnvVar{Name: "JOB_COMPLETION_INDEX", ValueFrom: &corev1.EnvVarSource{
		FieldRef: &corev1.ObjectFieldSelector{FieldPath: fmt.Sprintf("metadata.labels['%s']", batchv1.JobCompletionIndexAnnotation)},
	}}
	for _, list := range [][]corev1.Container{p.Spec.InitContainers, p.Spec.Containers} {
		for i := range list {
			list[i].Env = append(list[i].Env, variable)
		}
	}
}

// parseIndexes reads "1,3-5".
func parseIndexes(text string) map[int]bool {
	out := map[int]bool{}
	for _, part := range strings.Split(text, ",") {
		from, to, ranged := strings.Cut(part, "-")
		first, err := strconv.Atoi(from)
		if err != nil {
			continue
		}
		last := first
		if ranged {
			if last, err = strconv.Atoi(to); err != nil {
				continue
			}
		}
		for i := first; i <= last; i++ {
			out[i] = true
		}
	}
	return out
}

// formatIndexes writes them so: two in a row are listed, more are a range.
func formatIndexes(set map[int]bool) string {
	all := make([]int, 0, len(set))
	for i := range set {
		all = append(all, i)
	}
	sort.Ints(all)
	var parts []string
	for i := 0; i < len(all); {
		j := i
		for j+1 < len(all) && all[j+1] == all[j]+1 {
			j++
		}
		switch {
		case j == i:
			parts = append(parts, strconv.Itoa(all[i]))
		case j == i+1:
			parts = append(parts, strconv.Itoa(all[i]), strconv.Itoa(all[j]))
		default:
			parts = append(parts, fmt.Sprintf("%d-%d", all[i], all[j]))
		}
		i = j + 1
	}
	return strings.Join(parts, ",")
}
