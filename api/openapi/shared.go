package openapi

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"hash/fnv"
	"strings"
)

// Parameters of version 2. Thousands of them are alike, so that the document says each once, under a name made
// of its own text, and its operations refer to it: it is half as large.

// parameterV2 has its fields in the order in which upstream's generator writes them, since the name is of that text.
type parameterV2 struct {
	UniqueItems bool              `json:"uniqueItems,omitempty"`
	Type        string            `json:"type,omitempty"`
	Description string            `json:"description,omitempty"`
	Name        string            `json:"name"`
	In          string            `json:"in"`
	Required    bool              `json:"required,omitempty"`
	Schema      map[string]string `json:"schema,omitempty"`
}

func bodyV2(o *operation) parameterV2 {
	return parameterV2{Name: "body", In: "body", Required: !o.optional, Schema: map[string]string{"$ref": v2.refPath(o.body)}}
}

func (p param) v2() parameterV2 {
	return parameterV2{UniqueItems: true, Type: p.typ, Description: p.description, Name: p.name, In: p.in, Required: p.required}
}

// isShared: all but what names a kind, and two that older kubectls look for in the operations themselves.
func (p parameterV2) isShared() bool {
	switch p.Name {
	case "name", "fieldValidation", "dryRun":
		return false
	case "body":
		return strings.HasPrefix(p.Schema["$ref"], v2.refPath("io.k8s.apimachinery"))
	}
	return true
}

// sharedName is the name and six bytes of a hash.
func (p parameterV2) sharedName() (string, error) {
	var text bytes.Buffer
	e := json.NewEncoder(&text)
	e.SetEscapeHTML(false)
	if err := e.Encode(p); err != nil {
		return "", err
	}
	sum := fnv.New64()
	sum.Write(bytes.TrimSuffix(text.Bytes(), []byte("\n")))
	return p.Name + "-" + base64.URLEncoding.EncodeToString(sum.Sum(nil)[:6]), nil
}

// parameterV2 writes the parameter, or the reference to it, and remembers what is referred to.
func (j *jsonWriter) parameterV2(p parameterV2) {
	if !p.isShared() {
		j.value(p)
		return
	}
	name, err := p.sharedName()
	if err != nil && j.err == nil {
		j.err = err
	}
	if j.shared == nil {
		j.shared = map[string]parameterV2{}
	}
	j.shared[name] = p
	j.value(map[string]string{"$ref": "#/parameters/" + name})
}
