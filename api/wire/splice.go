package wire

import (
	"bytes"
	"fmt"
	"strconv"
)

// Splicing puts back into a stored object what the store keeps beside it.
//
//	stored   {"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"a","uid":"u","labels":{}},"data":{}}
//	spliced  {"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"a","uid":"u","resourceVersion":"7","labels":{},"managedFields":[...]},"data":{}}
//
// The stored bytes are our own encoder's, so there is no white space between
// tokens and no duplicate key; a row that somebody wrote by hand still works
// as long as it is JSON with a metadata object.

// Splice says what to put in and what to leave out.
type Splice struct {
	Revision      int64  // becomes metadata.resourceVersion; 0 leaves it out
	ManagedFields []byte // becomes metadata.managedFields; empty leaves it out
	Item          bool   // an item of a typed list: without kind and apiVersion
	Sorted        bool   // keys are in alphabetical order (custom resources), not in Go's field order
}

// Append appends the spliced object to dst.
func (s Splice) Append(dst, value []byte) ([]byte, error) {
	start, err := metadataOf(value)
	if err != nil {
		return dst, err
	}
	dst = append(dst, '{')
	if !s.Item {
		dst = append(dst, value[1:start.key]...)
	}
	dst = append(dst, `"metadata":`...)
	dst, end, err := s.appendMeta(dst, value, start.value)
	if err != nil {
		return dst, err
	}
	return append(dst, value[end:]...), nil
}

// AppendMeta appends the spliced metadata object alone.
func (s Splice) AppendMeta(dst, value []byte) ([]byte, error) {
	start, err := metadataOf(value)
	if err != nil {
		return dst, err
	}
	dst, _, err = s.appendMeta(dst, value, start.value)
	return dst, err
}

// appendMeta copies the metadata object that starts at value[i], and gives the index after it.
func (s Splice) appendMeta(dst, value []byte, i int) ([]byte, int, error) {
	if i >= len(value) || value[i] != '{' {
		return dst, i, fmt.Errorf("splice object: metadata is not an object")
	}
	dst = append(dst, '{')
	first := true
	comma := func() {
		if !first {
			dst = append(dst, ',')
		}
		first = false
	}
	putRevision, putManaged := s.Revision != 0, len(s.ManagedFields) > 0
	revision := func() {
		comma()
		dst = append(dst, `"resourceVersion":"`...)
		dst = strconv.AppendInt(dst, s.Revision, 10)
		dst = append(dst, '"')
		putRevision = false
	}
	managed := func() {
		comma()
		dst = append(dst, `"managedFields":`...)
		dst = append(dst, s.ManagedFields...)
		putManaged = false
	}
	i++
	for i < len(value) && value[i] != '}' {
		if value[i] == ',' {
			i++
		}
		keyEnd, err := skipKey(value, i)
		if err != nil {
			return dst, i, err
		}
		key := value[i+1 : keyEnd-1]
		end, err := skip(value, keyEnd+1)
		if err != nil {
			return dst, i, err
		}
		if putManaged && s.Sorted && string(key) > "managedFields" {
			managed()
		}
		if putRevision && s.revisionComesBefore(key) {
			revision()
		}
		comma()
		dst = append(dst, value[i:end]...)
		i = end
	}
	if i >= len(value) {
		return dst, i, errTruncated
	}
	if putManaged && s.Sorted {
		managed()
	}
	if putRevision {
		revision()
	}
	if putManaged {
		managed()
	}
	return append(dst, '}'), i + 1, nil
}

func (s Splice) revisionComesBefore(key []byte) bool {
	if s.Sorted {
		return string(key) > "resourceVersion"
	}
	switch string(key) {
	case "name", "generateName", "namespace", "selfLink", "uid":
		return false
	}
	return true
}

type place struct{ key, value int }

// metadataOf finds the top-level key "metadata" and its value.
func metadataOf(value []byte) (place, error) {
	if len(value) == 0 || value[0] != '{' {
		return place{}, fmt.Errorf("splice object: not a JSON object")
	}
	for i := 1; i < len(value) && value[i] != '}'; {
		if value[i] == ',' {
			i++
		}
		end, err := skipKey(value, i)
		if err != nil {
			return place{}, err
		}
		if string(value[i:end]) == `"metadata"` {
			return place{key: i, value: end + 1}, nil
		}
		if i, err = skip(value, end+1); err != nil {
			return place{}, err
		}
	}
	return place{}, fmt.Errorf("splice object: it has no metadata")
}

var errTruncated = fmt.Errorf("splice object: the JSON is cut short or not as it was stored")

// skipKey gives the index of the colon after the key that starts at b[i].
func skipKey(b []byte, i int) (int, error) {
	if i >= len(b) || b[i] != '"' {
		return i, errTruncated
	}
	end, err := skipString(b, i)
	if err == nil && (end >= len(b) || b[end] != ':') {
		err = errTruncated
	}
	return end, err
}

// skip gives the index after the JSON value that starts at b[i].
func skip(b []byte, i int) (int, error) {
	if i >= len(b) {
		return i, errTruncated
	}
	switch b[i] {
	case '"':
		return skipString(b, i)
	case '{', '[':
		depth := 0
		for i < len(b) {
			switch b[i] {
			case '"':
				end, err := skipString(b, i)
				if err != nil {
					return i, err
				}
				i = end
				continue
			case '{', '[':
				depth++
			case '}', ']':
				depth--
				if depth == 0 {
					return i + 1, nil
				}
			}
			i++
		}
		return i, errTruncated
	}
	for i < len(b) && b[i] != ',' && b[i] != '}' && b[i] != ']' {
		i++
	}
	return i, nil
}

func skipString(b []byte, i int) (int, error) {
	for i++; i < len(b); {
		n := bytes.IndexByte(b[i:], '"')
		if n < 0 {
			break
		}
		i += n
		slashes := 0
		for b[i-1-slashes] == '\\' {
			slashes++
		}
		if slashes%2 == 0 {
			return i + 1, nil
		}
		i++
	}
	return len(b), errTruncated
}
