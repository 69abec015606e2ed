package cluster

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/jmoiron/sqlx"

	"kuberow/api/kinds"
	"kuberow/api/kinds/builtin"
	"kuberow/docker"
	"kuberow/sqlstore"
)

// The commands that read cluster.db. No server need run, and one may.

// openToRead opens the database of a data directory for reading.
func openToRead(dir string) (*sqlx.DB, error) {
	path := filepath.Join(dir, "cluster.db")
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("there is no %s: give the cluster's directory with --data-dir, or start one with kuberow serve", path)
	} else if err != nil {
		return nil, fmt.Errorf("look for %s: %w", path, err)
	}
	name := (&url.URL{Scheme: "file", Opaque: (&url.URL{Path: path}).EscapedPath(), RawQuery: "_pragma=query_only(1)&_pragma=busy_timeout(5000)"}).String()
	db, err := sqlx.Open("sqlite", name)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", path, err)
	}
	var id int64
	if err := db.Get(&id, "PRAGMA application_id"); err != nil {
		db.Close()
		return nil, fmt.Errorf("read %s: %w; is it a file of kuberow's, and may you read it?", path, err)
	}
	if id != sqlstore.ApplicationID {
		db.Close()
		return nil, fmt.Errorf("%s is a SQLite file, but not kuberow's (its application_id is %d): give another --data-dir", path, id)
	}
	return db, nil
}

// DockerLabel is the label of everything that the cluster of a data directory
// owns in a Docker engine: docker ps --filter label=...
func DockerLabel(dir string) (string, error) {
	db, err := openToRead(dir)
	if err != nil {
		return "", err
	}
	defer db.Close()
	var id int64
	if err := db.Get(&id, "SELECT cluster_id FROM store"); err != nil {
		return "", fmt.Errorf("read the cluster's name: %w", err)
	}
	return docker.LabelCluster + "=" + dockerName(id), nil
}

// dockerName is the cluster's ID as labels hold it.
func dockerName(id int64) string { return strconv.FormatUint(uint64(id), 16) }

// Check runs the invariants and prints what it checked; an error when one does not hold.
func Check(ctx context.Context, dir string, out io.Writer) error {
	db, err := openToRead(dir)
	if err != nil {
		return err
	}
	defer db.Close()
	tx, err := db.BeginTxx(ctx, nil) // one snapshot, also beside a running server
	if err != nil {
		return fmt.Errorf("begin the check: %w", err)
	}
	defer tx.Rollback()
	problems, err := sqlstore.Check(ctx, tx)
	if err != nil {
		return fmt.Errorf("check: %w", err)
	}
	if len(problems) > 0 {
		for _, p := range problems {
			fmt.Fprintln(out, p)
		}
		return fmt.Errorf("%d problems in %s: keep a copy of the directory, and restore an older one or report this", len(problems), filepath.Join(dir, "cluster.db"))
	}
	var rows, live, requests, log, revision int64
	err = tx.QueryRowxContext(ctx, `SELECT (SELECT count(*) FROM kv), (SELECT count(*) FROM live), (SELECT count(*) FROM request),
		(SELECT count(*) FROM raft_log), (SELECT current_revision FROM store)`).Scan(&rows, &live, &requests, &log, &revision)
	if err != nil {
		return fmt.Errorf("count the rows: %w", err)
	}
	fmt.Fprintf(out, "ok: revision %d; %d invariants hold over %d rows of kv, %d living keys, %d requests and %d log entries\n",
		revision, len(sqlstore.Invariants()), rows, live, requests, log)
	return nil
}

// Why prints the chain of causes of one object.
func Why(ctx context.Context, dir, namespace, object string, out io.Writer) error {
	return printRows(ctx, dir, namespace, object, out,
		[]string{"STEP", "AT", "USER", "AGENT", "VERB", "OBJECT", "REVISION"},
		`SELECT step, at, user, agent, verb, object, revision FROM why WHERE key = ? ORDER BY step`)
}

// History prints the changes that are kept, of one object or of all.
func History(ctx context.Context, dir, namespace, object string, out io.Writer) error {
	query := `SELECT revision, at, user, verb, object, change, coalesce(cause_object || '@' || cause_revision, '') FROM history`
	if object != "" {
		query += ` WHERE key = ?`
	}
	return printRows(ctx, dir, namespace, object, out,
		[]string{"REVISION", "AT", "USER", "VERB", "OBJECT", "CHANGE", "BECAUSE OF"}, query+` ORDER BY revision`)
}

// printRows prints a query's rows under headings; the query's one parameter is the object's key.
func printRows(ctx context.Context, dir, namespace, object string, out io.Writer, headings []string, query string) error {
	db, err := openToRead(dir)
	if err != nil {
		return err
	}
	defer db.Close()
	var args []any
	if object != "" {
		key, err := keyOf(namespace, object)
		if err != nil {
			return err
		}
		args = append(args, key)
	}
	rows, err := db.QueryxContext(ctx, query, args...)
	if err != nil {
		return fmt.Errorf("read the cluster: %w", err)
	}
	defer rows.Close()
	w := tabwriter.NewWriter(out, 0, 0, 3, ' ', 0)
	n := 0
	for ; rows.Next(); n++ {
		if n == 0 {
			fmt.Fprintln(w, strings.Join(headings, "\t"))
		}
		cells := make([]sql.NullString, len(headings))
		into := make([]any, len(headings))
		for i := range cells {
			into[i] = &cells[i]
		}
		if err := rows.Scan(into...); err != nil {
			return fmt.Errorf("read the cluster: %w", err)
		}
		texts := make([]string, len(headings))
		for i := range cells {
			texts[i] = cells[i].String
		}
		fmt.Fprintln(w, strings.Join(texts, "\t"))
	}
	if err := rows.Err(); err != nil {
		return fmt.Errorf("read the cluster: %w", err)
	}
	if n == 0 {
		return fmt.Errorf("%s is not in the cluster: look with kubectl get, and give its namespace with -n", object)
	}
	return w.Flush()
}

// keyOf finds the key of KIND/NAME, where KIND is what kubectl takes: plural,
// singular or short name, with ".group" where two groups share it.
func keyOf(namespace, object string) (string, error) {
	kind, name, _ := strings.Cut(object, "/")
	kind, group, qualified := strings.Cut(strings.ToLower(kind), ".")
	for _, r := range builtin.Resources() {
		if r.Prefix != "" && called(r, kind) && (!qualified || r.Group == group) {
			return r.Key(namespace, name), nil
		}
	}
	return "", fmt.Errorf("%q is no kind that kuberow serves: kubectl api-resources lists them", kind)
}

func called(r *kinds.Resource, name string) bool {
	if r.Name == name || r.Singular == name {
		return true
	}
	for _, short := range r.ShortNames {
		if short == name {
			return true
		}
	}
	return false
}
