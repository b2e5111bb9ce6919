//go:build tools

// Package tools pins the version of k9s that is run against Capstan.
package tools

import _ "github.com/derailed/k9s"
