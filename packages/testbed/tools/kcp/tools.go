//go:build tools

// Package tools pins the version of kcp's kubectl plugins that the tests use.
package tools

import (
	_ "github.com/kcp-dev/kcp/cli/cmd/kubectl-create-workspace"
	_ "github.com/kcp-dev/kcp/cli/cmd/kubectl-kcp"
	_ "github.com/kcp-dev/kcp/cli/cmd/kubectl-ws"
)
