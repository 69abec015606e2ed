package builtin_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"kuberow/api/kinds"
	"kuberow/api/kinds/builtin"
)

// validate reads an object, gives it its defaults and judges it as a create does.
func validate(t *testing.T, registry *kinds.Registry, gr schema.GroupResource, text string) field.ErrorList {
	t.Helper()
	r := registry.Get(gr)
	obj := r.Hub.New()
	if err := json.Unmarshal([]byte(text), obj); err != nil {
		t.Fatalf("%s: %v", gr, err)
	}
	c := &kinds.Context{Ctx: context.Background(), Resource: r, Version: r.Versions[0], Verb: "create", Now: time.Unix(0, 0)}
	s := r.Strategy
	if s.Default != nil {
		s.Default(obj)
	}
	if s.PrepareForCreate != nil {
		s.PrepareForCreate(c, obj)
	}
	return s.Validate(c, obj)
}

// TestValidation: one object of each kind of these groups that must pass, and ones that must not, with the words that clients read.
func TestValidation(t *testing.T) {
	registry, err := kinds.NewRegistry(builtin.Resources()...)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ resource, object, want string }{
		{"ingresses.networking.k8s.io", `{"spec":{"rules":[{"host":"*.a.com","http":{"paths":[{"path":"/","pathType":"Prefix","backend":{"service":{"name":"s","port":{"number":80}}}}]}}]}}`, ""},
		{"ingresses.networking.k8s.io", `{}`, "spec: Invalid value: null: either `defaultBackend` or `rules` must be specified"},
		{"ingresses.networking.k8s.io", `{"spec":{"rules":[{"host":"10.0.0.1","http":{"paths":[]}}]}}`,
			`spec.rules[0].host: Invalid value: "10.0.0.1": must be a DNS name, not an IP address; spec.rules[0].http.paths: Required value`},
		{"ingressclasses.networking.k8s.io", `{"spec":{"controller":"a.com/b","parameters":{"kind":"K","name":"n"}}}`, ""},
		{"ingressclasses.networking.k8s.io", `{"spec":{"controller":"a.com/b","parameters":{"kind":"K","scope":"Namespace","name":"n"}}}`,
			"spec.parameters.namespace: Required value: `parameters.scope` is set to 'Namespace'"},
		{"ipaddresses.networking.k8s.io", `{}`, "spec.parentRef: Required value"},
		{"networkpolicies.networking.k8s.io", `{"spec":{"ingress":[{"from":[{"ipBlock":{"cidr":"10.0.0.0/8","except":["11.0.0.0/16"]}}]}]}}`,
			"spec.ingress[0].from[0].ipBlock.except[0]: Invalid value: \"11.0.0.0/16\": must be a strict subset of `cidr`"},
		{"servicecidrs.networking.k8s.io", `{"spec":{"cidrs":["10.0.0.0/8","11.0.0.0/8"]}}`,
			`spec.cidrs: Invalid value: ["10.0.0.0/8","11.0.0.0/8"]: may specify no more than one IP for each IP family, i.e 192.168.0.0/24 and 2001:db8::/64`},
		{"endpointslices.discovery.k8s.io", `{"addressType":"IPv4","endpoints":[{"addresses":["10.0.0.1"]}],"ports":[{"port":80}]}`, ""},
		{"endpointslices.discovery.k8s.io", `{"addressType":"IPv4","endpoints":[{"addresses":["127.0.0.1"]}]}`,
			`endpoints[0].addresses[0]: Invalid value: "127.0.0.1": may not be in the loopback range (127.0.0.0/8, ::1/128)`},
		{"leases.coordination.k8s.io", `{"spec":{"leaseDurationSeconds":0}}`, `spec.leaseDurationSeconds: Invalid value: 0: must be greater than 0`},
		{"events.events.k8s.io", `{"metadata":{"namespace":"default"},"reason":"r"}`, `eventTime: Required value; type: Invalid value: "": has invalid value: `},
		{"runtimeclasses.node.k8s.io", `{"handler":"kata"}`, ""},
		{"runtimeclasses.node.k8s.io", `{}`, "handler: Required value"},
		{"storageclasses.storage.k8s.io", `{}`, "provisioner: Required value"},
		{"csidrivers.storage.k8s.io", `{}`, ""},
		{"volumeattributesclasses.storage.k8s.io", `{"driverName":"a"}`, "parameters: Required value: must contain at least one key/value pair"},
		{"volumeattachments.storage.k8s.io", `{"spec":{"attacher":"a","nodeName":"n"}}`,
			"spec.source: Required value: must specify exactly one of inlineVolumeSpec and persistentVolumeName"},
		{"volumeattachments.storage.k8s.io", `{"spec":{"attacher":"a","nodeName":"n","source":{"inlineVolumeSpec":{"accessModes":["ReadWriteOnce"],"azureDisk":{"diskName":"d","diskURI":"u"}}}}}`,
			`spec.source.inlineVolumeSpec.azureDisk.diskURI: Unsupported value: "u": supported values: "https://`}, // the kind is defaulted
		{"volumeattachments.storage.k8s.io", `{"spec":{"attacher":"a","nodeName":"n","source":{"inlineVolumeSpec":{"accessModes":["ReadWriteOnce"],"cephfs":{"monitors":[]}}}}}`,
			`spec.source.inlineVolumeSpec.cephfs.monitors: Required value`},
		{"validatingadmissionpolicybindings.admissionregistration.k8s.io", `{"spec":{"policyName":"p","validationActions":["Deny","Warn"]}}`,
			`spec.validationActions: Invalid value: ["Deny","Warn"]: must not contain both Deny and Warn (repeating the same validation failure information in the API response and headers serves no purpose)`},
		{"mutatingwebhookconfigurations.admissionregistration.k8s.io", `{"webhooks":[{"name":"a.b.c","clientConfig":{"url":"http://x/"},"admissionReviewVersions":["v1"],"sideEffects":"None"}]}`,
			`webhooks[0].clientConfig.url: Invalid value: "http": 'https' is the only allowed URL scheme; desired format: https://host[/path]`},
		{"customresourcedefinitions.apiextensions.k8s.io", `{"metadata":{"name":"x"},"spec":{"group":"a.com","scope":"Galaxy","names":{"plural":"xs","kind":"X"},"versions":[{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object"}}}]}}`,
			`spec.scope: Unsupported value: "Galaxy": supported values: "Cluster", "Namespaced"`},
		{"resourceclaims.resource.k8s.io", `{"spec":{"devices":{"requests":[{"name":"r","exactly":{"deviceClassName":"gpu"}}]}}}`, ""},
		{"resourceclaims.resource.k8s.io", `{"spec":{"devices":{"requests":[{"name":"r"}]}}}`,
			"spec.devices.requests[0]: Required value: exactly one of `exactly` or `firstAvailable` is required"},
		{"resourceslices.resource.k8s.io", `{"spec":{"driver":"d","pool":{"name":"p","resourceSliceCount":1}}}`,
			"spec: Required value: exactly one of `nodeName`, `nodeSelector`, `allNodes`, `perDeviceNodeSelection` is required"},
		{"storageversionmigrations.storagemigration.k8s.io", `{}`, "spec.resource.resource: Required value: resource is required to be set"},
	} {
		var got []string
		for _, e := range validate(t, registry, schema.ParseGroupResource(c.resource), c.object) {
			got = append(got, e.Error())
		}
		if all := strings.Join(got, "; "); all != c.want && (c.want == "" || !strings.Contains(all, c.want)) {
			t.Errorf("%s %s:\n got %s\nwant %s", c.resource, c.object, all, c.want)
		}
	}
}

