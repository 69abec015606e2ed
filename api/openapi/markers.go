// The facts that comments hold, by package path and type name.
package openapi

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
)

//go:embed markers.jsonl
var markerLines []byte

// marker is one line of markers.jsonl: a struct or an enum.
type marker struct {
	Type   string                  `json:"type"`
	Doc    string                  `json:"doc"`
	Map    string                  `json:"map"` // atomic
	Union  json.RawMessage         `json:"union"`
	Fields map[string]*fieldMarker `json:"fields"`
	Enum   [][2]string             `json:"enum"` // value, text
}

// fieldMarker is what is said of one field.
type fieldMarker struct {
	Doc      string          `json:"doc"`
	Blank    bool            `json:"blank"`    // the text ends with a blank line, before its values
	Optional *bool           `json:"optional"` // nil: as omitempty says
	Default  json.RawMessage `json:"default"`
	List     string          `json:"list"` // atomic, set, map
	Keys     []string        `json:"keys"`
	Map      string          `json:"map"`
}

var noMarker, noFieldMarker = &marker{}, &fieldMarker{}

type markers map[string]*marker

func loadMarkers() (markers, error) {
	out := markers{}
	d := json.NewDecoder(bytes.NewReader(markerLines))
	for d.More() {
		m := &marker{}
		if err := d.Decode(m); err != nil {
			return nil, fmt.Errorf("read markers.jsonl: %w", err)
		}
		out[m.Type] = m
	}
	return out, nil
}

func (m markers) of(name string) *marker {
	if found := m[name]; found != nil {
		return found
	}
	return noMarker
}

func (m *marker) field(name string) *fieldMarker {
	if found := m.Fields[name]; found != nil {
		return found
	}
	return noFieldMarker
}
