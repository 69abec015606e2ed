package common

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
)

// Upstream validates internal types, which have no JSON tags, and a message
// that quotes a whole struct shows it: {"Type":"X","RollingUpdate":null}. Clients
// see these texts, so a struct of k8s.io/api is quoted here with its Go names too.

// Internal wraps a bad value for a field.Error so that structs are quoted as upstream quotes them.
func Internal(v any) any {
	if v == nil {
		return nil
	}
	t := reflect.TypeOf(v)
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice || t.Kind() == reflect.Map {
		t = t.Elem()
	}
	if !apiStruct(t) {
		return v
	}
	return internal{v}
}

type internal struct{ value any }

// MarshalJSON is what field.Error calls.
func (i internal) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	err := encode(&b, reflect.ValueOf(i.value))
	return b.Bytes(), err
}

func apiStruct(t reflect.Type) bool {
	return t.Kind() == reflect.Struct && strings.HasPrefix(t.PkgPath(), "k8s.io/api/")
}

func encode(b *bytes.Buffer, v reflect.Value) error {
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if v.IsNil() {
			b.WriteString("null")
			return nil
		}
		if apiStruct(v.Elem().Type()) {
			return encode(b, v.Elem())
		}
	case reflect.Slice:
		if !v.IsNil() && v.Type().Elem().Kind() != reflect.Uint8 {
			return encodeList(b, v)
		}
	case reflect.Struct:
		if apiStruct(v.Type()) {
			b.WriteByte('{')
			first := true
			err := encodeFields(b, v, &first)
			b.WriteByte('}')
			return err
		}
	}
	text, err := json.Marshal(v.Interface())
	b.Write(text)
	return err
}

func encodeList(b *bytes.Buffer, v reflect.Value) error {
	b.WriteByte('[')
	for i := range v.Len() {
		if i > 0 {
			b.WriteByte(',')
		}
		if err := encode(b, v.Index(i)); err != nil {
			return err
		}
	}
	b.WriteByte(']')
	return nil
}

// encodeFields writes fields by their Go names; an embedded struct's fields stand among its parent's.
func encodeFields(b *bytes.Buffer, v reflect.Value, first *bool) error {
	comma := func() {
		if !*first {
			b.WriteByte(',')
		}
		*first = false
	}
	for i := range v.NumField() {
		f := v.Type().Field(i)
		if f.Anonymous && apiStruct(f.Type) {
			if err := encodeFields(b, v.Field(i), first); err != nil {
				return err
			}
			continue
		}
		if f.Name == "TypeMeta" { // converting to an internal type leaves it empty
			continue
		}
		if f.Anonymous { // ObjectMeta has tags in internal types too
			text, err := json.Marshal(v.Field(i).Interface())
			if err != nil {
				return err
			}
			if inner := bytes.Trim(text, "{}"); len(text) > 2 && len(inner) > 0 {
				comma()
				b.Write(text[1 : len(text)-1])
			}
			continue
		}
		comma()
		b.WriteString(`"` + f.Name + `":`)
		if err := encode(b, v.Field(i)); err != nil {
			return err
		}
	}
	return nil
}
