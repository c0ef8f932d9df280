// Package strictjson reads JSON objects field by field. Where encoding/json
// takes the last of two fields with one name, it reports the second.
package strictjson

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"
)

// Document reads data, one JSON object and whitespace, calling field for each
// field's name; field must read the value from dec.
func Document(data []byte, field func(dec *json.Decoder, name string) error) error {
	if !utf8.Valid(data) { // the decoder would replace what is not
		return errors.New("not valid UTF-8")
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	if err := Object(dec, func(name string) error { return field(dec, name) }); err != nil {
		return err
	}
	if _, err := dec.Token(); err != io.EOF {
		return fmt.Errorf("something follows the JSON object, at byte %d", dec.InputOffset())
	}
	return nil
}

// Object reads one JSON object from dec, calling field for each field's name;
// field must read the value. Two fields of one name are an error.
func Object(dec *json.Decoder, field func(name string) error) error {
	if err := open(dec, '{', "an object"); err != nil {
		return err
	}
	seen := map[string]bool{}
	for dec.More() {
		token, err := dec.Token()
		if err != nil {
			return Explain(dec, err)
		}
		name := token.(string) // the decoder refuses every other kind of key
		if seen[name] {
			return fmt.Errorf("%q occurs twice", name)
		}
		seen[name] = true
		if err := field(name); err != nil {
			return err
		}
	}
	_, err := dec.Token()
	return Explain(dec, err)
}

// Array reads one JSON array from dec, calling element before each element;
// element must read it.
func Array(dec *json.Decoder, element func() error) error {
	if err := open(dec, '[', "an array"); err != nil {
		return err
	}
	for dec.More() {
		if err := element(); err != nil {
			return err
		}
	}
	_, err := dec.Token()
	return Explain(dec, err)
}

func open(dec *json.Decoder, delim json.Delim, what string) error {
	token, err := dec.Token()
	if err != nil {
		return Explain(dec, err)
	}
	if token != delim {
		return fmt.Errorf("JSON %v where %s is required, at byte %d", token, what, dec.InputOffset())
	}
	return nil
}

// Explain says where in the JSON text a decoder's error is; nil stays nil.
func Explain(dec *json.Decoder, err error) error {
	switch {
	case err == nil:
		return nil
	case err == io.EOF || err == io.ErrUnexpectedEOF:
		return fmt.Errorf("the JSON text ends early, at byte %d", dec.InputOffset())
	}
	if syntax := (*json.SyntaxError)(nil); errors.As(err, &syntax) {
		return fmt.Errorf("not JSON: %w, at byte %d", err, syntax.Offset)
	}
	return fmt.Errorf("%w, at byte %d", err, dec.InputOffset())
}
