// Package events holds the kind of events.k8s.io: Event, the second face of
// the core group's Event. There is one object, stored in the core form under
// /registry/events; this group renames its fields.
//
// Why this shape: the hub is the core Event, so a rule about events is written
// over that type; what this group asks beyond the core group is here.
//
// Hardest part: field selectors. Both groups select by their own field names
// in one index, so Fields gives every value under both names.
//
// What can be lost: nothing; everything here is a pure function.
package events

import "kuberow/api/kinds"

// Resources lists the resources of the group.
func Resources() []*kinds.Resource { return []*kinds.Resource{eventResource()} }
