package batch

import (
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/robfig/cron/v3"
	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"kuberow/api/kinds"
	"kuberow/api/kinds/common"
	"kuberow/api/kinds/core"
)

// A CronJob makes Jobs named after it and the minute they were due, so its own
// name has to be shorter than a Job's.

// maxCronJobName leaves room for the eleven characters of -MINUTES.
const maxCronJobName = 52

// zonePart is one part of a time zone's name.
var zonePart = regexp.MustCompile(`^[A-Za-z\.\-_0-9+]{1,14}$`)

func cronJobs() *kinds.Resource {
	parts := common.NewParts(
		func(c *batchv1.CronJob) *batchv1.CronJobSpec { return &c.Spec },
		func(c *batchv1.CronJob) *batchv1.CronJobStatus { return &c.Status })
	strategy := common.Typed[batchv1.CronJob, *batchv1.CronJob]{
		Default: defaultCronJob,
		Drop:    func(c *batchv1.CronJob) { core.DropTemplateFields(&c.Spec.JobTemplate.Spec.Template) },
		PrepareForCreate: func(r *kinds.Context, c *batchv1.CronJob) {
			parts.PrepareForCreate(r, c)
			c.Spec.JobTemplate.Spec.Scheduling = nil
		},
		PrepareForUpdate: func(r *kinds.Context, c, old *batchv1.CronJob) {
			if old.Spec.JobTemplate.Spec.Scheduling == nil {
				c.Spec.JobTemplate.Spec.Scheduling = nil
			}
			parts.PrepareForUpdate(r, c, old)
		},
		Validate: func(_ *kinds.Context, c *batchv1.CronJob) field.ErrorList {
			all := cronJobSpec(&c.Spec, nil)
			if len(c.Name) > maxCronJobName {
				all = append(all, field.Invalid(field.NewPath("metadata", "name"), c.Name, "must be no more than 52 characters"))
			}
			return all
		},
		FreeUpdate: true,
		ValidateUpdate: func(_ *kinds.Context, c, old *batchv1.CronJob) field.ErrorList {
			return cronJobSpec(&c.Spec, &old.Spec)
		},
		Warnings:    cronJobWarnings,
		ResetFields: []string{"status"},
	}
	status := strategy
	status.PrepareForUpdate = parts.PrepareStatus
	status.ValidateUpdate = nil
	status.FreeFinalizers = true
	status.Warnings = nil
	status.ResetFields = []string{"spec"}
	v := common.Version[batchv1.CronJob, batchv1.CronJobList](gvk("CronJob"))
	return single(kinds.Resource{
		Name: "cronjobs", Singular: "cronjob", ShortNames: []string{"cj"}, Categories: []string{"all"},
		Verbs: common.Verbs(), Prefix: "/registry/cronjobs", StorageVersionHash: "sd5LIXh4Fjs=",
		Strategy: strategy.Strategy(), Subresources: []*kinds.Subresource{common.Status(v.GVK, status.Strategy())},
	}, v)
}

func defaultCronJob(c *batchv1.CronJob) {
	s := &c.Spec
	if s.ConcurrencyPolicy == "" {
		s.ConcurrencyPolicy = batchv1.AllowConcurrent
	}
	if s.Suspend == nil {
		s.Suspend = new(false)
	}
	if s.SuccessfulJobsHistoryLimit == nil {
		s.SuccessfulJobsHistoryLimit = new(int32(3))
	}
	if s.FailedJobsHistoryLimit == nil {
		s.FailedJobsHistoryLimit = new(int32(1))
	}
	defaultJobSpecParts(&s.JobTemplate.Spec)
}

