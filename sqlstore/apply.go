package sqlstore

import (
	"bytes"
	"cmp"
	"strings"
	"unicode/utf8"
)

// Apply: from a command to rows. It is deterministic: no clock, no random
// number, no order of a Go map, nothing but the command, its index, and the
// rows that earlier commands left. It decides first (compares, leases,
// duplicate keys) and writes then, so that a command that is refused has
// written nothing. A refusal is an answer in Result.Err; a failure of SQLite is
// not: it spoils the whole Tx, see Tx.Err.

// Apply carries out the command that the Raft log holds at index.
func (tx *Tx) Apply(index uint64, cmd *Command) *Result {
	if tx.err != nil {
		return &Result{Revision: tx.st.revision, Err: tx.err}
	}
	if index <= tx.st.applied {
		return &Result{Revision: tx.st.revision, Err: newError(CodeInternal, "apply index %d: already applied, up to %d", index, tx.st.applied)}
	}
	tx.st.applied = index
	var res Result
	switch {
	case cmd.Txn != nil:
		tx.applyTxn(index, cmd, &res)
	case cmd.LeaseGrant != nil:
		tx.applyLeaseGrant(index, cmd.LeaseGrant, &res)
	case cmd.LeaseRevoke != nil:
		tx.applyLeaseRevoke(index, cmd, &res)
	case cmd.LeaseKeep != nil:
		tx.applyLeaseKeep(cmd.LeaseKeep, &res)
	case cmd.Compact != nil:
		tx.applyCompact(cmd.Compact, &res)
	default:
		res.Err = newError(CodeInvalid, "apply index %d: the command is empty", index)
	}
	res.Revision = tx.st.revision
	if tx.err != nil {
		res.Err = tx.err
	}
	return &res
}

// Skip marks an index as applied that holds no command: a new leader's empty entry, a conf change.
func (tx *Tx) Skip(index uint64) {
	if index > tx.st.applied {
		tx.st.applied = index
	}
}

// current is what a key holds at this moment of the transaction.
type current struct {
	KV
	object ObjectRef
	live   bool
}

// currents remembers what the transaction of one command has read.
type currents map[string]*current

// current reads what key holds, once per command.
func (tx *Tx) current(seen currents, key string) (*current, bool) {
	if cur := seen[key]; cur != nil {
		return cur, true
	}
	cur := &current{}
	err := tx.s.writer.get(`
		SELECT kv.id, kv.mod_revision, kv.sub, kv.key, kv.create_revision, kv.version, kv.lease,
		       kv.value, kv.managed_fields, kv.prev_id, kv.request_id,
		       live.api_group, live.resource, live.namespace, live.name, live.uid
		FROM live JOIN kv ON kv.id = live.id WHERE live.key = ?`, []any{key},
		&cur.ID, &cur.ModRevision, &cur.Sub, &cur.Key, &cur.CreateRevision, &cur.Version, &cur.Lease,
		(*content)(&cur.Value), (*content)(&cur.ManagedFields), &cur.PrevID, &cur.RequestID,
		&cur.object.Group, &cur.object.Resource, &cur.object.Namespace, &cur.object.Name, &cur.object.UID)
	switch {
	case err == nil:
		cur.live = true
	case !noRows(err):
		tx.fail("read key "+key, err)
		return nil, false
	}
	seen[key] = cur
	return cur, true
}

// applyTxn decides the transaction and writes its branch.
func (tx *Tx) applyTxn(index uint64, cmd *Command, res *Result) {
	seen := currents{}
	res.Succeeded = true
	for _, c := range cmd.Txn.Compare {
		cur, ok := tx.current(seen, c.Key)
		if !ok {
			return
		}
		holds, err := c.holds(cur)
		if err != nil {
			res.Err = err
			return
		}
		res.Succeeded = res.Succeeded && holds
	}
	ops := cmd.Txn.Then
	if !res.Succeeded {
		ops = cmd.Txn.Else
		for _, c := range cmd.Txn.Compare {
			res.Current = append(res.Current, seen[c.Key].KV)
		}
	}
	if res.Err = tx.validOps(ops); res.Err == nil {
		tx.writeOps(index, &cmd.Request, ops, seen, res)
	}
}

// holds says whether the condition is true of what the key holds.
func (c *Compare) holds(cur *current) (bool, error) {
	var order int
	switch c.Target {
	case CompareMod:
		order = cmp.Compare(cur.ModRevision, c.Int)
	case CompareCreate:
		order = cmp.Compare(cur.CreateRevision, c.Int)
	case CompareVersion:
		order = cmp.Compare(cur.Version, c.Int)
	case CompareLease:
		order = cmp.Compare(cur.Lease, c.Int)
	case CompareValue:
		if !cur.live { // as etcd: what does not exist has no value that could be compared
			return false, nil
		}
		order = bytes.Compare(cur.Value, c.Value)
	default:
		return false, newError(CodeInvalid, "compare key %s: unknown target %d", c.Key, c.Target)
	}
	switch c.Result {
	case Equal:
		return order == 0, nil
	case NotEqual:
		return order != 0, nil
	case Greater:
		return order > 0, nil
	case Less:
		return order < 0, nil
	}
	return false, newError(CodeInvalid, "compare key %s: unknown relation %d", c.Key, c.Result)
}

