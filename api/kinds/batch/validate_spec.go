package batch

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"kuberow/api/kinds"
	"kuberow/api/kinds/common"
	"kuberow/api/kinds/core"
)

// The rules of a Job's spec. jobSpecParts holds for a CronJob's template as well.

const (
	maxIndexedParallelism = 100_000
	maxFailedIndexes      = 100_000
	manyCompletions       = 100_000 // above this, more is asked of a Job with backoffLimitPerIndex
	manyParallel          = 10_000
	manyFailed            = 10_000
	maxManagedBy          = 63
)

func validateJob(_ *kinds.Context, j *batchv1.Job) field.ErrorList {
	all := generatedSelector(j)
	all = append(all, jobSpec(j)...)
	return append(all, podHostnames(j)...)
}

func jobSpec(j *batchv1.Job) field.ErrorList {
	s, path := &j.Spec, field.NewPath("spec")
	all := jobSpecParts(s, path)
	if s.Selector == nil {
		all = append(all, field.Required(path.Child("selector"), ""))
	} else {
		all = append(all, common.LabelSelector(s.Selector, path.Child("selector"))...)
	}
	if selector, err := metav1.LabelSelectorAsSelector(s.Selector); err == nil && !selector.Matches(labels.Set(s.Template.Labels)) {
		all = append(all, field.Invalid(path.Child("template", "metadata", "labels"), s.Template.Labels, "`selector` does not match template `labels`"))
	}
	return all
}

// generatedSelector checks that the user's own labels did not spoil the generated ones.
func generatedSelector(j *batchv1.Job) field.ErrorList {
	if *j.Spec.ManualSelector || j.Spec.Selector == nil {
		return nil
	}
	var all field.ErrorList
	path := field.NewPath("spec", "template", "metadata", "labels")
	want := map[string]string{}
	for _, l := range [][2]string{
		{controllerUID, string(j.UID)}, {jobName, j.Name},
		{batchv1.ControllerUidLabel, string(j.UID)}, {batchv1.JobNameLabel, j.Name},
	} {
		want[l[0]] = l[1]
		if has, set := j.Spec.Template.Labels[l[0]]; !set {
			all = append(all, field.Required(path.Key(l[0]), "must be '"+l[1]+"'"))
		} else if has != l[1] {
			all = append(all, field.Invalid(path.Key(l[0]), j.Spec.Template.Labels, "must be '"+l[1]+"'"))
		}
	}
	if selector, err := metav1.LabelSelectorAsSelector(j.Spec.Selector); err == nil && !selector.Matches(labels.Set(want)) {
		all = append(all, field.Invalid(field.NewPath("spec", "selector"), j.Spec.Selector, "`selector` not auto-generated"))
	}
	return all
}

// podHostnames: the pods of an indexed Job are called NAME-INDEX, which must be a hostname.
func podHostnames(j *batchv1.Job) field.ErrorList {
	if !indexed(&j.Spec) || j.Spec.Completions == nil || *j.Spec.Completions <= 0 {
		return nil
	}
	last := fmt.Sprintf("%s-%d", j.Name, *j.Spec.Completions-1)
	if len(validation.IsDNS1123Label(last)) == 0 {
		return nil
	}
	return field.ErrorList{field.Invalid(field.NewPath("metadata", "name"), j.Name, "will not able to create pod with invalid DNS label: "+last)}
}

func jobSpecParts(s *batchv1.JobSpec, path *field.Path) field.ErrorList {
	all := jobNumbers(s, path)
	if s.ManagedBy != nil {
		all = append(all, validation.IsDomainPrefixedPath(path.Child("managedBy"), *s.ManagedBy)...)
		all = append(all, common.MaxBytes(*s.ManagedBy, maxManagedBy, path.Child("managedBy"))...)
	}
	if m := s.CompletionMode; m != nil {
		if *m != batchv1.NonIndexedCompletion && *m != batchv1.IndexedCompletion {
			all = append(all, field.NotSupported(path.Child("completionMode"), m, []batchv1.CompletionMode{batchv1.NonIndexedCompletion, batchv1.IndexedCompletion}))
		}
		if indexed(s) {
			all = append(all, indexedNumbers(s, path)...)
		}
	}
	if s.CompletionMode == nil || *s.CompletionMode == batchv1.NonIndexedCompletion {
		if s.BackoffLimitPerIndex != nil {
			all = append(all, field.Invalid(path.Child("backoffLimitPerIndex"), *s.BackoffLimitPerIndex, "requires indexed completion mode"))
		}
		if s.MaxFailedIndexes != nil {
			all = append(all, field.Invalid(path.Child("maxFailedIndexes"), *s.MaxFailedIndexes, "requires indexed completion mode"))
		}
	}
	all = append(all, jobPolicies(s, path)...)
	all = append(all, core.ValidatePodTemplateSpec(&s.Template, path.Child("template"))...)
	return append(all, jobRestartPolicy(s, path.Child("template", "spec", "restartPolicy"))...)
}

