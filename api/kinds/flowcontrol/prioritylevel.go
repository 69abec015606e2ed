package flowcontrol

import (
	"fmt"

	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/util/shufflesharding"
	"kuberow/api/kinds"
	"kuberow/api/kinds/common"
)

type priorityLevel = flowcontrolv1.PriorityLevelConfiguration

// What a level that says nothing gets.
const (
	defaultShares      int32 = 30
	defaultQueues      int32 = 64
	defaultHandSize    int32 = 8
	defaultQueueLength int32 = 50
	maxQueues          int32 = 10_000_000
)

func priorityLevels() *kinds.Resource {
	strategy := common.Typed[priorityLevel, *priorityLevel]{
		Default: defaultPriorityLevel,
		PrepareForCreate: func(_ *kinds.Context, o *priorityLevel) {
			o.Status, o.Generation = flowcontrolv1.PriorityLevelConfigurationStatus{}, 1
		},
		PrepareForUpdate: func(_ *kinds.Context, o, old *priorityLevel) {
			common.BumpGeneration(o, old, !common.Equal(o.Spec, old.Spec))
			o.Status = old.Status
		},
		Validate:       func(_ *kinds.Context, o *priorityLevel) field.ErrorList { return validatePriorityLevel(o) },
		ValidateUpdate: func(_ *kinds.Context, o, _ *priorityLevel) field.ErrorList { return validatePriorityLevel(o) },
		ResetFields:    []string{"status"},
	}
	status := strategy
	status.PrepareForUpdate = func(_ *kinds.Context, o, old *priorityLevel) {
		managed := o.ManagedFields
		o.ObjectMeta, o.Spec = old.ObjectMeta, old.Spec
		o.ManagedFields = managed
	}
	status.ValidateUpdate = func(_ *kinds.Context, o, _ *priorityLevel) field.ErrorList { return validatePriorityLevelStatus(o) }
	status.ResetFields = []string{"metadata", "spec"}
	v := common.Version[priorityLevel, flowcontrolv1.PriorityLevelConfigurationList](gvk("PriorityLevelConfiguration"))
	return resource(kinds.Resource{
		Name: "prioritylevelconfigurations", Singular: "prioritylevelconfiguration", StorageVersionHash: "Kir5PVfvNeI=", Strategy: strategy.Strategy(),
	}, v, status.Strategy())
}

func defaultPriorityLevel(o *priorityLevel) {
	orElse := func(p **int32, value int32) {
		if *p == nil {
			*p = &value
		}
	}
	if e := o.Spec.Exempt; e != nil {
		orElse(&e.NominalConcurrencyShares, 0)
		orElse(&e.LendablePercent, 0)
	}
	l := o.Spec.Limited
	if l == nil {
		return
	}
	orElse(&l.NominalConcurrencyShares, defaultShares)
	orElse(&l.LendablePercent, 0)
	if q := l.LimitResponse.Queuing; q != nil {
		for field, value := range map[*int32]int32{&q.HandSize: defaultHandSize, &q.Queues: defaultQueues, &q.QueueLengthLimit: defaultQueueLength} {
			if *field == 0 {
				*field = value
			}
		}
	}
}

func validatePriorityLevel(o *priorityLevel) field.ErrorList {
	path := field.NewPath("spec")
	var errs field.ErrorList
	const oldAnnotation = "flowcontrol.k8s.io/v1beta3-preserve-zero-concurrency-shares"
	if _, there := o.Annotations[oldAnnotation]; there {
		errs = append(errs, field.Forbidden(field.NewPath("metadata", "annotations"), fmt.Sprintf("annotation '%s' is forbidden", oldAnnotation)))
	}
	errs = append(errs, validateLevelSpec(o, path)...)
	errs = append(errs, validateFixedLevel(o, path)...)
	errs = append(errs, validatePriorityLevelStatus(o)...)
	return append(errs, declaredLevel(&o.Spec, path)...)
}

// declaredLevel is what the Go types declare: which members go with which type.
func declaredLevel(s *flowcontrolv1.PriorityLevelConfigurationSpec, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if s.Exempt != nil && s.Type != flowcontrolv1.PriorityLevelEnablementExempt {
		errs = append(errs, field.Forbidden(path.Child("exempt"), ""))
	}
	limited := path.Child("limited")
	errs = append(errs, goesWith(s.Limited != nil, s.Type == flowcontrolv1.PriorityLevelEnablementLimited, limited)...)
	errs = append(errs, common.Wanted(s.Type, path.Child("type"))...)
	if s.Limited == nil {
		return errs
	}
	r, response := &s.Limited.LimitResponse, limited.Child("limitResponse")
	errs = append(errs, goesWith(r.Queuing != nil, r.Type == flowcontrolv1.LimitResponseTypeQueue, response.Child("queuing"))...)
	return append(errs, common.Wanted(r.Type, response.Child("type"))...)
}