// validOps refuses a branch before any of it is written.
func (tx *Tx) validOps(ops []Op) error {
	keys := make(map[string]bool, len(ops))
	for i := range ops {
		op := &ops[i]
		switch {
		case op.Key == "":
			return newError(CodeInvalid, "write key: the key is empty")
		case op.Type != OpPut && op.Type != OpDelete:
			return newError(CodeInvalid, "write key %s: unknown operation %d", op.Key, op.Type)
		case keys[op.Key]:
			return newError(CodeInvalid, "write key %s: given twice in one transaction", op.Key)
		}
		keys[op.Key] = true
		if op.Type == OpPut && op.Lease != 0 {
			if _, ok := tx.lease(op.Lease); !ok {
				return newError(CodeNotFound, "write key %s: lease %d not found", op.Key, op.Lease)
			}
		}
	}
	return nil
}

// writeOps writes the rows of a branch at the next revision, and the request
// that they all point to. A branch that changes nothing leaves no trace.
func (tx *Tx) writeOps(index uint64, req *Request, ops []Op, seen currents, res *Result) {
	revision, sub := tx.st.revision+1, int64(0)
	res.Rows, res.Prev = make([]KV, len(ops)), make([]KV, len(ops))
	for i := range ops {
		op := &ops[i]
		cur, ok := tx.current(seen, op.Key)
		if !ok {
			return
		}
		if op.Type == OpDelete && !cur.live {
			continue
		}
		if sub == 0 && !tx.insertRequest(index, revision, op.Key, req) {
			return
		}
		tx.st.lastID++
		row := KV{ID: tx.st.lastID, ModRevision: revision, Sub: sub, Key: op.Key, PrevID: cur.ID, RequestID: int64(index)}
		object := cur.object
		if op.Type == OpPut {
			row.CreateRevision, row.Version = cur.CreateRevision, cur.Version+1
			if !cur.live {
				row.CreateRevision = revision
			}
			row.Lease, row.Value, row.ManagedFields = op.Lease, op.Value, op.ManagedFields
			object = op.Object
		}
		if !tx.insertRow(&row) || !tx.index(op, &row, cur) {
			return
		}
		sub++
		res.Rows[i], res.Prev[i] = row, cur.KV
		change := &Change{KV: row, Object: object}
		if cur.live {
			change.Prev = &cur.KV
		}
		tx.changes = append(tx.changes, change)
	}
	if sub > 0 {
		tx.st.revision = revision
	}
}

// insertRow writes one row of kv.
func (tx *Tx) insertRow(r *KV) bool {
	var managed any
	if len(r.ManagedFields) > 0 {
		managed = string(r.ManagedFields)
	} else {
		r.ManagedFields = nil
	}
	err := tx.s.writer.exec(`
		INSERT INTO kv (id, mod_revision, sub, key, create_revision, version, lease, value, managed_fields, prev_id, request_id)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		r.ID, r.ModRevision, r.Sub, r.Key, r.CreateRevision, r.Version, r.Lease, storable(r), managed, r.PrevID, r.RequestID)
	return !tx.fail("insert row of key "+r.Key, err)
}

// storable chooses how SQLite keeps a value: as text whatever a person can
// read, as a blob what is not valid UTF-8 or holds a NUL, where SQLite's text
// functions would stop. NULL is for tombstones alone.
func storable(r *KV) any {
	switch {
	case r.Version == 0:
		return nil
	case utf8.Valid(r.Value) && bytes.IndexByte(r.Value, 0) < 0:
		return string(r.Value)
	}
	return r.Value
}

// insertRequest writes who asked, and why.
func (tx *Tx) insertRequest(index uint64, revision int64, key string, q *Request) bool {
	cause, ok := tx.cause(q.Cause)
	if !ok {
		return false
	}
	err := tx.s.writer.exec(`
		INSERT INTO request (id, revision, key, at, user, agent, verb, path, cause_revision, cause_id)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		int64(index), revision, key, q.At, text(q.User), text(q.Agent), text(q.Verb), text(q.Path), cause.Revision, cause.ID)
	return !tx.fail("insert request", err)
}

// cause drops a cause that nobody can follow: one that never was, or one that
// compaction gave up before its effect came. At or below compact_revision a member may or may not have
// deleted the row, so what counts is what all members agree on: whether the row is still a key's current one.
func (tx *Tx) cause(c Cause) (Cause, bool) {
	if c.Revision < 2 || c.Revision > tx.st.revision {
		return Cause{}, true
	}
	if c.Revision > tx.st.compact {
		return c, true
	}
	var lives int64
	err := tx.s.writer.get(`SELECT count(*) FROM kv JOIN live ON live.key = kv.key AND live.id = kv.id WHERE kv.id = ? AND kv.mod_revision = ?`,
		[]any{c.ID, c.Revision}, &lives)
	if tx.fail("read cause", err) {
		return c, false
	}
	if lives == 0 {
		return Cause{}, true
	}
	return c, true
}

// text makes a string that came from outside fit to be shown: valid UTF-8, no NUL.
func text(s string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "\uFFFD")
}
