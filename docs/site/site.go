package main

import (
	"bytes"
	_ "embed"
	"fmt"
	"html/template"
	"os"
	"path/filepath"
	"strings"

	"tilec/editors/playground"
)

// A page of the site is Markdown: a file of the repository, or what is made of tables and sources.
type page struct {
	// file is the file of the repository, by which other files link to it; "" for a page that is made.
	file string
	// address is the page's file in the site, title what the navigation calls it.
	address, title string
	markdown       string
}

// chapter is a part of the navigation.
type chapter struct {
	title string
	pages []*page
}

// chapters is the site: every page has its place here.
func chapters(commands string) ([]chapter, error) {
	library, err := libraryPage()
	if err != nil {
		return nil, err
	}
	at := func(file, title string) *page {
		name := strings.ToLower(strings.TrimSuffix(filepath.Base(file), ".md"))
		return &page{file: file, address: name + ".html", title: title}
	}
	all := []chapter{
		{"Begin", []*page{
			{file: "README.md", address: "index.html", title: "tilec"},
			at("docs/tutorial.md", "Tutorial"), at("docs/side-by-side.md", "Side by side"), at("docs/cookbook.md", "Cookbook"),
			at("docs/examples.md", "Examples"), at("docs/playground.md", "Playground"),
		}},
		{"The language", []*page{
			at("docs/language.md", "Reference"), at("docs/operations.md", "Operations"),
			{address: "library.html", title: "Standard library", markdown: library},
			{address: "errors.html", title: "Errors and warnings", markdown: errorsPage()},
		}},
		{"Use", []*page{
			{address: "commands.html", title: "Command line", markdown: commands},
			at("docs/performance.md", "Plans and performance"), at("docs/debugging.md", "Debugging"), at("docs/models.md", "Language models"),
			at("docs/editors.md", "Editors"), at("docs/json.md", "Output for programs"), at("docs/other-programs.md", "From other programs"),
			at("docs/from-triton.md", "Coming from Triton"), at("docs/from-cutile.md", "Coming from cuTile"),
		}},
		{"Inside", []*page{
			at("docs/ARCHITECTURE.md", "Architecture"), at("docs/RATIONALE.md", "Rationale"), {file: "jit/ir/README.md", address: "ir.html", title: "The tile IR"},
			{file: "bench/RESULTS.md", address: "results.html", title: "Measurements"}, at("CONTRIBUTING.md", "Contributing"), at("CHANGELOG.md", "Changes"),
		}},
	}
	return all, nil
}

//go:embed page.html
var pageText string

//go:embed site.css
var styleText string

var pageTemplate = template.Must(template.New("page").Parse(pageText))

// build writes the site of a repository to a folder, given the page of the commands. Programs that pages link to become pages of their own.
func build(repository, folder, commands string) error {
	all, err := chapters(commands)
	if err != nil {
		return err
	}
	links := &links{repository: repository, pages: map[string]string{}, sources: map[string]string{}}
	for _, c := range all {
		for _, p := range c.pages {
			if p.file == "" {
				continue
			}
			text, err := os.ReadFile(filepath.Join(repository, p.file))
			if err != nil {
				return err
			}
			p.markdown = string(text)
			links.pages[p.file] = p.address
		}
	}
	write := func(address, title string, body []byte, sections []section) error {
		var out bytes.Buffer
		err := pageTemplate.Execute(&out, map[string]any{
			"Title": title, "Body": template.HTML(body), "Sections": sections, "Address": address, "Chapters": navigation(all),
		})
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(folder, address), out.Bytes(), 0o666)
	}
	for _, c := range all {
		for _, p := range c.pages {
			body, sections, err := links.render(p)
			if err != nil {
				return fmt.Errorf("%s: %w", p.address, err)
			}
			if err := write(p.address, p.title, body, sections); err != nil {
				return err
			}
		}
	}
	for file, address := range links.sources {
		text, err := os.ReadFile(filepath.Join(repository, file))
		if err != nil {
			return err
		}
		source := &page{address: address, markdown: "# " + file + "\n" + fenced(strings.TrimPrefix(filepath.Ext(file), "."), string(text))}
		body, _, err := links.render(source)
		if err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		if err := write(address, file, body, nil); err != nil {
			return err
		}
	}
	// The style and the colours of words are the playground's.
	if err := os.WriteFile(filepath.Join(folder, "site.css"), []byte(playground.Style()+styleText), 0o666); err != nil {
		return err
	}
	colours := playground.Colours() + "\nfor (const code of document.querySelectorAll(\"code.language-tile\")) code.replaceChildren(colour(code.textContent));\n"
	return os.WriteFile(filepath.Join(folder, "colours.js"), []byte(colours), 0o666)
}

// navigated is a chapter as the template takes it.
type navigated struct {
	Title string
	Pages []struct{ Address, Title string }
}

func navigation(all []chapter) []navigated {
	var out []navigated
	for _, c := range all {
		n := navigated{Title: c.title}
		for _, p := range c.pages {
			n.Pages = append(n.Pages, struct{ Address, Title string }{p.address, p.title})
		}
		out = append(out, n)
	}
	return out
}

// fenced is a block of code in Markdown, whatever the code has in it.
func fenced(language, code string) string {
	fence := "```"
	for strings.Contains(code, fence) {
		fence += "`"
	}
	return fence + language + "\n" + strings.TrimRight(code, "\n") + "\n" + fence + "\n"
}
