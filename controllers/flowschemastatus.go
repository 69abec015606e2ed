package controllers

import (
	"fmt"
	"time"

	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"kuberow/api/kinds"
)

// The condition Dangling of a FlowSchema says whether the priority level that
// it names is missing. Key: a FlowSchema. Woken by it and by priority levels.

// flowManager is the field manager of the condition, which is applied.
const flowManager = "api-priority-and-fairness-config-consumer-v1"

// FlowSchemaStatus sets the condition Dangling.
func FlowSchemaStatus() Controller {
	return Controller{
		Name: flowManager, User: serverUser,
		Keys: keyMap{
			FlowSchemas: itself,
			PriorityLevels: func(v View, c Object) []Key {
				var keys []Key
				if c.Now != nil && c.Prev != nil {
					return nil // it was there and is there
				}
				for _, f := range typed[*flowcontrolv1.FlowSchema](v.List(FlowSchemas, "", nil)) {
					if f.Spec.PriorityLevelConfiguration.Name == accessor(c.Current()).GetName() {
						keys = append(keys, NameKey(f))
					}
				}
				return keys
			},
		},
		Step: func(v View, keys []Key) Outcome {
			var out Outcome
			for _, k := range keys {
				if f := get[*flowcontrolv1.FlowSchema](v, FlowSchemas, "", k.Name); f != nil {
					judgeFlowSchema(v, k, f, &out)
				}
			}
			return out
		},
	}
}

// judgeFlowSchema applies the condition when it is not what it should be.
func judgeFlowSchema(v View, k Key, f *flowcontrolv1.FlowSchema, out *Outcome) {
	level := f.Spec.PriorityLevelConfiguration.Name
	status, reason, message := flowcontrolv1.ConditionFalse, "Found",
		fmt.Sprintf("This FlowSchema references the PriorityLevelConfiguration object named %q and it exists", level)
	if v.Get(PriorityLevels, "", level) == nil {
		status, reason, message = flowcontrolv1.ConditionTrue, "NotFound",
			fmt.Sprintf("This FlowSchema references the PriorityLevelConfiguration object named %q but there is no such object", level)
	}
	for _, c := range f.Status.Conditions {
		if c.Type == flowcontrolv1.FlowSchemaConditionDangling && c.Status == status && c.Reason == reason && c.Message == message {
			return
		}
	}
	out.Writes = append(out.Writes, Write{Verb: Update, Key: k, Ignore: Gone, Write: kinds.Write{
		Agent: flowManager, Resource: FlowSchemas, Subresource: "status", Name: f.Name, Apply: true,
		Object: &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": flowcontrolv1.SchemeGroupVersion.String(), "kind": "FlowSchema",
			"metadata": map[string]any{"name": f.Name, "uid": string(f.UID)},
			"status": map[string]any{"conditions": []any{map[string]any{
				"type": string(flowcontrolv1.FlowSchemaConditionDangling), "status": string(status),
				"lastTransitionTime": v.Now().UTC().Format(time.RFC3339), "reason": reason, "message": message,
			}}},
		}},
	}})
}