func jobNumbers(s *batchv1.JobSpec, path *field.Path) field.ErrorList {
	var all field.ErrorList
	number := func(name string, n *int32) {
		if n != nil {
			all = append(all, common.NonNegative(int64(*n), path.Child(name))...)
		}
	}
	number("parallelism", s.Parallelism)
	number("completions", s.Completions)
	if s.ActiveDeadlineSeconds != nil {
		all = append(all, common.NonNegative(*s.ActiveDeadlineSeconds, path.Child("activeDeadlineSeconds"))...)
	}
	number("backoffLimit", s.BackoffLimit)
	number("ttlSecondsAfterFinished", s.TTLSecondsAfterFinished)
	number("backoffLimitPerIndex", s.BackoffLimitPerIndex)
	number("maxFailedIndexes", s.MaxFailedIndexes)
	if s.MaxFailedIndexes != nil && s.BackoffLimitPerIndex == nil {
		all = append(all, field.Required(path.Child("backoffLimitPerIndex"), "when maxFailedIndexes is specified"))
	}
	return all
}

func indexedNumbers(s *batchv1.JobSpec, path *field.Path) field.ErrorList {
	var all field.ErrorList
	parallel, failed := path.Child("parallelism"), path.Child("maxFailedIndexes")
	if s.Completions == nil {
		all = append(all, field.Required(path.Child("completions"), "when completion mode is Indexed"))
	}
	if s.Parallelism != nil && *s.Parallelism > maxIndexedParallelism {
		all = append(all, field.Invalid(parallel, *s.Parallelism, fmt.Sprintf("must be less than or equal to %d when completion mode is Indexed", maxIndexedParallelism)))
	}
	if s.Completions != nil && s.MaxFailedIndexes != nil && *s.MaxFailedIndexes > *s.Completions {
		all = append(all, field.Invalid(failed, *s.MaxFailedIndexes, "must be less than or equal to completions"))
	}
	if s.MaxFailedIndexes != nil && *s.MaxFailedIndexes > maxFailedIndexes {
		all = append(all, field.Invalid(failed, *s.MaxFailedIndexes, fmt.Sprintf("must be less than or equal to %d", maxFailedIndexes)))
	}
	if s.Completions == nil || *s.Completions <= manyCompletions || s.BackoffLimitPerIndex == nil {
		return all
	}
	const limit = "must be less than or equal to %d when completions are above %d and used with backoff limit per index"
	if s.MaxFailedIndexes == nil {
		all = append(all, field.Required(failed, fmt.Sprintf("must be specified when completions is above %d", manyCompletions)))
	}
	if s.Parallelism != nil && *s.Parallelism > manyParallel {
		all = append(all, field.Invalid(parallel, *s.Parallelism, fmt.Sprintf(limit, manyParallel, manyCompletions)))
	}
	if s.MaxFailedIndexes != nil && *s.MaxFailedIndexes > manyFailed {
		all = append(all, field.Invalid(failed, *s.MaxFailedIndexes, fmt.Sprintf(limit, manyFailed, manyCompletions)))
	}
	return all
}

func jobRestartPolicy(s *batchv1.JobSpec, path *field.Path) field.ErrorList {
	policy := s.Template.Spec.RestartPolicy
	switch {
	case policy == corev1.RestartPolicyAlways || policy == "":
		return field.ErrorList{field.Required(path, fmt.Sprintf("valid values: %q, %q", corev1.RestartPolicyOnFailure, corev1.RestartPolicyNever))}
	case policy != corev1.RestartPolicyOnFailure && policy != corev1.RestartPolicyNever:
		return field.ErrorList{field.NotSupported(path, policy, []corev1.RestartPolicy{corev1.RestartPolicyOnFailure, corev1.RestartPolicyNever})}
	case s.PodFailurePolicy != nil && policy != corev1.RestartPolicyNever:
		return field.ErrorList{field.Invalid(path, policy, fmt.Sprintf("only %q is supported when podFailurePolicy is specified", corev1.RestartPolicyNever))}
	}
	return nil
}

