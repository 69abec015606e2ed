package cluster

import (
	"context"
	"fmt"
	"io"
	"path"
	"strings"
	"text/tabwriter"

	"github.com/jmoiron/sqlx"
)

// kuberow why and kuberow history: the views of the same names, for people.
// Both know only what the rows say, so anybody can get the same from sqlite3.

// event is one change of one object: a row of why or history.
type event struct {
	Revision int64
	At       string
	User     string
	Manager  string // the field manager of the request, "" when nothing tells
	Verb     string
	Object   string // deployments/default/web
	Path     string
	Change   string // created, updated, deleted
	Cause    string // deployments/default/web@34; history only
}

// manager is the field manager of the request that became revision: with kubectl it
// tells the command, which the User-Agent does not. It is the entry of
// managedFields that the row before did not have; a request also changes the entries that it takes
// fields from, so the newest counts, and within one second the one that is wholly new.
const manager = `coalesce((SELECT m.value ->> '$.manager'
	FROM kv LEFT JOIN kv AS was ON was.id = kv.prev_id JOIN json_each(kv.managed_fields) AS m
	WHERE kv.mod_revision = revision AND kv.sub = 0
	AND NOT EXISTS (SELECT 1 FROM json_each(was.managed_fields) AS old WHERE old.value = m.value)
	ORDER BY m.value ->> '$.time' DESC,
	EXISTS (SELECT 1 FROM json_each(was.managed_fields) AS old WHERE old.value ->> '$.manager' = m.value ->> '$.manager')
	LIMIT 1), '') AS manager`

// Why prints the chain of causes of one object: who created it, the change which that
// reacted to, and so on to what a person asked for.
func Why(ctx context.Context, dir, namespace, object string, out io.Writer) error {
	db, err := openToRead(dir)
	if err != nil {
		return err
	}
	defer db.Close()
	key, err := keyOf(ctx, db, namespace, object)
	if err != nil {
		return err
	}
	var chain []event
	err = db.SelectContext(ctx, &chain, `SELECT revision, at, user, `+manager+`, verb, object, path,
		CASE verb WHEN 'create' THEN 'created' WHEN 'delete' THEN 'deleted' ELSE 'updated' END AS change, '' AS cause
		FROM why WHERE key = ? ORDER BY step`, key)
	if err != nil {
		return fmt.Errorf("read the causes of %s: %w", object, err)
	}
	if len(chain) == 0 {
		return fmt.Errorf("%s is not in the cluster: look with kubectl get, and give its namespace with -n", object)
	}
	w := tabwriter.NewWriter(out, 0, 0, 3, ' ', 0)
	for i, e := range chain {
		arrow := "  "
		if i > 0 {
			arrow = "← "
		}
		fmt.Fprintf(w, "%s%s\t%s\tat revision %d\tby %s\t%s\n", arrow, e.Object, e.change(), e.Revision, e.who(), e.At)
	}
	return w.Flush()
}

// History prints the changes that are kept, of one object or of all, the oldest first.
func History(ctx context.Context, dir, namespace, object string, out io.Writer) error {
	db, err := openToRead(dir)
	if err != nil {
		return err
	}
	defer db.Close()
	where, args := "", []any{}
	if object != "" {
		key, err := keyOf(ctx, db, namespace, object)
		if err != nil {
			return err
		}
		where, args = ` WHERE key = ?`, []any{key}
	}
	rows, err := db.QueryxContext(ctx, `SELECT revision, at, user, `+manager+`, verb, object, path, change,
		coalesce(cause_object || '@' || cause_revision, '') AS cause FROM history`+where+` ORDER BY id`, args...)
	if err != nil {
		return fmt.Errorf("read the history: %w", err)
	}
	defer rows.Close()
	n, err := printHistory(rows, out)
	if err == nil && n == 0 {
		err = fmt.Errorf("there is no history of %s: it never was, or compaction has removed it; look with kubectl get, and give its namespace with -n", object)
	}
	return err
}

func printHistory(rows *sqlx.Rows, out io.Writer) (n int, err error) {
	w := tabwriter.NewWriter(out, 0, 0, 3, ' ', 0)
	for ; rows.Next(); n++ {
		var e event
		if err := rows.StructScan(&e); err != nil {
			return n, fmt.Errorf("read the history: %w", err)
		}
		if n == 0 {
			fmt.Fprintln(w, "REVISION\tAT\tOBJECT\tCHANGE\tBY\tBECAUSE OF")
		}
		cause := e.Cause
		if cause == "" {
			cause = "-" // a person asked, or time passed
		}
		fmt.Fprintf(w, "%d\t%s\t%s\t%s\t%s\t%s\n", e.Revision, e.At, e.Object, e.change(), e.who(), cause)
	}
	if err := rows.Err(); err != nil {
		return n, fmt.Errorf("read the history: %w", err)
	}
	return n, w.Flush()
}

// change is what happened, and to which part: updated status.
func (e event) change() string {
	if _, part, ok := strings.Cut(e.Path, "/"+path.Base(e.Object)+"/"); ok && e.Change == "updated" {
		return e.Change + " " + part
	}
	return e.Change
}

// who is the user, short for a controller, and for a person also the means.
func (e event) who() string {
	if controller, ok := strings.CutPrefix(e.User, "system:serviceaccount:kube-system:"); ok {
		return controller
	}
	if strings.HasPrefix(e.User, "system:") || e.Manager == "" || e.Change == "deleted" {
		return e.User
	}
	return e.User + " with " + means(e.Manager)
}

// means tells a kubectl command from the field manager that it goes by.
func means(manager string) string {
	switch command, ok := strings.CutPrefix(manager, "kubectl-"); {
	case manager == "kubectl-client-side-apply":
		return "kubectl apply"
	case ok:
		return "kubectl " + command
	}
	return manager
}
