package certificates

// CertificateSigningRequest: who asks is written into it by the server, and
// nothing of the spec changes after that.

import (
	certificatesv1 "k8s.io/api/certificates/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"kuberow/api/kinds"
	"kuberow/api/kinds/common"
	"kuberow/sqlstore"
)

type request = certificatesv1.CertificateSigningRequest

func signingRequests() *kinds.Resource {
	v := common.Version[request, certificatesv1.CertificateSigningRequestList](gvk("CertificateSigningRequest"))
	anyName := func(string, bool) []string { return nil }
	strategy := common.Typed[request, *request]{
		PrepareForCreate: prepareRequest,
		PrepareForUpdate: func(_ *kinds.Context, o, old *request) { o.Spec, o.Status = old.Spec, old.Status },
		Validate:         func(_ *kinds.Context, o *request) field.ErrorList { return validateRequest(o, nil) },
		ValidateUpdate:   func(_ *kinds.Context, o, old *request) field.ErrorList { return validateRequestUpdate(o, old, nothing) },
		ValidateName:     anyName,
		FieldNames:       []string{"spec.signerName"},
		Fields:           func(o *request) []sqlstore.Pair { return common.Pairs("spec.signerName", o.Spec.SignerName) },
		ResetFields:      []string{"spec", "status"},
	}
	status := strategy
	status.PrepareForUpdate = prepareStatus
	status.ValidateUpdate = func(_ *kinds.Context, o, old *request) field.ErrorList {
		return validateRequestUpdate(o, old, theCertificate)
	}
	status.ResetFields = []string{"spec", "status.conditions"}
	approval := strategy
	approval.PrepareForUpdate = prepareApproval
	approval.ValidateUpdate = func(_ *kinds.Context, o, old *request) field.ErrorList {
		return validateRequestUpdate(o, old, theApproval)
	}
	approval.ResetFields = []string{"spec", "status.certificate"}
	return &kinds.Resource{
		Group: certificatesv1.GroupName, Name: "certificatesigningrequests", Singular: "certificatesigningrequest", Kind: "CertificateSigningRequest",
		ShortNames: []string{"csr"}, Verbs: common.Verbs(), Versions: []*kinds.Version{v}, Hub: v,
		Prefix: "/registry/certificatesigningrequests", StorageVersionHash: "95fRKMXA+00=", Strategy: strategy.Strategy(),
		Subresources: []*kinds.Subresource{
			{Name: "approval", GVK: v.GVK, Verbs: common.StatusVerbs(), Strategy: approval.Strategy()},
			common.Status(v.GVK, status.Strategy()),
		},
	}
}

// prepareRequest writes down who asks; a client cannot say it, nor approve with the request.
func prepareRequest(r *kinds.Context, o *request) {
	o.Spec.Username, o.Spec.UID, o.Spec.Groups, o.Spec.Extra = r.User.GetName(), r.User.GetUID(), r.User.GetGroups(), nil
	for k, v := range r.User.GetExtra() {
		if o.Spec.Extra == nil {
			o.Spec.Extra = map[string]certificatesv1.ExtraValue{}
		}
		o.Spec.Extra[k] = v
	}
	o.Status = certificatesv1.CertificateSigningRequestStatus{}
}

// prepareApproval keeps everything but the conditions.
func prepareApproval(r *kinds.Context, o, old *request) {
	stampConditions(r, o, old)
	conditions := o.Status.Conditions
	o.Spec, o.Status = old.Spec, old.Status
	o.Status.Conditions = conditions
}

// prepareStatus keeps the spec, and the decision as it was word by word: a
// signer that sends back what it read must not be refused for a rounded time.
func prepareStatus(r *kinds.Context, o, old *request) {
	o.Spec = old.Spec
	for _, t := range []certificatesv1.RequestConditionType{certificatesv1.CertificateApproved, certificatesv1.CertificateDenied} {
		was, is := conditionsOf(old, t), conditionsOf(o, t)
		if len(was) == len(is) {
			for i := range is {
				*is[i] = *was[i]
			}
		}
	}
	stampConditions(r, o, old)
}

func conditionsOf(o *request, t certificatesv1.RequestConditionType) []*certificatesv1.CertificateSigningRequestCondition {
	var out []*certificatesv1.CertificateSigningRequestCondition
	for i := range o.Status.Conditions {
		if o.Status.Conditions[i].Type == t {
			out = append(out, &o.Status.Conditions[i])
		}
	}
	return out
}

// stampConditions fills in the times that the client left out.
func stampConditions(r *kinds.Context, o, old *request) {
	now := metav1.NewTime(r.Now)
	for i := range o.Status.Conditions {
		c := &o.Status.Conditions[i]
		if c.LastUpdateTime.IsZero() {
			c.LastUpdateTime = now
		}
		if !c.LastTransitionTime.IsZero() {
			continue
		}
		c.LastTransitionTime = now
		for _, was := range conditionsOf(old, c.Type) {
			if was.Status == c.Status && !was.LastTransitionTime.IsZero() {
				c.LastTransitionTime = was.LastTransitionTime
				break
			}
		}
	}
}
