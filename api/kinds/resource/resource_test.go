package resource

import (
	"strings"
	"testing"
	"time"

	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"kuberow/api/kinds"
	"sigs.k8s.io/yaml"
)

func parse[T any](t *testing.T, text string) *T {
	t.Helper()
	out := new(T)
	if err := yaml.UnmarshalStrict([]byte(text), out); err != nil {
		t.Fatal(err)
	}
	return out
}

func check(t *testing.T, what string, all field.ErrorList, want string) {
	t.Helper()
	var lines []string
	for _, e := range all {
		lines = append(lines, e.Error())
	}
	if got := strings.Join(lines, "\n"); got != strings.TrimSpace(want) {
		t.Errorf("%s: got\n%s\nwant\n%s", what, got, want)
	}
}

func TestClaim(t *testing.T) {
	for _, c := range []struct{ what, spec, want string }{
		{"well", `{devices: {requests: [{name: r, exactly: {deviceClassName: gpu, tolerations: [{key: a, value: b}], selectors: [{cel: {expression: "device.driver == 'x'"}}]}}]}}`, ""},
		{"declared faults are last", `{devices: {requests: [{name: r, exactly: {deviceClassName: gpu}}, {name: r, exactly: {deviceClassName: G_, allocationMode: Some}}], config: [{opaque: {driver: ""}}]}}`, `
spec.devices.requests[1].exactly.deviceClassName: Invalid value: "G_": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')
spec.devices.config[0].opaque.parameters: Required value
spec.devices.requests[1]: Duplicate value: {"name":"r","exactly":{"deviceClassName":"G_","allocationMode":"Some"}}
spec.devices.requests[1].exactly.allocationMode: Unsupported value: "Some": supported values: "All", "ExactCount"
spec.devices.config[0].opaque.driver: Required value`},
		{"one of two", `{devices: {requests: [{name: r, exactly: {deviceClassName: gpu}, firstAvailable: [{name: s}]}]}}`, "\n" +
			"spec.devices.requests[0]: Invalid value: null: exactly one of `exactly` or `firstAvailable` is required, but multiple fields are set\n" +
			"spec.devices.requests[0].firstAvailable[0].deviceClassName: Required value"},
		{"a selector that does not compile", `{devices: {requests: [{name: r, exactly: {deviceClassName: gpu, selectors: [{cel: {expression: device.drive}}]}}]}}`, `
spec.devices.requests[0].exactly.selectors[0].cel.expression: Invalid value: "device.drive": compilation failed: ERROR: <input>:1:7: undefined field 'drive'
 | device.drive
 | ......^`},
	} {
		spec := parse[resourcev1.ResourceClaimSpec](t, c.spec)
		defaultClaim(spec)
		all := validateClaimSpec(spec, field.NewPath("spec"))
		check(t, c.what, append(all, declaredClaim(&spec.Devices, field.NewPath("spec", "devices"))...), c.want)
	}
}

func TestSlice(t *testing.T) {
	const head = `{driver: d.example.com, nodeName: n, pool: {name: p, generation: 1, resourceSliceCount: 1}, devices: [{name: d, `
	for _, c := range []struct{ what, device, want string }{
		{"well", `allowMultipleAllocations: true, capacity: {memory: {value: "80", requestPolicy: {default: "10", validRange: {min: "5", max: "40", step: "5"}}}}}]}`, ""},
		{"a policy needs sharing", `capacity: {memory: {value: "80", requestPolicy: {}}}}]}`,
			"spec.devices[0].capacity[memory].requestPolicy: Forbidden: allowMultipleAllocations must be true"},
		{"steps", `allowMultipleAllocations: true, capacity: {m: {value: "80", requestPolicy: {default: "10", validRange: {min: "5", step: "3"}}}}}]}`,
			`spec.devices[0].capacity[m].requestPolicy.validRange.step: Invalid value: "10": value is not a multiple of a given step (3) from (5)`},
		{"values", `allowMultipleAllocations: true, capacity: {m: {value: "8", requestPolicy: {default: "3", validValues: ["9", "2"]}}}}]}`, `
spec.devices[0].capacity[m].requestPolicy.validValues[1]: Invalid value: "2": values must be sorted in ascending order
spec.devices[0].capacity[m].requestPolicy.validValues[0]: Invalid value: "9": option is larger than capacity value: 8
spec.devices[0].capacity[m].requestPolicy.validValues: Invalid value: "3": default value is not valid according to the requestPolicy`},
		{"an attribute has one value", `attributes: {a: {int: 1, bool: true}}}]}`,
			"spec.devices[0].attributes[a]: Invalid value: \"{int, bool}\": must specify exactly one of: `int`, `bool`, `string`, `version`, `ints`, `bools`, `strings`, `versions`"},
		{"conditions come in two kinds", `bindingConditions: [a]}]}`,
			`spec.devices[0].bindingFailureConditions: Invalid value: null: bindingFailureConditions are required to use bindingConditions`},
	} {
		spec := parse[resourcev1.ResourceSliceSpec](t, head+c.device)
		check(t, c.what, append(validateSlice(spec, nil), declaredSlice(spec, &resourcev1.ResourceSliceSpec{})...), c.want)
	}
}

func TestAnAllocationNeverChanges(t *testing.T) {
	of := func(device string) *resourcev1.ResourceClaim {
		return parse[resourcev1.ResourceClaim](t, `{spec: {devices: {requests: [{name: r}]}}, status: {allocation: {devices: {results: [{request: r, driver: d, pool: p, device: `+device+`}]}}}}`)
	}
	check(t, "another device", validateClaimStatus(nil, of("b"), of("a")), "status.allocation: Invalid value: null: field cannot be modified once set")
	check(t, "the same", validateClaimStatus(nil, of("a"), of("a")), "")
	check(t, "the first", validateClaimStatus(nil, of("a"), &resourcev1.ResourceClaim{}), "")
}

func TestAFieldThatIsDroppedCounts(t *testing.T) {
	old := &resourcev1.ResourceSlice{ObjectMeta: metav1.ObjectMeta{Generation: 1}}
	obj := old.DeepCopy()
	obj.Spec.PartitionTypeAttribute = new(resourcev1.FullyQualifiedName("a"))
	resourceSlices().Strategy.PrepareForUpdate(&kinds.Context{}, obj, old)
	if obj.Generation != 2 || obj.Spec.PartitionTypeAttribute != nil {
		t.Errorf("generation %d, partitionTypeAttribute %v; want 2, none", obj.Generation, obj.Spec.PartitionTypeAttribute)
	}
}

// TestATaintHasATime: who leaves it out owns it, so it is there before owners are recorded, and stamped afterwards.
func TestATaintHasATime(t *testing.T) {
	obj, now := new(resourcev1.DeviceTaintRule), time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC)
	s := deviceTaintRules().Strategy
	if s.Default(obj); obj.Spec.Taint.TimeAdded == nil {
		t.Error("no default")
	}
	s.PrepareForCreate(&kinds.Context{Now: now}, obj)
	if got := obj.Spec.Taint.TimeAdded; !got.Equal(&metav1.Time{Time: now.Truncate(time.Second)}) {
		t.Errorf("added at %v", got)
	}
}
