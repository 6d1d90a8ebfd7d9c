package sdkcheck

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// extensions are what servers of other models add to these APIs, and clients know.
var extensions = []string{"reasoning_content", "estimated"}

// elsewhere are fields that are in OpenAI's documentation and its SDK for JavaScript only.
var elsewhere = []string{"ResponseStreamEventUnion(ResponseFunctionCallArgumentsDoneEvent).name"}

// field is what both SDKs keep of a field of a reply.
type field interface {
	Valid() bool
	Raw() string
}

// faults lists the fields of a decoded reply that its type does not have, that it must
// have and lacks, and that are of another kind.
func faults(v reflect.Value, at string) (all []string) {
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			return faults(v.Elem(), at)
		}
	case reflect.Slice:
		for i := range v.Len() {
			all = append(all, faults(v.Index(i), fmt.Sprintf("%s[%d]", at, i))...)
		}
	case reflect.Struct:
		if as := v.MethodByName("AsAny"); as.IsValid() { // one of several types
			is := as.Call(nil)[0]
			if is.IsNil() {
				return []string{at + " is of no known type"}
			}
			return faults(is, at+"("+is.Elem().Type().Name()+")")
		}
		return object(v, at)
	}
	return all
}

func object(v reflect.Value, at string) (all []string) {
	meta := v.FieldByName("JSON")
	if !meta.IsValid() {
		return nil
	}
	union := !meta.FieldByName("ExtraFields").IsValid()
	if !union {
		for _, key := range meta.FieldByName("ExtraFields").MapKeys() {
			if where := at + "." + key.String(); !slices.Contains(extensions, key.String()) && !slices.Contains(elsewhere, where) {
				all = append(all, where+" is unknown")
			}
		}
	}
	for i := range v.NumField() {
		f := v.Type().Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		state := meta.FieldByName(f.Name)
		if f.Name == "JSON" || name == "" || !state.IsValid() {
			continue
		}
		got, ok := state.Interface().(field)
		if !ok {
			continue
		}
		needed := f.Tag.Get("api") == "required" || f.Tag.Get("default") != ""
		where := at + "." + name
		switch raw := got.Raw(); {
		case raw == "" && needed && !union:
			all = append(all, where+" is missing")
		case raw != "" && raw != "null" && !got.Valid():
			all = append(all, where+" is "+raw)
		case got.Valid():
			all = append(all, faults(v.Field(i), where)...)
		}
	}
	return all
}
