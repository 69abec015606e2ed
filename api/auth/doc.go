// Package auth is the door: who is asking (authentication), and may they
// (authorization). It also keeps what the door needs: the certificates and
// keys of a cluster, the service account tokens, and the index of RBAC rules.
//
// A request passes, in this order:
//
//	Authenticator.Authenticate   client certificate, bearer token, or anonymous  -> user.Info, or 401
//	Impersonate                  the Impersonate-* headers, each one authorized   -> user.Info, or 403
//	Authorizer.Authorize         system:masters, Node, RBAC                       -> nil, or 403
//
// Why this shape: the parts speak the interfaces of k8s.io/apiserver, so that
// a reader who knows those finds his way, but nothing here runs in the
// background. The RBAC rules are an index that is brought up to the store's
// revision when somebody asks, by reading the changes since the last time; so
// a binding counts for the very next request after the write that made it.
// Real Kubernetes answers from informers, which are a little late.
//
// Hardest part: keeping the index right at a few microseconds a look-up
// (mirror.go, rbacindex.go).
//
// What can be lost: pki/ is plain files. Losing it makes new keys at the next
// start, and with them kubeconfigs and tokens that were handed out stop
// working; nothing in cluster.db is lost.
package auth
