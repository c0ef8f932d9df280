// Site makes the documentation a folder of HTML that any host of files serves, and that a browser opens without one:
//
//	go run ./docs/site DIR
//
// It is a program of its own, since a reader of Markdown would take tilec over its limit of 24 MB. It is started in the folder of the repository.
package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"tilec/jit/file"
)

func main() {
	if len(os.Args) != 2 || len(os.Args[1]) > 0 && os.Args[1][0] == '-' {
		fmt.Fprintln(os.Stderr, "usage: go run ./docs/site DIR")
		os.Exit(2)
	}
	if err := write(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "site:", err)
		os.Exit(1)
	}
}

// write makes the site in a new folder.
func write(folder string) error {
	if _, err := os.Stat("docs/site"); err != nil {
		return errors.New("there is no docs/site here: start this in the folder of the repository")
	}
	return file.WriteFolder(folder, func(dir string) error {
		commands, err := commandsOf(".")
		if err != nil {
			return err
		}
		return build(".", dir, commands)
	})
}

// commandsOf is the page of the commands of the tilec of a repository.
func commandsOf(repository string) (string, error) {
	dir, err := os.MkdirTemp("", "tilec-site-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(dir)
	tilec := filepath.Join(dir, "tilec")
	cmd := exec.Command("go", "build", "-o", tilec, "./cmd/tilec")
	cmd.Dir, cmd.Stderr = repository, os.Stderr
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("go build ./cmd/tilec: %w", err)
	}
	return commandsPage(tilec)
}
