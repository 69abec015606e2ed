package api

import (
	"net/http"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"k8s.io/apiserver/pkg/endpoints/request"
)

// metrics counts requests under the names that dashboards of Kubernetes know.
type metrics struct {
	registry *prometheus.Registry
	total    *prometheus.CounterVec
	duration *prometheus.HistogramVec
	handler  http.Handler
}

func newMetrics() *metrics {
	m := &metrics{
		registry: prometheus.NewRegistry(),
		total: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "apiserver_request_total",
			Help: "Counter of apiserver requests broken out for each verb, group, version, resource, subresource and HTTP response code.",
		}, []string{"verb", "group", "version", "resource", "subresource", "code"}),
		duration: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "apiserver_request_duration_seconds",
			Help:    "Response latency distribution in seconds for each verb, group, version, resource and subresource.",
			Buckets: []float64{0.001, 0.005, 0.025, 0.1, 0.5, 1, 5, 30},
		}, []string{"verb", "group", "version", "resource", "subresource"}),
	}
	m.registry.MustRegister(m.total, m.duration, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	m.handler = promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{})
	return m
}

// observe counts a request that has ended. Paths that are no resources count
// under their verb alone: their number is the client's to choose.
func (m *metrics) observe(info *request.RequestInfo, code int, took time.Duration) {
	labels := []string{info.Verb, "", "", "", ""}
	if info.IsResourceRequest {
		labels = []string{info.Verb, info.APIGroup, info.APIVersion, info.Resource, info.Subresource}
	}
	if code == http.StatusNotFound && info.IsResourceRequest && info.Name == "" {
		labels = []string{info.Verb, "", "", "", ""} // a resource that does not exist
	}
	m.total.WithLabelValues(append(labels, strconv.Itoa(code))...).Inc()
	if info.Verb != "watch" {
		m.duration.WithLabelValues(labels...).Observe(took.Seconds())
	}
}

func (m *metrics) serve(w http.ResponseWriter, req *http.Request) { m.handler.ServeHTTP(w, req) }
