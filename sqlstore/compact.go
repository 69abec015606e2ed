package sqlstore

import "context"

// Compaction in two halves. This one is a command: it moves compact_revision, the
// same on every member, and from then on older reads are refused. The other
// half, sweep.go, deletes the rows that nobody may read any more.

// applyCompact gives up history below c.Revision.
func (tx *Tx) applyCompact(c *Compact, res *Result) {
	switch {
	case c.Revision <= tx.st.compact:
		res.Err = compactedError(c.Revision, tx.st.compact)
	case c.Revision > tx.st.revision:
		res.Err = newError(CodeFuture, "compact to revision %d: it has not happened yet, the newest is %d", c.Revision, tx.st.revision)
	default:
		tx.st.compact = c.Revision
		res.Succeeded = true
	}
}

// RetentionRevision is the revision to compact to so that about keep
// revisions stay, 0 when there is nothing to do yet. Heartbeats (node
// leases and the status of nodes) are not counted, as a few hundred nodes would push
// out everything else within an hour; but they may not grow without bound either,
// so no more than three times keep revisions stay in all. To compact seldom, a tenth more is allowed to gather.
func (s *Store) RetentionRevision(ctx context.Context, keep int64) (revision int64, err error) {
	if s.Revision()-s.CompactRevision() <= keep+keep/10 {
		return 0, nil
	}
	err = s.read(ctx, "read retention", func(c *conn) error {
		// The index request_revision is walked from the newest down; the tenth more is found first.
		const counted = `SELECT revision FROM request WHERE revision > ? AND NOT (key >= '/registry/leases/kube-node-lease/' AND key < '/registry/leases/kube-node-lease0')
			AND NOT (key >= '/registry/minions/' AND key < '/registry/minions0' AND path GLOB '*/status') ORDER BY revision DESC LIMIT 1 OFFSET ?`
		var over int64
		err := c.get(counted, []any{s.CompactRevision(), keep + keep/10}, &over)
		switch {
		case err == nil:
			return c.get(counted, []any{s.CompactRevision(), keep}, &revision)
		case !noRows(err):
			return err
		case s.Revision()-s.CompactRevision() > 3*keep+keep/10:
			revision = s.Revision() - 3*keep
		}
		return nil
	})
	return revision, err
}