func validateJobUpdate(_ *kinds.Context, j, old *batchv1.Job) field.ErrorList {
	path := field.NewPath("spec")
	s, was := &j.Spec, &old.Spec
	all := jobSpec(j)
	all = append(all, changedCompletions(s, was, path.Child("completions"))...)
	all = append(all, common.Immutable(s.Selector, was.Selector, path.Child("selector"))...)
	all = append(all, changedTemplate(j, old, path)...)
	all = append(all, common.Immutable(s.CompletionMode, was.CompletionMode, path.Child("completionMode"))...)
	all = append(all, common.Immutable(s.PodFailurePolicy, was.PodFailurePolicy, path.Child("podFailurePolicy"))...)
	all = append(all, common.Immutable(s.BackoffLimitPerIndex, was.BackoffLimitPerIndex, path.Child("backoffLimitPerIndex"))...)
	all = append(all, common.Immutable(s.ManagedBy, was.ManagedBy, path.Child("managedBy"))...)
	all = append(all, common.Immutable(s.SuccessPolicy, was.SuccessPolicy, path.Child("successPolicy"))...)
	return append(all, podHostnames(j)...)
}

// changedCompletions: only an indexed Job may be scaled, both numbers together.
func changedCompletions(s, old *batchv1.JobSpec, path *field.Path) field.ErrorList {
	if !indexed(s) {
		return common.Immutable(s.Completions, old.Completions, path)
	}
	if common.Equal(s.Completions, old.Completions) || s.Completions == nil || *s.Completions == *s.Parallelism {
		return nil
	}
	return field.ErrorList{field.Invalid(path, s.Completions, "can only be modified in tandem with spec.parallelism")}
}

// changedTemplate: while a Job is suspended and has no pods, where and with how much its pods
// run may change (queueing controllers do that); otherwise nothing may.
func changedTemplate(j, old *batchv1.Job, path *field.Path) field.ErrorList {
	template, was := &j.Spec.Template, old.Spec.Template.DeepCopy()
	if !mayPlace(old) {
		return common.Immutable(*template, *was, path.Child("template"))
	}
	placeLike(&was.Spec, &template.Spec)
	was.Annotations, was.Labels = template.Annotations, template.Labels
	for _, lists := range [][2][]corev1.Container{
		{was.Spec.Containers, template.Spec.Containers}, {was.Spec.InitContainers, template.Spec.InitContainers},
	} {
		for i := range lists[0] {
			if len(lists[0]) == len(lists[1]) && lists[0][i].Name == lists[1][i].Name {
				lists[0][i].Resources = lists[1][i].Resources
			}
		}
	}
	return common.Immutable(template.Spec, was.Spec, path.Child("template.spec"))
}

func mayPlace(old *batchv1.Job) bool {
	suspended := old.Spec.Suspend != nil && *old.Spec.Suspend
	return suspended && old.Status.Active == 0 && (old.Status.StartTime == nil || isTrue(old, batchv1.JobSuspended))
}

// placeLike gives was what may have changed in a suspended Job's pods.
func placeLike(was, now *corev1.PodSpec) {
	switch {
	case now.Affinity == nil && was.Affinity != nil:
		was.Affinity.NodeAffinity = nil
		if *was.Affinity == (corev1.Affinity{}) {
			was.Affinity = nil
		}
	case now.Affinity != nil && was.Affinity == nil:
		was.Affinity = &corev1.Affinity{NodeAffinity: now.Affinity.NodeAffinity}
	case now.Affinity != nil:
		was.Affinity.NodeAffinity = now.Affinity.NodeAffinity
	}
	was.NodeSelector, was.Tolerations, was.SchedulingGates = now.NodeSelector, now.Tolerations, now.SchedulingGates
}

// indexList parses 1,3-5,7 and counts what it names.
func indexList(text string, completions int32) (int32, error) {
	if text == "" {
		return 0, nil
	}
	var total int32
	last := int32(-1)
	for i, part := range strings.Split(text, ",") {
		x, y, err := indexRange(part, completions)
		if err != nil {
			return 0, err
		}
		if i > 0 && last >= x {
			return 0, fmt.Errorf("non-increasing order, previous: %d, current: %d", last, x)
		}
		total += y - x + 1
		last = y
	}
	return total, nil
}

func indexRange(text string, completions int32) (int32, int32, error) {
	ends := strings.Split(text, "-")
	if len(ends) > 2 {
		return 0, 0, fmt.Errorf("the fragment %q violates the requirement that an index interval can have at most two parts separated by '-'", text)
	}
	var out []int
	for _, end := range ends {
		n, err := strconv.Atoi(end)
		if err != nil {
			return 0, 0, fmt.Errorf("cannot convert string to integer for index: %q", end)
		}
		if n >= int(completions) {
			return 0, 0, fmt.Errorf("too large index: %q", end)
		}
		out = append(out, n)
	}
	if len(out) == 2 && out[0] >= out[1] {
		return 0, 0, fmt.Errorf("non-increasing order, previous: %d, current: %d", out[0], out[1])
	}
	return int32(out[0]), int32(slices.Max(out)), nil
}
