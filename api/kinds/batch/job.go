package batch

import (
	"fmt"
	"math"
	"strconv"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"kuberow/api/kinds"
	"kuberow/api/kinds/common"
	"kuberow/api/kinds/core"
	"kuberow/sqlstore"
)

// A Job selects its pods by its own UID, unless manualSelector says otherwise, so
// that no two Jobs ever fight over a pod. PrepareForCreate needs the UID and the
// generated name to be set.

// The labels that tie a pod to its Job; the ones without a prefix are of old.
const (
	controllerUID = "controller-uid"
	jobName       = "job-name"
)

func jobs() *kinds.Resource {
	parts := common.NewParts(
		func(j *batchv1.Job) *batchv1.JobSpec { return &j.Spec },
		func(j *batchv1.Job) *batchv1.JobStatus { return &j.Status })
	strategy := common.Typed[batchv1.Job, *batchv1.Job]{
		Default: defaultJob,
		Drop:    func(j *batchv1.Job) { core.DropTemplateFields(&j.Spec.Template) },
		PrepareForCreate: func(r *kinds.Context, j *batchv1.Job) {
			if !*j.Spec.ManualSelector {
				generateSelector(j)
			}
			parts.PrepareForCreate(r, j)
			j.Spec.Scheduling = nil // an alpha feature, off here as it is upstream
		},
		PrepareForUpdate: func(r *kinds.Context, j, old *batchv1.Job) {
			if old.Spec.Scheduling == nil {
				j.Spec.Scheduling = nil
			}
			parts.PrepareForUpdate(r, j, old)
		},
		Canonicalize:   labelJob,
		Validate:       validateJob,
		FreeUpdate:     true,
		ValidateUpdate: validateJobUpdate,
		Warnings:       jobWarnings,
		FieldNames:     []string{"status.successful"},
		UnknownField: func(_ schema.GroupVersionKind, name string) error {
			return fmt.Errorf("field label %q not supported for Job", name)
		},
		Fields: func(j *batchv1.Job) []sqlstore.Pair {
			return common.Pairs("status.successful", strconv.Itoa(int(j.Status.Succeeded)))
		},
		ResetFields: []string{"status"},
	}
	status := strategy
	status.PrepareForUpdate = parts.PrepareStatus
	status.ValidateUpdate = validateJobStatus
	status.Warnings = nil
	status.ResetFields = []string{"spec"}
	v := common.Version[batchv1.Job, batchv1.JobList](gvk("Job"))
	return single(kinds.Resource{
		Name: "jobs", Singular: "job", Propagation: kinds.OrphanDependents,
		DeleteWarning: "child pods are preserved by default when jobs are deleted; set propagationPolicy=Background to remove them or set propagationPolicy=Orphan to suppress this warning",
		Categories:    []string{"all"},
		Verbs:         common.Verbs(), Prefix: "/registry/jobs", StorageVersionHash: "mudhfqk/qZY=",
		Strategy: strategy.Strategy(), Subresources: []*kinds.Subresource{common.Status(v.GVK, status.Strategy())},
	}, v)
}

func defaultJob(j *batchv1.Job) {
	s := &j.Spec
	if s.Completions == nil && s.Parallelism == nil {
		s.Completions = new(int32(1))
	}
	if s.Parallelism == nil {
		s.Parallelism = new(int32(1))
	}
	if s.BackoffLimit == nil {
		s.BackoffLimit = new(int32(6))
		if s.BackoffLimitPerIndex != nil {
			s.BackoffLimit = new(int32(math.MaxInt32))
		}
	}
	labelJob(j)
	if s.CompletionMode == nil {
		s.CompletionMode = new(batchv1.NonIndexedCompletion)
	}
	if s.Suspend == nil {
		s.Suspend = new(false)
	}
	if s.PodReplacementPolicy == nil {
		s.PodReplacementPolicy = new(batchv1.TerminatingOrFailed)
		if s.PodFailurePolicy != nil {
			s.PodReplacementPolicy = new(batchv1.Failed)
		}
	}
	if s.ManualSelector == nil {
		s.ManualSelector = new(false)
	}
	defaultJobSpecParts(s)
}

// defaultJobSpecParts is what a Job and a CronJob's template both get.
func defaultJobSpecParts(s *batchv1.JobSpec) {
	if s.PodFailurePolicy != nil {
		for i := range s.PodFailurePolicy.Rules {
			conditions := s.PodFailurePolicy.Rules[i].OnPodConditions
			for j := range conditions {
				if conditions[j].Status == "" {
					conditions[j].Status = corev1.ConditionTrue
				}
			}
		}
	}
	core.DefaultPodTemplate(&s.Template)
}

// labelJob gives a Job without labels those of its template. It is one map and not a copy, so
// that the labels generated later are the Job's too; a Job that has labels does not get those.
func labelJob(j *batchv1.Job) {
	if t := j.Spec.Template.Labels; t != nil && len(j.Labels) == 0 {
		j.Labels = t
	}
}

// generateSelector leaves labels that the user wrote alone: validation refuses wrong ones.
func generateSelector(j *batchv1.Job) {
	t := &j.Spec.Template
	if t.Labels == nil {
		t.Labels = map[string]string{}
	}
	for key, value := range map[string]string{
		jobName: j.Name, batchv1.JobNameLabel: j.Name,
		controllerUID: string(j.UID), batchv1.ControllerUidLabel: string(j.UID),
	} {
		if _, set := t.Labels[key]; !set {
			t.Labels[key] = value
		}
	}
	if j.Spec.Selector == nil {
		j.Spec.Selector = &metav1.LabelSelector{}
	}
	if j.Spec.Selector.MatchLabels == nil {
		j.Spec.Selector.MatchLabels = map[string]string{}
	}
	if _, set := j.Spec.Selector.MatchLabels[batchv1.ControllerUidLabel]; !set {
		j.Spec.Selector.MatchLabels[batchv1.ControllerUidLabel] = string(j.UID)
	}
}

func jobWarnings(_ *kinds.Context, j, old *batchv1.Job) []string {
	path := field.NewPath("spec")
	if old == nil {
		return append(common.PodNameWarning(j.Name), jobSpecWarnings(&j.Spec, path)...)
	}
	if j.Generation == old.Generation {
		return nil
	}
	return jobSpecWarnings(&j.Spec, path)
}

func jobSpecWarnings(s *batchv1.JobSpec, path *field.Path) []string {
	var out []string
	if indexed(s) && s.Completions != nil && *s.Completions > manyCompletions && s.Parallelism != nil && *s.Parallelism > manyParallel {
		out = append(out, fmt.Sprintf("%s: In Indexed Jobs with a number of completions higher than 10^5 and a parallelism higher than 10^4, Kubernetes might not be able to track completedIndexes when a big number of indexes fail", path))
	}
	return append(out, core.PodTemplateWarnings(&s.Template, path.Child("template"))...)
}

func indexed(s *batchv1.JobSpec) bool {
	return s.CompletionMode != nil && *s.CompletionMode == batchv1.IndexedCompletion
}
