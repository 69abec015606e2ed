package apps

import (
	"encoding/json"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"kuberow/api/kinds"
	"kuberow/api/kinds/common"
)

// A ControllerRevision is one state in the history of a StatefulSet or DaemonSet. Its data never changes.

func controllerRevisions() *kinds.Resource {
	return single(kinds.Resource{
		Name: "controllerrevisions", Singular: "controllerrevision",
		Verbs: common.Verbs(), Prefix: "/registry/controllerrevisions", StorageVersionHash: "85nkx63pcBU=",
		Strategy: common.Typed[appsv1.ControllerRevision, *appsv1.ControllerRevision]{
			Validate: func(_ *kinds.Context, c *appsv1.ControllerRevision) field.ErrorList {
				return append(common.NonNegative(c.Revision, field.NewPath("revision")), revisionData(c)...)
			},
			ValidateUpdate: func(_ *kinds.Context, c, old *appsv1.ControllerRevision) field.ErrorList {
				all := common.NonNegative(c.Revision, field.NewPath("revision"))
				return append(all, common.Immutable(c.Data, old.Data, field.NewPath("data"))...)
			},
		}.Strategy(),
	}, common.Version[appsv1.ControllerRevision, appsv1.ControllerRevisionList](gvk("ControllerRevision")))
}

// revisionData wants a JSON object.
func revisionData(c *appsv1.ControllerRevision) field.ErrorList {
	path := field.NewPath("data")
	if c.Data.Raw == nil {
		return field.ErrorList{field.Required(path, "data is mandatory")}
	}
	var data any
	if err := json.Unmarshal(c.Data.Raw, &data); err != nil {
		return field.ErrorList{field.Invalid(path, "<value omitted>", "error parsing data: "+err.Error())}
	}
	if data == nil {
		return field.ErrorList{field.Required(path, "data is mandatory")}
	}
	if _, object := data.(map[string]any); !object {
		return field.ErrorList{field.Required(path, "data must be a valid JSON object")}
	}
	return nil
}
