package sqlstore

import _ "embed"

// Schema is schema.sql of the repository's root, which `make generate`
// copies here as go:embed cannot look upward.
//
//go:embed schema.sql
var Schema string

// ApplicationID marks the file as kuberow's in SQLite's header ("krow").
const ApplicationID = 0x6b726f77

// SchemaVersion is the user_version that this binary writes and understands.
const SchemaVersion = 1
