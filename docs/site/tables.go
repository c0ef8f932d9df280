package main

import (
	"fmt"
	"os/exec"
	"regexp"
	"strings"

	"tilec/lang"
)

// errorsPage has each code with what it means, a program that gives it, and one that does not.
func errorsPage() string {
	var b strings.Builder
	b.WriteString("# Errors and warnings\nWhat `tilec explain CODE` prints of each code.\n\n")
	for _, c := range lang.Codes() {
		row, _ := lang.CodeInfo(c)
		fmt.Fprintf(&b, "## %s\n**%s**\n\n%s\n\n", c, row.Title, strings.TrimSpace(row.Doc))
		for _, example := range [][2]string{{"This fails", row.Fails}, {"This works", row.Works}} {
			if title, text := example[0], example[1]; text != "" {
				if title == "This fails" && c[0] == 'W' {
					title = "This is warned of"
				}
				fmt.Fprintf(&b, "%s:\n%s\n", title, fenced("tile", shortened(text)))
			}
		}
	}
	return b.String()
}

// shortened cuts lines that are too long for a page; the example of deep nesting has one.
func shortened(text string) string {
	const most = 160
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		if runes := []rune(line); len(runes) > most {
			lines[i] = string(runes[:most/2]) + " ... " + string(runes[len(runes)-most/2:])
		}
	}
	return strings.Join(lines, "\n")
}

var commandRow = regexp.MustCompile(`(?m)^  ([a-z]+) {2,}\S`)

// commandsPage has the help of each command, as a tilec prints it.
func commandsPage(tilec string) (string, error) {
	help := func(words ...string) (string, error) {
		out, err := exec.Command(tilec, append(words, "--help")...).Output()
		if err != nil {
			return "", fmt.Errorf("%s %s --help: %w", tilec, strings.Join(words, " "), err)
		}
		return string(out), nil
	}
	var b strings.Builder
	b.WriteString("# The command line\n")
	var add func(level int, words ...string) error
	add = func(level int, words ...string) error {
		text, err := help(words...)
		if err != nil {
			return err
		}
		if len(words) > 0 {
			fmt.Fprintf(&b, "%s tilec %s\n", strings.Repeat("#", level), strings.Join(words, " "))
		}
		b.WriteString(fenced("text", text))
		b.WriteByte('\n')
		_, list, _ := strings.Cut(text, "\nAvailable Commands:\n")
		list, _, _ = strings.Cut(list, "\n\n")
		for _, m := range commandRow.FindAllStringSubmatch(list, -1) {
			if name := m[1]; name != "help" && name != "completion" {
				if err := add(level+1, append(words[:len(words):len(words)], name)...); err != nil {
					return err
				}
			}
		}
		return nil
	}
	err := add(1)
	return b.String(), err
}