// TestEventConversion: an event goes to the core form and back unchanged.
func TestEventConversion(t *testing.T) {
	registry, err := kinds.NewRegistry(builtin.Resources()...)
	if err != nil {
		t.Fatal(err)
	}
	v := registry.Get(schema.ParseGroupResource("events.events.k8s.io")).Versions[0]
	const text = `{"kind":"Event","apiVersion":"events.k8s.io/v1","metadata":{"name":"e"},"eventTime":"2026-01-01T00:00:00.000000Z",` +
		`"series":{"count":4,"lastObservedTime":"2026-01-01T00:05:00.000000Z"},"reportingController":"c","reportingInstance":"i","action":"a","reason":"r",` +
		`"regarding":{"kind":"Pod","name":"p"},"note":"n","type":"Normal","deprecatedSource":{},"deprecatedFirstTimestamp":null,"deprecatedLastTimestamp":null}`
	in := v.New()
	if err := json.Unmarshal([]byte(text), in); err != nil {
		t.Fatal(err)
	}
	hub, err := v.ToHub(in)
	if err != nil {
		t.Fatal(err)
	}
	out, err := v.FromHub(hub)
	if err != nil {
		t.Fatal(err)
	}
	b, err := json.Marshal(out)
	if err != nil {
		t.Fatal(err)
	}
	if string(b) != text {
		t.Errorf("got  %s\nwant %s", b, text)
	}
	if got := hub.GetObjectKind().GroupVersionKind().String(); got != "/v1, Kind=Event" {
		t.Errorf("the hub says it is %s", got)
	}
}
