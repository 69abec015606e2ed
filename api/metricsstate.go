package api

import (
	"context"
	"database/sql"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// What is true at the moment of asking is collected then, and costs nothing before.

var (
	inflightDesc = prometheus.NewDesc("apiserver_current_inflight_requests",
		"Requests under way, of those that the limits of in-flight requests count.", []string{"request_kind"}, nil)
	objectsDesc = prometheus.NewDesc("apiserver_resource_objects",
		"Objects in the store, by kind.", []string{"group", "resource"}, nil)
	oldObjectsDesc = prometheus.NewDesc("apiserver_storage_objects",
		"Objects in the store, by resource; apiserver_resource_objects tells it better.", []string{"resource"}, nil)
	sizeDesc = prometheus.NewDesc("apiserver_storage_size_bytes",
		"Bytes of the database file.", []string{"storage_cluster_id"}, nil)
	buildDesc = prometheus.NewDesc("kubernetes_build_info",
		"Always 1; the labels say which version is served.",
		[]string{"major", "minor", "git_version", "git_commit", "git_tree_state", "build_date", "go_version", "compiler", "platform"}, nil)
	auditDesc = prometheus.NewDesc("apiserver_audit_event_total", "Audit events that were handed to the log.", nil, nil)
	auditFail = prometheus.NewDesc("apiserver_audit_error_total", "Audit events that could not be written.", []string{"plugin"}, nil)
)

// stateCollector reads the server's and the store's state.
type stateCollector struct{ s *Server }

// Describe implements prometheus.Collector.
func (c stateCollector) Describe(out chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{inflightDesc, objectsDesc, oldObjectsDesc, sizeDesc, buildDesc, auditDesc, auditFail} {
		out <- d
	}
}

// Collect implements prometheus.Collector.
func (c stateCollector) Collect(out chan<- prometheus.Metric) {
	gauge := func(d *prometheus.Desc, v float64, labels ...string) {
		out <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
	}
	gauge(inflightDesc, float64(len(c.s.inflight.reading)), "readOnly")
	gauge(inflightDesc, float64(len(c.s.inflight.writing)), "mutating")
	v := Version()
	gauge(buildDesc, 1, v.Major, v.Minor, v.GitVersion, v.GitCommit, v.GitTreeState, v.BuildDate, v.GoVersion, v.Compiler, v.Platform)
	written, failed := c.s.Audit.counts()
	out <- prometheus.MustNewConstMetric(auditDesc, prometheus.CounterValue, float64(written))
	out <- prometheus.MustNewConstMetric(auditFail, prometheus.CounterValue, float64(failed), "log")
	if err := c.objects(gauge); err != nil {
		c.s.Logger.Warn("metrics of the store are missing", "error", err)
	}
}

func (c stateCollector) objects(gauge func(*prometheus.Desc, float64, ...string)) error {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	db := c.s.Store.Reader()
	rows, err := db.QueryContext(ctx, `SELECT api_group, resource, count(*) FROM live GROUP BY api_group, resource`)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var group, resource sql.NullString
		var n float64
		if err := rows.Scan(&group, &resource, &n); err != nil {
			return err
		}
		if resource.String == "" {
			continue // a key that is no object
		}
		gauge(objectsDesc, n, group.String, resource.String)
		name := resource.String
		if group.String != "" {
			name += "." + group.String
		}
		gauge(oldObjectsDesc, n, name)
	}
	if err := rows.Err(); err != nil {
		return err
	}
	var bytes float64
	if err := db.QueryRowContext(ctx, `SELECT page_count * page_size FROM pragma_page_count, pragma_page_size`).Scan(&bytes); err != nil {
		return err
	}
	gauge(sizeDesc, bytes, "0")
	return nil
}
