// Package batch holds Job and CronJob of batch/v1.
//
// Why this shape: a CronJob is a Job with a clock, so both share the rules of a
// Job's spec (validate_spec.go).
//
// Hardest part: the status of a Job (validate_status.go). Other controllers than
// Kubernetes' own may write it, so each transition is checked, but only
// where something changed: an old object must stay writable.
//
// What can be lost: nothing; everything here is a pure function.
package batch
