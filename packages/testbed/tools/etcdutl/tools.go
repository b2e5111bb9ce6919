//go:build tools

// Package tools pins the version of the program that restores snapshots of etcd.
package tools

import _ "go.etcd.io/etcd/etcdutl/v3"
