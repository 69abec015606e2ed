package cluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strconv"

	"github.com/jmoiron/sqlx"

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
	var version int64
	if err := db.Get(&version, "PRAGMA user_version"); err != nil || version > sqlstore.SchemaVersion {
		db.Close()
		return nil, errors.Join(err, fmt.Errorf("%s has schema version %d, this kuberow knows %d: run the newer kuberow that wrote it", path, version, sqlstore.SchemaVersion))
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
	printInvariants(out, problems)
	if n := len(problems); n > 0 {
		return fmt.Errorf("%d %s in %s: keep a copy of the directory, and restore an older one or report this", n, plural(n, "problem"), filepath.Join(dir, "cluster.db"))
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

// printInvariants prints what was checked, one line each, and below it what breaks it.
func printInvariants(out io.Writer, problems []sqlstore.Problem) {
	broken := map[string][]string{}
	for _, p := range problems {
		broken[p.Invariant] = append(broken[p.Invariant], p.Detail)
	}
	for _, inv := range sqlstore.Invariants() {
		verdict := "holds"
		if broken[inv.Sentence] != nil {
			verdict = "BROKEN"
		}
		fmt.Fprintf(out, "%-6s  %s\n", verdict, inv.Sentence)
		for _, detail := range broken[inv.Sentence] {
			fmt.Fprintf(out, "        - %s\n", detail)
		}
	}
}

func plural(n int, word string) string {
	if n == 1 {
		return word
	}
	return word + "s"
}
