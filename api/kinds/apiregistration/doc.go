// Package apiregistration holds the kind of apiregistration.k8s.io:
// APIService, which says who serves one version of one API group. One without
// a service is served here; the others are for aggregated API servers.
//
// Why this shape: as in every package below api/kinds, a file a kind.
//
// Hardest part: none.
//
// What can be lost: nothing beyond the objects themselves.
package apiregistration
