// Package wire is everything that happens between bytes and objects: which
// media type a client asked for, reading a body strictly or leniently,
// writing JSON, YAML, protobuf, Tables and watch frames.
//
// Why this shape: most answers are never decoded. What the store holds is the
// object's JSON without resourceVersion and managedFields; splice.go puts the
// two in and copies the rest. Only protobuf, another version than the stored
// one, and code that needs a typed object pay for decoding, through one cache
// keyed by (key, mod_revision): a row never changes, so neither does its object.
//
// Hardest part: being strict the way upstream is. Its error texts come from
// sigs.k8s.io/json and its serializers, so decode.go drives those instead of
// imitating them.
//
// What can be lost: nothing; there is no state here beyond the cache.
package wire
