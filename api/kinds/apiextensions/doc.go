// Package apiextensions holds the kind of apiextensions.k8s.io:
// CustomResourceDefinition. Only the definition itself is here; serving what
// it defines is api/crd's.
//
// Why this shape: the rules for schemas are long and belong to
// apiextensions-apiserver, which exports them over its internal type. So the
// definition is converted to that type to be judged, and stored as v1.
//
// Hardest part: none here; a definition becomes served only when a controller
// has accepted its names and set its conditions.
//
// What can be lost: nothing; everything here is a pure function.
package apiextensions

import "kuberow/api/kinds"

// Resources lists the resources of the group.
func Resources() []*kinds.Resource { return []*kinds.Resource{definitions()} }
