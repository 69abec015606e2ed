// Package discovery tells clients what is served: /api, /apis, /apis/GROUP
// and /apis/GROUP/VERSION, in the form that kubectl has read since its
// beginnings and in the aggregated one (apidiscovery.k8s.io/v2) that needs
// two requests instead of thirty.
//
// Why this shape: every document is a view of the registry of kinds, so a
// definition that is added shows without anybody being told. What costs
// something, the aggregated documents and their ETags, is made when it is
// first asked for after the registry's epoch moved.
//
// Hardest part: the little differences that clients see: the core group's
// documents without apiVersion, response kinds that are blank when they are
// the list's own, which of the 404s is text and which is a Status.
//
// What can be lost: nothing; there is no state but a cache.
package discovery
