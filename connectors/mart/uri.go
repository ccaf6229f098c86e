package mart

import "strings"

// scheme begins the URI of a mart.
const scheme = "sqlite:"

// ParsePath returns the path in "sqlite:PATH", and whether uri has that form.
// The path is taken as it is, relative or not. Of "sqlite://" only the form with
// three slashes is known, "sqlite:///abs/mart.db": with two, what follows would
// be a host.
func ParsePath(uri string) (path string, ok bool) {
	path, ok = strings.CutPrefix(uri, scheme)
	if !ok || path == "" {
		return "", false
	}
	if rest, isURL := strings.CutPrefix(path, "//"); isURL {
		return rest, strings.HasPrefix(rest, "/") && rest != "/"
	}
	return path, true
}
