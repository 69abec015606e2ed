package controllers

import (
	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
)

// Client certificates of kubelets are approved without a person when whoever
// asks may create certificatesigningrequests/nodeclient (any node's) or
// .../selfnodeclient (its own). Key: a CertificateSigningRequest nobody has decided on.

// CertificateApproving is certificatesigningrequest-approving-controller.
func CertificateApproving() Controller {
	return Controller{
		Name: "certificatesigningrequest-approving-controller", Account: "certificate-controller",
		Keys: keyMap{SigningRequests: itself},
		Step: func(v View, keys []Key) Outcome {
			var out Outcome
			for _, k := range keys {
				r := get[*certificatesv1.CertificateSigningRequest](v, SigningRequests, "", k.Name)
				if r != nil && len(r.Status.Certificate) == 0 && r.Spec.SignerName == certificatesv1.KubeAPIServerClientKubeletSignerName &&
					!requestIs(r, certificatesv1.CertificateApproved) && !requestIs(r, certificatesv1.CertificateDenied) {
					approveRequest(v, k, r, &out)
				}
			}
			return out
		},
	}
}

func approveRequest(v View, k Key, r *certificatesv1.CertificateSigningRequest, out *Outcome) {
	req, err := parseRequest(r.Spec.Request)
	if err != nil || kubeletClient(req, r.Spec.Usages) != nil {
		return
	}
	message := ""
	switch {
	case r.Spec.Username == req.Subject.CommonName && askerMayCreate(v, r, "selfnodeclient"):
		message = "Auto approving self kubelet client certificate after SubjectAccessReview."
	case askerMayCreate(v, r, "nodeclient"):
		message = "Auto approving kubelet client certificate after SubjectAccessReview."
	default:
		return
	}
	w := mutation(k, SigningRequests, "approval", r, func(o *certificatesv1.CertificateSigningRequest) error {
		o.Status.Conditions = append(o.Status.Conditions, certificatesv1.CertificateSigningRequestCondition{
			Type: certificatesv1.CertificateApproved, Status: corev1.ConditionTrue, Reason: "AutoApproved", Message: message,
		})
		return nil
	})
	w.Ignore = Gone
	out.Writes = append(out.Writes, w)
}

// askerMayCreate asks the authorizer about who made the request.
func askerMayCreate(v View, r *certificatesv1.CertificateSigningRequest, subresource string) bool {
	access := v.Cluster().Access
	if access == nil {
		return false
	}
	who := &user.DefaultInfo{Name: r.Spec.Username, UID: r.Spec.UID, Groups: r.Spec.Groups, Extra: map[string][]string{}}
	for key, values := range r.Spec.Extra {
		who.Extra[key] = values
	}
	decision, _, err := access.Authorize(v.Context(), authorizer.AttributesRecord{
		User: who, Verb: "create", APIGroup: certificatesv1.GroupName, APIVersion: "*", Resource: SigningRequests.Resource,
		Subresource: subresource, ResourceRequest: true,
	})
	return err == nil && decision == authorizer.DecisionAllow
}
