//go:build tools

// Package tools pins the version of Nomad that Capstan is compared with.
package tools

import _ "github.com/hashicorp/nomad"
