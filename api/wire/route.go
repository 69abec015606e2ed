package wire

import (
	"net/http"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Route lets only requests through that a route of upstream's router would
// take: GET, and one of the media types that it produces accepted.
func Route(next http.HandlerFunc, produces ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, req *http.Request) {
		switch {
		case req.Method != http.MethodGet:
			WriteStatus(w, req, MethodNotAllowed())
		case !Acceptable(req, produces):
			WriteStatus(w, req, metav1.Status{
				Status: metav1.StatusFailure, Code: http.StatusNotAcceptable, Reason: metav1.StatusReasonNotAcceptable,
				Message: "406: Not Acceptable\n\nAvailable representations: " + strings.Join(produces, ", "),
				Details: &metav1.StatusDetails{},
			})
		default:
			next(w, req)
		}
	}
}

// MethodNotAllowed is 405: the path has no such method.
func MethodNotAllowed() metav1.Status {
	return metav1.Status{
		Status: metav1.StatusFailure, Code: http.StatusMethodNotAllowed, Reason: metav1.StatusReasonMethodNotAllowed,
		Message: "the server does not allow this method on the requested resource", Details: &metav1.StatusDetails{},
	}
}
