// Package certificates holds the kinds of certificates.k8s.io: requests for a
// certificate (CertificateSigningRequest, and PodCertificateRequest for pods)
// and sets of trust anchors (ClusterTrustBundle).
//
// Why this shape: who may do what with a request is split over three paths.
// The request itself is made once and never changed; approval says yes or no;
// status carries the certificate. Each path is a strategy of its own.
//
// Hardest part: a condition that was set stays: an approved request cannot be
// made one that was never approved.
//
// What can be lost: nothing beyond the objects themselves.
package certificates
