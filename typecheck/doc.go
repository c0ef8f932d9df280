// Package typecheck makes a typed program of syntax trees, and finds every error that a user can make: names, types, shapes,
// bounds, races, coverage. It goes through imports and declarations; what holds in the bodies of kernels and graphs is in its
// rooms. It must not know plans or code.
package typecheck
