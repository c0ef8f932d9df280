package report

import "strings"

// Escape writes text as the text of HTML and SVG, also between quotation marks. (The package html does too, with 46 KB of names of characters that
// only reading HTML needs.)
func Escape(text string) string { return escaped.Replace(text) }

var escaped = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&#34;", "'", "&#39;")
