package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	"k8s.io/apimachinery/pkg/util/wait"
)

type result struct {
	Name   string `json:"name"`
	OK     bool   `json:"ok"`
	Detail string `json:"detail,omitempty"`
}

type step struct {
	name string
	run  func(context.Context) error
}

// inOrder runs steps until one fails: later ones build on it.
func inOrder(steps ...step) []result {
	results := []result{}
	for _, one := range steps {
		ctx, cancel := context.WithTimeout(context.Background(), 60*time.Second)
		err := one.run(ctx)
		cancel()
		if err != nil {
			return append(results, result{Name: one.name, Detail: err.Error()})
		}
		results = append(results, result{Name: one.name, OK: true})
	}
	return results
}

// eventually retries until there is no error, and returns the last error when the time is up.
func eventually(ctx context.Context, ask func(context.Context) error) error {
	var last error
	if err := wait.PollUntilContextCancel(ctx, 50*time.Millisecond, true, func(ctx context.Context) (bool, error) {
		err := ask(ctx)
		if ctx.Err() == nil {
			last = err
		}
		return err == nil, nil
	}); err != nil {
		return fmt.Errorf("in vain: %w", last)
	}
	return nil
}

func stderrLogger() logr.Logger {
	return funcr.New(func(prefix, args string) { fmt.Fprintln(os.Stderr, prefix, args) }, funcr.Options{})
}
