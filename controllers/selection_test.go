package controllers_test

import (
	"strings"
	"testing"

	"kuberow/controllers"
)

func TestSelect(t *testing.T) {
	all := []controllers.Controller{{Name: "deployment-controller"}, {Name: "garbage-collector-controller"}, {Name: "default-scheduler"}}
	for flag, want := range map[string]string{
		"*":                               "deployment-controller garbage-collector-controller default-scheduler",
		"-*":                              "",
		"*,-deployment":                   "garbage-collector-controller default-scheduler",
		"*,-deployment-controller":        "garbage-collector-controller default-scheduler",
		"-garbagecollector,*":             "deployment-controller default-scheduler",
		"deployment":                      "deployment-controller",
		"deployment,-deployment":          "deployment-controller",
		"default-scheduler":               "default-scheduler",
		"-*,garbage-collector-controller": "garbage-collector-controller",
	} {
		on, err := controllers.Select(all, strings.Split(flag, ","))
		if err != nil {
			t.Errorf("%s: %v", flag, err)
		}
		var names []string
		for _, c := range on {
			names = append(names, c.Name)
		}
		if got := strings.Join(names, " "); got != want {
			t.Errorf("%s: got %q, want %q", flag, got, want)
		}
	}
	if _, err := controllers.Select(all, []string{"nosuch"}); err == nil {
		t.Error("a name that no controller has must be refused")
	}
}
