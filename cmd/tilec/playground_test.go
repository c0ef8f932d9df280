package main

import (
	"bytes"
	"context"
	"testing"

	"github.com/stretchr/testify/assert"

	"tilec/editors/playground"
)

// TestPageMayNotWrite asks for what no page has a reason to run.
func TestPageMayNotWrite(t *testing.T) {
	for want, c := range map[string]playground.Command{
		`the command is []`:           {},
		`the command is ["init" "x"]`: {Args: []string{"init", "x"}},
		"the flag is --out":           {Args: []string{"run", "main.tile", "f", "--out=/tmp/x"}},
		"the flag is -w":              {Args: []string{"fmt", "-w", "main.tile"}},
		`the file is "../main.tile"`:  {Args: []string{"check"}, Files: map[string]string{"../main.tile": ""}},
		`the file is "main.txt"`:      {Args: []string{"check"}, Files: map[string]string{"main.txt": ""}},
	} {
		var stderr bytes.Buffer
		c.Stderr = &stderr
		assert.Equal(t, exitUsage, runForPage(context.Background(), c))
		assert.Contains(t, stderr.String(), want)
	}
}
