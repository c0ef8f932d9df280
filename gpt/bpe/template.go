package bpe

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
)

// setBegin takes the tokens that a template puts before a text. ByteLevel changes positions in the text alone.
func (t *Tokenizer) setBegin(processors []component) error {
	for _, p := range processors {
		switch p.kind {
		case "ByteLevel":
		case "TemplateProcessing":
			begin, err := p.begin()
			if err != nil {
				return err
			}
			for _, id := range begin {
				if id < 0 || int(id) >= len(t.tokens) {
					return fmt.Errorf("the template has the id %d, required 0 to %d", id, len(t.tokens)-1)
				}
			}
			t.begin = append(slices.Clone(begin), t.begin...)
		default:
			return fmt.Errorf("%s is not supported, required ByteLevel or TemplateProcessing", p.kind)
		}
	}
	return nil
}

// begin gives the ids that a template for one text has before it.
func (c component) begin() (ids []int32, err error) {
	var single []struct {
		SpecialToken *struct{ ID string }
		Sequence     *struct{ ID string }
	}
	var tokens map[string]struct{ IDs []int32 }
	if json.Unmarshal(c.object["single"], &single) != nil || json.Unmarshal(c.object["special_tokens"], &tokens) != nil {
		return nil, errors.New("TemplateProcessing has no lists single and special_tokens that can be read")
	}
	text := false
	for _, item := range single {
		switch {
		case item.Sequence != nil && !text:
			text = true
		case item.SpecialToken != nil && !text:
			token, ok := tokens[item.SpecialToken.ID]
			if !ok {
				return nil, fmt.Errorf("TemplateProcessing names %q, which special_tokens lacks", item.SpecialToken.ID)
			}
			ids = append(ids, token.IDs...)
		default:
			return nil, errors.New("TemplateProcessing puts something behind a text, which a text that is to be continued cannot have")
		}
	}
	if !text {
		return nil, errors.New("TemplateProcessing has no place for a text")
	}
	return ids, nil
}
