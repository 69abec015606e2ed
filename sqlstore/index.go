package sqlstore

import (
	"database/sql"
	"encoding/json"
	"slices"
	"strings"
	"sync"
)

// The tables that are derived from kv: live, label, field, owner, resource.
// Apply brings them up to date in the transaction of the row, so that
// nothing ever has to be rebuilt. Most updates of an object change no label, no
// field and no owner: then the rows are compared and left alone, as writing
// them again would cost more than the object itself.

// index points live at row and replaces what selectors look up.
func (tx *Tx) index(op *Op, row *KV, cur *current) bool {
	w := tx.s.writer
	switch {
	case op.Type == OpDelete: // label, field and owner follow by their foreign keys
		return !tx.fail("delete key "+op.Key, w.exec(`DELETE FROM live WHERE key = ?`, op.Key))
	case !cur.live:
		o := &op.Object
		err := w.exec(`INSERT INTO live (key, id, api_group, resource, namespace, name, uid, create_request_id) VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
			op.Key, row.ID, o.Group, o.Resource, o.Namespace, o.Name, o.UID, row.RequestID)
		if tx.fail("insert key "+op.Key, err) {
			return false
		}
	case op.Object == cur.object:
		if tx.fail("update key "+op.Key, w.exec(`UPDATE live SET id = ? WHERE key = ?`, row.ID, op.Key)) {
			return false
		}
	default:
		o := &op.Object
		err := w.exec(`UPDATE live SET id = ?, api_group = ?, resource = ?, namespace = ?, name = ?, uid = ? WHERE key = ?`,
			row.ID, o.Group, o.Resource, o.Namespace, o.Name, o.UID, op.Key)
		if tx.fail("update key "+op.Key, err) {
			return false
		}
	}
	return tx.indexResource(op) && tx.indexLabels(op, cur.live) && tx.indexFields(op, cur.live) && tx.indexOwners(op, cur.live)
}

// indexLabels makes the rows of label equal to op.Labels.
func (tx *Tx) indexLabels(op *Op, had bool) bool {
	if had {
		same, err := samePairs(tx.s.writer, `SELECT name, value FROM label WHERE key = ? ORDER BY name`, op.Key, op.Labels)
		if tx.fail("read labels", err) || same {
			return tx.err == nil
		}
		if tx.fail("delete labels", tx.s.writer.exec(`DELETE FROM label WHERE key = ?`, op.Key)) {
			return false
		}
	}
	for _, p := range op.Labels {
		err := tx.s.writer.exec(`INSERT INTO label (name, value, key) VALUES (?, ?, ?) ON CONFLICT DO NOTHING`, p.Name, p.Value, op.Key)
		if tx.fail("insert label", err) {
			return false
		}
	}
	return true
}

// indexFields makes the rows of field equal to op.Fields.
func (tx *Tx) indexFields(op *Op, had bool) bool {
	if had {
		same, err := samePairs(tx.s.writer, `SELECT name, value FROM field WHERE key = ? ORDER BY name`, op.Key, op.Fields)
		if tx.fail("read fields", err) || same {
			return tx.err == nil
		}
		if tx.fail("delete fields", tx.s.writer.exec(`DELETE FROM field WHERE key = ?`, op.Key)) {
			return false
		}
	}
	for _, p := range op.Fields {
		err := tx.s.writer.exec(`INSERT INTO field (name, value, key) VALUES (?, ?, ?) ON CONFLICT DO NOTHING`, p.Name, p.Value, op.Key)
		if tx.fail("insert field", err) {
			return false
		}
	}
	return true
}

// indexOwners makes the rows of owner equal to op.Owners.
func (tx *Tx) indexOwners(op *Op, had bool) bool {
	if had {
		var old []string
		err := tx.s.writer.each(`SELECT uid FROM owner WHERE key = ?`, []any{op.Key}, func(r *sql.Rows) error {
			var uid string
			err := r.Scan(&uid)
			old = append(old, uid)
			return err
		})
		if tx.fail("read owners", err) {
			return false
		}
		slices.Sort(old)
		if slices.Equal(old, slices.Sorted(slices.Values(op.Owners))) {
			return true
		}
		if tx.fail("delete owners", tx.s.writer.exec(`DELETE FROM owner WHERE key = ?`, op.Key)) {
			return false
		}
	}
	for _, uid := range op.Owners {
		err := tx.s.writer.exec(`INSERT INTO owner (uid, key) VALUES (?, ?) ON CONFLICT DO NOTHING`, uid, op.Key)
		if tx.fail("insert owner", err) {
			return false
		}
	}
	return true
}

// samePairs says whether query gives exactly the pairs, in their order.
func samePairs(c *conn, query, key string, want []Pair) (bool, error) {
	n, same := 0, true
	err := c.each(query, []any{key}, func(r *sql.Rows) error {
		var p Pair
		err := r.Scan(&p.Name, &p.Value)
		same = same && n < len(want) && want[n] == p
		n++
		return err
	})
	return same && n == len(want), err
}

// resources knows which prefix of a key stands for which resource: the
// table resource in memory.
type resources struct {
	mu       sync.RWMutex
	byPrefix map[string]ObjectRef // Group and Resource only
}

// resourceRow is a row of resource.
type resourceRow struct {
	prefix string
	ObjectRef
}

// loadResources reads the table.
func loadResources(c *conn) (*resources, error) {
	r := &resources{byPrefix: map[string]ObjectRef{}}
	err := c.each(`SELECT prefix, api_group, resource FROM resource`, nil, func(rows *sql.Rows) error {
		var row resourceRow
		err := rows.Scan(&row.prefix, &row.Group, &row.Resource)
		r.byPrefix[row.prefix] = row.ObjectRef
		return err
	})
	return r, err
}

// add takes over what a committed transaction saw first.
func (r *resources) add(rows []resourceRow) {
	if len(rows) == 0 {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, row := range rows {
		r.byPrefix[row.prefix] = row.ObjectRef
	}
}

// of tells what key holds, by its prefix: with a namespace first, then without.
func (r *resources) of(key string) ObjectRef {
	r.mu.RLock()
	defer r.mu.RUnlock()
	slash := strings.LastIndexByte(key, '/')
	if slash < 0 {
		return ObjectRef{}
	}
	if ns := strings.LastIndexByte(key[:slash], '/'); ns >= 0 {
		if o, ok := r.byPrefix[key[:ns+1]]; ok {
			o.Namespace, o.Name = key[ns+1:slash], key[slash+1:]
			return o
		}
	}
	o, ok := r.byPrefix[key[:slash+1]]
	if ok {
		o.Name = key[slash+1:]
	}
	return o
}

// indexResource remembers the prefix of op's key when it is the first of its kind.
func (tx *Tx) indexResource(op *Op) bool {
	o := ObjectRef{Group: op.Object.Group, Resource: op.Object.Resource}
	rest := op.Object.Name
	if op.Object.Namespace != "" {
		rest = op.Object.Namespace + "/" + rest
	}
	prefix, ok := strings.CutSuffix(op.Key, rest)
	if o.Resource == "" || rest == "" || !ok {
		return true
	}
	tx.s.resource.mu.RLock()
	known := tx.s.resource.byPrefix[prefix]
	tx.s.resource.mu.RUnlock()
	if known == o || slices.Contains(tx.seen, resourceRow{prefix, o}) {
		return true
	}
	tx.seen = append(tx.seen, resourceRow{prefix, o})
	err := tx.s.writer.exec(`INSERT INTO resource (prefix, api_group, resource) VALUES (?, ?, ?)
		ON CONFLICT DO UPDATE SET api_group = excluded.api_group, resource = excluded.resource`, prefix, o.Group, o.Resource)
	return !tx.fail("insert resource", err)
}

// uidOf reads metadata.uid out of an object's JSON; "" when there is none.
func uidOf(value []byte) string {
	var o struct {
		Metadata struct {
			UID string `json:"uid"`
		} `json:"metadata"`
	}
	_ = json.Unmarshal(value, &o)
	return o.Metadata.UID
}
