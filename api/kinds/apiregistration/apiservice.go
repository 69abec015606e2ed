package apiregistration

import (
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
	"kuberow/api/kinds"
	"kuberow/api/kinds/common"
)

type apiService = apiregistrationv1.APIService

// Resources lists the resources of apiregistration.k8s.io.
func Resources() []*kinds.Resource {
	v := common.Version[apiService, apiregistrationv1.APIServiceList](apiregistrationv1.SchemeGroupVersion.WithKind("APIService"))
	strategy := common.Typed[apiService, *apiService]{
		Default: func(o *apiService) {
			if s := o.Spec.Service; s != nil && s.Port == nil {
				s.Port = new(int32(443))
			}
		},
		PrepareForCreate:          prepareForCreate,
		PrepareForUpdate:          func(_ *kinds.Context, o, old *apiService) { o.Status = old.Status },
		Validate:                  func(_ *kinds.Context, o *apiService) field.ErrorList { return validate(o) },
		ValidateUpdate:            func(_ *kinds.Context, o, _ *apiService) field.ErrorList { return validate(o) },
		ValidateName:              common.NamePath,
		ResetFields:               []string{"status"},
		ForbidUnconditionalUpdate: true,
	}
	status := common.Typed[apiService, *apiService]{
		Default: strategy.Default,
		PrepareForUpdate: func(_ *kinds.Context, o, old *apiService) {
			o.Spec = old.Spec
			o.Labels, o.Annotations, o.Finalizers, o.OwnerReferences = old.Labels, old.Annotations, old.Finalizers, old.OwnerReferences
		},
		ValidateUpdate:            func(_ *kinds.Context, o, _ *apiService) field.ErrorList { return validateStatus(o) },
		ValidateName:              common.NamePath,
		ResetFields:               []string{"spec", "metadata"},
		ForbidUnconditionalUpdate: true,
	}
	return []*kinds.Resource{{
		Group: apiregistrationv1.GroupName, Name: "apiservices", Singular: "apiservice", Kind: "APIService", Categories: []string{"api-extensions"},
		Verbs: common.Verbs(), Versions: []*kinds.Version{v}, Hub: v, Prefix: "/registry/apiregistration.k8s.io/apiservices", StorageVersionHash: "InPBPD7+PqM=",
		KeepsEmpties: true,
		Strategy:     strategy.Strategy(),
		Subresources: []*kinds.Subresource{common.UnprintedStatus(v.GVK, status.Strategy())},
	}}
}

// prepareForCreate: what this server serves itself is available.
func prepareForCreate(r *kinds.Context, o *apiService) {
	o.Status = apiregistrationv1.APIServiceStatus{}
	if o.Spec.Service == nil {
		o.Status.Conditions = []apiregistrationv1.APIServiceCondition{{
			Type: apiregistrationv1.Available, Status: apiregistrationv1.ConditionTrue, LastTransitionTime: metav1.NewTime(r.Now),
			Reason: "Local", Message: "Local APIServices are always available",
		}}
	}
}

func validate(o *apiService) field.ErrorList {
	spec := field.NewPath("spec")
	var errs field.ErrorList
	if want := o.Spec.Version + "." + o.Spec.Group; o.Name != "" && len(common.NamePath(o.Name, false)) == 0 && o.Name != want {
		errs = append(errs, field.Invalid(field.NewPath("metadata", "name"), o.Name, fmt.Sprintf("must be `spec.version+\".\"+spec.group`: %q", want)))
	}
	switch {
	case o.Spec.Group != "":
		errs = append(errs, common.Invalid(validation.IsDNS1123Subdomain(o.Spec.Group), o.Spec.Group, spec.Child("group"))...)
	case o.Spec.Version != "v1":
		errs = append(errs, field.Required(spec.Child("group"), "only v1 may have an empty group and it better be legacy kube"))
	}
	errs = append(errs, common.Invalid(validation.IsDNS1035Label(o.Spec.Version), o.Spec.Version, spec.Child("version"))...)
	if p := o.Spec.GroupPriorityMinimum; p <= 0 || p > 20000 {
		errs = append(errs, field.Invalid(spec.Child("groupPriorityMinimum"), p, "must be positive and less than 20000"))
	}
	if p := o.Spec.VersionPriority; p <= 0 || p > 1000 {
		errs = append(errs, field.Invalid(spec.Child("versionPriority"), p, "must be positive and less than 1000"))
	}
	if o.Spec.Service == nil {
		return append(errs, validateLocal(o, spec)...)
	}
	return append(errs, validateRemote(o, spec)...)
}

func validateLocal(o *apiService, spec *field.Path) field.ErrorList {
	var errs field.ErrorList
	if len(o.Spec.CABundle) != 0 {
		errs = append(errs, field.Invalid(spec.Child("caBundle"), fmt.Sprintf("%d bytes", len(o.Spec.CABundle)), "local APIServices may not have a caBundle"))
	}
	if o.Spec.InsecureSkipTLSVerify {
		errs = append(errs, field.Invalid(spec.Child("insecureSkipTLSVerify"), true, "local APIServices may not have insecureSkipTLSVerify"))
	}
	return errs
}

func validateRemote(o *apiService, spec *field.Path) field.ErrorList {
	s := o.Spec.Service
	var errs field.ErrorList
	if s.Namespace == "" {
		errs = append(errs, field.Required(spec.Child("service", "namespace"), ""))
	}
	if s.Name == "" {
		errs = append(errs, field.Required(spec.Child("service", "name"), ""))
	}
	if s.Port != nil {
		if msgs := validation.IsValidPortNum(int(*s.Port)); msgs != nil {
			errs = append(errs, field.Invalid(spec.Child("service", "port"), *s.Port, "port is not valid: "+strings.Join(msgs, ", ")))
		}
	}
	if o.Spec.InsecureSkipTLSVerify && len(o.Spec.CABundle) > 0 {
		errs = append(errs, field.Invalid(spec.Child("insecureSkipTLSVerify"), true, "may not be true if caBundle is present"))
	}
	return errs
}

func validateStatus(o *apiService) field.ErrorList {
	var errs field.ErrorList
	allowed := []apiregistrationv1.ConditionStatus{apiregistrationv1.ConditionTrue, apiregistrationv1.ConditionFalse, apiregistrationv1.ConditionUnknown}
	for i, c := range o.Status.Conditions {
		if c.Status != allowed[0] && c.Status != allowed[1] && c.Status != allowed[2] {
			errs = append(errs, field.NotSupported(field.NewPath("status", "conditions").Index(i).Child("status"), c.Status, allowed))
		}
	}
	return errs
}
