package rest_test

import (
	"slices"
	"testing"

	"kuberow/api/apitest"
	"kuberow/api/kinds/autoscaling"
	"kuberow/api/kinds/core"
	"kuberow/api/kinds/events"
)

// A JSON or merge patch may change the version of the object: what comes out is read in that version, also of another
// group that serves the same kind. The answer is in the version of the URL.
func TestPatchesChangeTheVersion(t *testing.T) {
	s := apitest.Start(t, slices.Concat(core.Resources(), autoscaling.Resources(), events.Resources()), nil)
	const scalers = "/namespaces/default/horizontalpodautoscalers"
	want(t, s, 201, "POST", "/apis/autoscaling/v1"+scalers, `{"metadata":{"name":"h"},"spec":{"scaleTargetRef":{"apiVersion":"apps/v1","kind":"Deployment","name":"d"},"maxReplicas":3}}`,
		"Content-Type", "application/json")
	o := want(t, s, 200, "PATCH", "/apis/autoscaling/v1"+scalers+"/h", `{"apiVersion":"autoscaling/v2","spec":{"metrics":[
		{"type":"Resource","resource":{"name":"cpu","target":{"type":"Utilization","averageUtilization":33}}}]}}`, "Content-Type", "application/merge-patch+json")
	if got := o.at("spec", "targetCPUUtilizationPercentage"); got != float64(33) || o.text("apiVersion") != "autoscaling/v1" {
		t.Errorf("the target is %v in %s, want 33 in autoscaling/v1", got, o.text("apiVersion"))
	}
	o = want(t, s, 200, "PATCH", "/apis/autoscaling/v2"+scalers+"/h", `[{"op":"replace","path":"/apiVersion","value":"autoscaling/v1"},
		{"op":"add","path":"/spec/targetCPUUtilizationPercentage","value":44}]`, "Content-Type", "application/json-patch+json")
	if metrics, _ := o.at("spec", "metrics").([]any); len(metrics) != 1 || object(metrics[0].(map[string]any)).at("resource", "target", "averageUtilization") != float64(44) {
		t.Errorf("the metrics are %v, want cpu at 44", metrics)
	}

	want(t, s, 201, "POST", "/api/v1/namespaces/default/events", `{"metadata":{"name":"e"},"involvedObject":{"namespace":"default"},"reason":"R"}`,
		"Content-Type", "application/json")
	o = want(t, s, 200, "PATCH", "/api/v1/namespaces/default/events/e", `{"apiVersion":"events.k8s.io/v1","note":"n"}`, "Content-Type", "application/merge-patch+json")
	if o.text("message") != "n" || o.text("apiVersion") != "v1" {
		t.Errorf("the message is %q in %s, want n in v1", o.text("message"), o.text("apiVersion"))
	}
}