// goesWith: a member is there if and only if the type is the one that has it.
func goesWith(there, wanted bool, path *field.Path) field.ErrorList {
	switch {
	case there && !wanted:
		return field.ErrorList{field.Forbidden(path, "")}
	case wanted && !there:
		return field.ErrorList{field.Required(path, "")}
	}
	return nil
}

func validateLevelSpec(o *priorityLevel, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	s := &o.Spec
	if (o.Name == flowcontrolv1.PriorityLevelConfigurationNameExempt) != (s.Type == flowcontrolv1.PriorityLevelEnablementExempt) {
		errs = append(errs, field.Invalid(path.Child("type"), s.Type, "must be 'Exempt' if and only if `name` is 'exempt'"))
	}
	switch s.Type {
	case flowcontrolv1.PriorityLevelEnablementExempt:
		if e := s.Exempt; e != nil {
			errs = append(errs, validateShares(e.NominalConcurrencyShares, e.LendablePercent, path.Child("exempt"))...)
		}
	case flowcontrolv1.PriorityLevelEnablementLimited:
		if s.Limited != nil {
			errs = append(errs, validateLimited(s.Limited, path.Child("limited"))...)
		}
	case "":
	default:
		errs = append(errs, field.NotSupported(path.Child("type"), s.Type, []string{"Exempt", "Limited"}))
	}
	return errs
}

func validateShares(shares, lendable *int32, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if shares != nil && *shares < 0 {
		errs = append(errs, field.Invalid(path.Child("nominalConcurrencyShares"), *shares, "must be a non-negative integer"))
	}
	if lendable != nil && (*lendable < 0 || *lendable > 100) {
		errs = append(errs, field.Invalid(path.Child("lendablePercent"), *lendable, "must be between 0 and 100, inclusive"))
	}
	return errs
}

func validateLimited(l *flowcontrolv1.LimitedPriorityLevelConfiguration, path *field.Path) field.ErrorList {
	errs := validateShares(l.NominalConcurrencyShares, nil, path)
	response := path.Child("limitResponse")
	switch q := l.LimitResponse.Queuing; l.LimitResponse.Type {
	case flowcontrolv1.LimitResponseTypeReject, "":
	case flowcontrolv1.LimitResponseTypeQueue:
		if q != nil {
			errs = append(errs, validateQueuing(q, response.Child("queuing"))...)
		}
	default:
		errs = append(errs, field.NotSupported(response.Child("type"), l.LimitResponse.Type, []string{"Queue", "Reject"}))
	}
	errs = append(errs, validateShares(nil, l.LendablePercent, path)...)
	if b := l.BorrowingLimitPercent; b != nil && *b < 0 {
		errs = append(errs, field.Invalid(path.Child("borrowingLimitPercent"), *b, "if specified, must be a non-negative integer"))
	}
	return errs
}

func validateQueuing(q *flowcontrolv1.QueuingConfiguration, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	bad := func(name string, value int32, msg string) {
		errs = append(errs, field.Invalid(path.Child(name), value, msg))
	}
	if q.QueueLengthLimit <= 0 {
		bad("queueLengthLimit", q.QueueLengthLimit, "must be positive")
	}
	if q.Queues <= 0 {
		bad("queues", q.Queues, "must be positive")
	} else if q.Queues > maxQueues {
		bad("queues", q.Queues, fmt.Sprintf("must not be greater than %d", maxQueues))
	}
	if q.HandSize <= 0 {
		bad("handSize", q.HandSize, "must be positive")
	} else if q.HandSize > q.Queues {
		bad("handSize", q.HandSize, fmt.Sprintf("should not be greater than queues (%d)", q.Queues))
	} else if shufflesharding.RequiredEntropyBits(int(q.Queues), int(q.HandSize)) > shufflesharding.MaxHashBits {
		bad("handSize", q.HandSize, fmt.Sprintf("required entropy bits of deckSize %d and handSize %d should not be greater than %d", q.Queues, q.HandSize, shufflesharding.MaxHashBits))
	}
	return errs
}

func validatePriorityLevelStatus(o *priorityLevel) field.ErrorList {
	path := field.NewPath("status", "conditions")
	seen := map[flowcontrolv1.PriorityLevelConfigurationConditionType]bool{}
	var errs field.ErrorList
	for i, c := range o.Status.Conditions {
		if seen[c.Type] {
			errs = append(errs, field.Duplicate(path.Index(i).Child("type"), c.Type))
		}
		seen[c.Type] = true
		if c.Type == "" {
			errs = append(errs, field.Required(path.Index(i).Child("type"), ""))
		}
	}
	return errs
}
