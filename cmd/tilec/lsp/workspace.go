package lsp

import (
	"io/fs"
	"os"
	"path/filepath"
	"sort"
	"strings"

	"go.lsp.dev/uri"

	"tilec/lang"
)

// mostFiles is how many files of a workspace are looked at: a folder may be that of all of someone's files.
const mostFiles = 2000

// workspaceFile is a file of the workspace that is not open, as it was when it was read.
type workspaceFile struct {
	size     int64
	modified int64
	text     string
}

// readFolders lists the folders of the workspace, as the editor names them when it starts.
func (p *initializeParams) readFolders() []string {
	uris := []uri.URI{p.RootURI}
	if len(p.WorkspaceFolders) > 0 {
		uris = nil
		for _, f := range p.WorkspaceFolders {
			uris = append(uris, f.URI)
		}
	}
	var folders []string
	for _, u := range uris {
		if u.IsFile() {
			folders = append(folders, filepath.Clean(u.FsPath()))
		}
	}
	return folders
}

// texts are the sources of the workspace by their path: the open documents, and the files of its folders.
func (s *server) texts() map[string]string {
	all := map[string]string{}
	for _, folder := range s.folders {
		_ = filepath.WalkDir(folder, func(path string, e fs.DirEntry, err error) error {
			switch hidden := strings.HasPrefix(filepath.Base(path), ".") && path != folder; {
			case err != nil: // a folder that may not be read has no files for us
				return nil
			case e.IsDir() && (hidden || e.Name() == "node_modules"):
				return filepath.SkipDir
			case len(all) >= mostFiles:
				return filepath.SkipAll
			case !hidden && filepath.Ext(path) == ".tile" && e.Type().IsRegular():
				if text, ok := s.readFile(path, e); ok {
					all[path] = text
				}
			}
			return nil
		})
	}
	for path := range s.files {
		if _, still := all[path]; !still {
			delete(s.files, path)
		}
	}
	for _, d := range s.docs {
		all[d.path] = d.lines.text
	}
	return all
}

// readFile is the text of a file, which is read again only when it has changed.
func (s *server) readFile(path string, e fs.DirEntry) (string, bool) {
	info, err := e.Info()
	if err != nil {
		return "", false
	}
	if f, ok := s.files[path]; ok && f.size == info.Size() && f.modified == info.ModTime().UnixNano() {
		return f.text, true
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return "", false
	}
	s.files[path] = workspaceFile{info.Size(), info.ModTime().UnixNano(), string(text)}
	return string(text), true
}

// sources are what is known of the files of the workspace in which a word stands, by their paths in order. Those that are not open are parsed, not checked.
func (s *server) sources(word string) []*analysis {
	texts := s.texts()
	paths := make([]string, 0, len(texts))
	for path := range texts {
		if strings.Contains(texts[path], word) {
			paths = append(paths, path)
		}
	}
	sort.Strings(paths)
	all := make([]*analysis, len(paths))
	for i, path := range paths {
		if d := s.documentOf(path); d != nil {
			all[i] = s.treeOf(d.uri)
		} else {
			all[i] = s.parse(&document{path: path, lines: newLines(texts[path])})
		}
	}
	return all
}

func (s *server) documentOf(path string) *document {
	for _, d := range s.docs {
		if d.path == path {
			return d
		}
	}
	return nil
}

// symbolParams is what we need of the protocol's WorkspaceSymbolParams.
type symbolParams struct {
	Query string `json:"query"`
}

// workspaceSymbol lists the declarations of the workspace whose names have the letters of the query, in their order.
func (s *server) workspaceSymbol(p *symbolParams) ([]foundSymbol, error) {
	out := []foundSymbol{}
	for _, a := range s.sources("") {
		for _, d := range a.module.Decls {
			n := d.DeclName()
			if !n.Place.IsValid() || n.Name == "" || !hasLetters(n.Name, p.Query) {
				continue
			}
			if at, ok := s.location(a, n.Place); ok {
				out = append(out, foundSymbol{n.Name, symbolKind(d), at, filepath.Base(a.doc.path)})
			}
		}
	}
	return out, nil
}

// hasLetters reports whether the letters of a query stand in a name in their order, in either case.
func hasLetters(name, query string) bool {
	rest := []rune(strings.ToLower(query))
	for _, r := range strings.ToLower(name) {
		if len(rest) > 0 && rest[0] == r {
			rest = rest[1:]
		}
	}
	return len(rest) == 0
}

// documentLink leads from each import to its file.
func (s *server) documentLink(p *documentParams) ([]link, error) {
	out := []link{}
	a := s.treeOf(p.TextDocument.URI)
	if a == nil {
		return out, nil
	}
	for _, imp := range a.module.Imports {
		m, _ := a.loader.Import(imp.Path, a.module, imp.Place)
		if m == nil {
			continue
		}
		at, ok := s.location(a, lang.Span{Source: m.Source})
		text := imp.Place.Text()
		from, to := strings.IndexByte(text, '"'), strings.LastIndexByte(text, '"')
		if ok && from >= 0 && from < to {
			out = append(out, link{Range: a.doc.lines.rangeOf(imp.Place.Start+from+1, imp.Place.Start+to), Target: at.URI})
		}
	}
	return out, nil
}