func cronJobSpec(s, old *batchv1.CronJobSpec) field.ErrorList {
	path := field.NewPath("spec")
	var all field.ErrorList
	if s.Schedule != "" {
		all = append(all, validateSchedule(s, old, path.Child("schedule"))...)
	}
	optional := func(name string, n *int32) {
		if n != nil {
			all = append(all, common.NonNegative(int64(*n), path.Child(name))...)
		}
	}
	if s.StartingDeadlineSeconds != nil {
		all = append(all, common.NonNegative(*s.StartingDeadlineSeconds, path.Child("startingDeadlineSeconds"))...)
	}
	if old == nil || !common.Equal(old.TimeZone, s.TimeZone) {
		all = append(all, validateTimeZone(s.TimeZone, path.Child("timeZone"))...)
	}
	all = append(all, common.OneOf(s.ConcurrencyPolicy, path.Child("concurrencyPolicy"),
		batchv1.AllowConcurrent, batchv1.ForbidConcurrent, batchv1.ReplaceConcurrent)...)
	all = append(all, jobTemplate(s, path.Child("jobTemplate", "spec"))...)
	optional("successfulJobsHistoryLimit", s.SuccessfulJobsHistoryLimit)
	optional("failedJobsHistoryLimit", s.FailedJobsHistoryLimit)
	if s.Schedule == "" { // upstream generates this rule and runs it after the others
		all = append(all, field.Required(path.Child("schedule"), ""))
	}
	return all
}

func jobTemplate(s *batchv1.CronJobSpec, path *field.Path) field.ErrorList {
	job := &s.JobTemplate.Spec
	all := jobSpecParts(job, path)
	if job.Selector != nil {
		all = append(all, field.Invalid(path.Child("selector"), job.Selector, "`selector` will be auto-generated"))
	}
	if job.ManualSelector != nil && *job.ManualSelector {
		all = append(all, field.NotSupported(path.Child("manualSelector"), job.ManualSelector, []string{"nil", "false"}))
	}
	return all
}

// validateSchedule: a time zone inside the schedule was never meant to work, and stays only where it was.
func validateSchedule(s, old *batchv1.CronJobSpec, path *field.Path) field.ErrorList {
	var all field.ErrorList
	if err := parseSchedule(s.Schedule); err != nil {
		all = append(all, field.Invalid(path, s.Schedule, err.Error()))
	}
	if !strings.Contains(s.Schedule, "TZ") {
		return all
	}
	if old == nil || !strings.Contains(old.Schedule, "TZ") {
		return append(all, field.Invalid(path, s.Schedule, "cannot use TZ or CRON_TZ in schedule, use timeZone field instead"))
	}
	if s.TimeZone != nil {
		all = append(all, field.Invalid(path, s.Schedule, "cannot use both timeZone field and TZ or CRON_TZ in schedule"))
	}
	return all
}

// parseSchedule survives the texts on which the parser panics, such as "TZ=0".
func parseSchedule(schedule string) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("invalid schedule format: %v", r)
		}
	}()
	_, err = cron.ParseStandard(schedule)
	return err
}

func validateTimeZone(zone *string, path *field.Path) field.ErrorList {
	if zone == nil {
		return nil
	}
	if *zone == "" {
		return field.ErrorList{field.Invalid(path, zone, "timeZone must be nil or non-empty string")}
	}
	for _, part := range strings.Split(*zone, "/") {
		if part == "." || part == ".." || strings.HasPrefix(part, "-") || !zonePart.MatchString(part) {
			return field.ErrorList{field.Invalid(path, zone, fmt.Sprintf("unknown time zone %s", *zone))}
		}
	}
	var all field.ErrorList
	if strings.EqualFold(*zone, "Local") {
		all = append(all, field.Invalid(path, zone, "timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones"))
	}
	if _, err := time.LoadLocation(*zone); err != nil {
		all = append(all, field.Invalid(path, zone, err.Error()))
	}
	return all
}

func cronJobWarnings(_ *kinds.Context, c, old *batchv1.CronJob) []string {
	path := field.NewPath("spec", "jobTemplate", "spec")
	if old == nil {
		return append(common.PodNameWarning(c.Name), jobSpecWarnings(&c.Spec.JobTemplate.Spec, path)...)
	}
	var out []string
	if c.Generation != old.Generation {
		out = jobSpecWarnings(&c.Spec.JobTemplate.Spec, path)
	}
	if strings.Contains(c.Spec.Schedule, "TZ") {
		out = append(out, "cannot use TZ or CRON_TZ in spec.spec.schedule, use timeZone instead, see https://kubernetes.io/docs/concepts/workloads/controllers/cron-jobs/ for more details")
	}
	return out
}
