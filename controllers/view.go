package controllers

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jmoiron/sqlx"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/selection"
	"k8s.io/apimachinery/pkg/types"

	"kuberow/api/kinds"
	"kuberow/sqlstore"
)

// storeView is a View over one read transaction of the store, open for as long
// as a Step runs. SQL finds which rows are meant, through live, label and owner; the
// cache of decoded rows, which the API fills as it writes, turns them into objects: a list of
// a thousand known pods reads their ids only.
//
// Statements run without a context: the driver starts a goroutine for each call that could be cancelled.
// A read that fails is kept in err, and whatever the Step answered is thrown away.
type storeView struct {
	ctx    context.Context
	tx     *sqlx.Tx
	rev    int64
	now    time.Time
	runner *Runner
	causes map[Key]sqlstore.Cause
	memo   map[string][]runtime.Object // lists of this view, by question
	err    error
}

// position is where an object stands: its row in kv.
type position struct {
	Key string `db:"key"`
	ID  int64  `db:"id"`
}

// view opens a View of now. Close it.
func (r *Runner) view(ctx context.Context, causes map[Key]sqlstore.Cause) (*storeView, error) {
	tx, err := r.cfg.Store.Reader().BeginTxx(context.Background(), &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return nil, fmt.Errorf("open view: %w", err)
	}
	v := &storeView{ctx: ctx, tx: tx, now: r.cfg.Clock.Now(), runner: r, causes: causes, memo: map[string][]runtime.Object{}}
	if err := tx.Get(&v.rev, `SELECT current_revision FROM store`); err != nil {
		v.close()
		return nil, fmt.Errorf("open view: %w", err)
	}
	return v, nil
}

// close ends the read transaction; nothing was written in it.
func (v *storeView) close() { _ = v.tx.Rollback() }

func (v *storeView) Context() context.Context   { return v.ctx }
func (v *storeView) Revision() int64            { return v.rev }
func (v *storeView) Now() time.Time             { return v.now }
func (v *storeView) Cluster() *kinds.Cluster    { return v.runner.cfg.Cluster }
func (v *storeView) Cause(k Key) sqlstore.Cause { return v.causes[k] }
func (v *storeView) Random(n int) string        { return v.runner.cfg.Random(n) }
func (v *storeView) Registry() *kinds.Registry  { return v.runner.cfg.Registry }

// fail keeps the first failure.
func (v *storeView) fail(err error) {
	if v.err == nil {
		v.err = err
	}
}

func (v *storeView) Get(gr schema.GroupResource, namespace, name string) runtime.Object {
	res := v.runner.cfg.Registry.Get(gr)
	if res == nil || v.err != nil {
		return nil
	}
	var p position
	err := v.tx.Get(&p, `SELECT key, id FROM live WHERE key = ?`, res.Key(namespace, name))
	if errors.Is(err, sql.ErrNoRows) {
		return nil
	}
	if err != nil {
		v.fail(fmt.Errorf("get %s %s/%s: %w", gr, namespace, name, err))
		return nil
	}
	objs := v.objects(gr, []position{p})
	if len(objs) == 0 {
		return nil
	}
	return objs[0]
}

func (v *storeView) List(gr schema.GroupResource, namespace string, selector labels.Selector) []runtime.Object {
	if selector == nil {
		selector = labels.Everything()
	}
	question := gr.String() + "\x00" + namespace + "\x00" + selector.String()
	if objs, ok := v.memo[question]; ok {
		return objs
	}
	var objs []runtime.Object
	for _, obj := range v.objects(gr, v.positions(gr, namespace, selector)) {
		if selector.Empty() || selector.Matches(labels.Set(accessor(obj).GetLabels())) {
			objs = append(objs, obj)
		}
	}
	v.memo[question] = objs
	return objs
}

// positions finds the rows that a selector may mean: exactly those of its first
// "label = value" requirement, or all of the range. The caller tests the rest.
func (v *storeView) positions(gr schema.GroupResource, namespace string, selector labels.Selector) []position {
	res := v.runner.cfg.Registry.Get(gr)
	requirements, selectable := selector.Requirements()
	if res == nil || res.Prefix == "" || v.err != nil || !selectable {
		return nil
	}
	from := res.Range(namespace)
	to := sqlstore.PrefixEnd(from)
	var found []position
	var err error
	if name, value, ok := oneValue(requirements); ok {
		err = v.tx.Select(&found, `
			SELECT l.key, l.id FROM label s JOIN live l ON l.key = s.key
			WHERE s.name = ? AND s.value = ? AND s.key >= ? AND s.key < ?
			ORDER BY s.key`, name, value, from, to)
	} else {
		err = v.tx.Select(&found, `
			SELECT key, id FROM live WHERE key >= ? AND key < ? ORDER BY key`, from, to)
	}
	if err != nil {
		v.fail(fmt.Errorf("list %s: %w", gr, err))
	}
	return found
}

// oneValue finds a requirement that one value of one label answers.
func oneValue(requirements labels.Requirements) (name, value string, ok bool) {
	for _, q := range requirements {
		switch q.Operator() {
		case selection.Equals, selection.DoubleEquals, selection.In:
			if q.Values().Len() == 1 {
				return q.Key(), q.Values().UnsortedList()[0], true
			}
		}
	}
	return "", "", false
}

