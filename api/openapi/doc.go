// Package openapi describes the API to clients that explain, check and patch
// objects: /openapi/v2 in one document, /openapi/v3 in one document per group
// version, and the type converter by which server-side apply handles the kinds
// that client-go has no apply configurations for.
//
// Why this shape: the Go types know nearly everything, by their json tags,
// SwaggerDoc, OpenAPIModelName and patch tags. What only their comments say
// (list types, defaults, enums, what is optional) is in markers.jsonl, made by
// generate/ from the sources of k8s.io/api. A document is written straight
// from these into a gzip stream, when it is first asked for; nothing is built
// at start-up, and only compressed bytes are kept.
//
// Hardest part: types.go, which has to see a Go type as the generator of
// upstream's definitions does, down to which fields have a default.
//
// What can be lost: nothing; every document can be built again.
package openapi

//go:generate go run ./generate markers.jsonl