func (v *storeView) Owned(gr schema.GroupResource, uid types.UID) []runtime.Object {
	res := v.runner.cfg.Registry.Get(gr)
	if res == nil || uid == "" || v.err != nil {
		return nil
	}
	question := "owner\x00" + gr.String() + "\x00" + string(uid)
	if objs, ok := v.memo[question]; ok {
		return objs
	}
	var found []position
	from := res.Range("")
	if err := v.tx.Select(&found, `
		SELECT l.key, l.id FROM owner o JOIN live l ON l.key = o.key
		WHERE o.uid = ? AND o.key >= ? AND o.key < ?
		ORDER BY o.key`, uid, from, sqlstore.PrefixEnd(from)); err != nil {
		v.fail(fmt.Errorf("list %s owned by %s: %w", gr, uid, err))
		return nil
	}
	objs := v.objects(gr, found)
	v.memo[question] = objs
	return objs
}

// Dependents gives every living object that names uid as an owner, of any resource.
func (v *storeView) Dependents(uid types.UID) []Dependent {
	var found []struct {
		position
		Group    string `db:"api_group"`
		Resource string `db:"resource"`
	}
	if err := v.tx.Select(&found, `
		SELECT l.key, l.id, l.api_group, l.resource FROM owner o JOIN live l ON l.key = o.key
		WHERE o.uid = ? ORDER BY o.key`, uid); err != nil {
		v.fail(fmt.Errorf("find dependents of %s: %w", uid, err))
		return nil
	}
	var out []Dependent
	for _, f := range found {
		gr := schema.GroupResource{Group: f.Group, Resource: f.Resource}
		for _, obj := range v.objects(gr, []position{f.position}) {
			out = append(out, Dependent{Resource: gr, Object: obj})
		}
	}
	return out
}

// Alive says whether a living object has this uid.
func (v *storeView) Alive(uid types.UID) bool {
	var n int
	if err := v.tx.Get(&n, `SELECT count(*) FROM live WHERE uid = ?`, uid); err != nil {
		v.fail(fmt.Errorf("look for %s: %w", uid, err))
		return true // rather keep than collect
	}
	return n > 0
}

// chunk is how many unknown rows are read by one statement.
const chunk = 200

// objects turns positions into objects, in order. Rows that were not decoded
// before are read together. A row that cannot be decoded is logged and left
// out: one bad object must not stop a controller.
func (v *storeView) objects(gr schema.GroupResource, found []position) []runtime.Object {
	if v.err != nil {
		return nil
	}
	out := make([]runtime.Object, len(found))
	at := map[int64]int{}
	var missing []any
	for i, p := range found {
		if obj, ok := v.runner.cfg.Objects.Find(p.ID); ok {
			out[i] = obj
			continue
		}
		at[p.ID] = i
		missing = append(missing, p.ID)
	}
	for len(missing) > 0 {
		ids := missing[:min(chunk, len(missing))]
		missing = missing[len(ids):]
		var rows []sqlstore.KV
		query := `SELECT id, mod_revision, sub, key, create_revision, version, lease, value, managed_fields, prev_id, request_id
			FROM kv WHERE id IN (?` + strings.Repeat(",?", len(ids)-1) + `)`
		if err := v.tx.Select(&rows, query, ids...); err != nil {
			v.fail(fmt.Errorf("read rows of %s: %w", gr, err))
			return nil
		}
		for i := range rows {
			obj, err := v.runner.decode(gr, &rows[i])
			if err != nil {
				v.runner.cfg.Logger.Warn("leave out an object that cannot be decoded", "key", rows[i].Key, "error", err)
				continue
			}
			out[at[rows[i].ID]] = obj
		}
	}
	kept := out[:0]
	for _, obj := range out {
		if obj != nil {
			kept = append(kept, obj)
		}
	}
	return kept
}

// all gives every object of a resource, with the row that it stands in.
func (v *storeView) all(gr schema.GroupResource) []Object {
	var out []Object
	for _, p := range v.positions(gr, "", labels.Everything()) {
		for _, obj := range v.objects(gr, []position{p}) {
			out = append(out, Object{
				Resource: gr, Now: obj,
				Cause: sqlstore.Cause{Revision: revisionOf(obj), ID: p.ID},
			})
		}
	}
	return out
}

// ownedOrEnding gives every object that has an owner or is being deleted.
func (v *storeView) ownedOrEnding() []Object {
	var found []struct {
		position
		Group    string `db:"api_group"`
		Resource string `db:"resource"`
	}
	if err := v.tx.Select(&found, `
		SELECT l.key, l.id, l.api_group, l.resource FROM live l
		WHERE l.uid <> '' AND (l.key IN (SELECT key FROM owner)
			OR EXISTS (SELECT 1 FROM kv k WHERE k.id = l.id AND k.value LIKE '%"deletionTimestamp"%'))
		ORDER BY l.key`); err != nil {
		v.fail(fmt.Errorf("find owned objects: %w", err))
		return nil
	}
	var out []Object
	for _, f := range found {
		gr := schema.GroupResource{Group: f.Group, Resource: f.Resource}
		for _, obj := range v.objects(gr, []position{f.position}) {
			out = append(out, Object{Resource: gr, Now: obj, Cause: sqlstore.Cause{Revision: revisionOf(obj), ID: f.ID}})
		}
	}
	return out
}
