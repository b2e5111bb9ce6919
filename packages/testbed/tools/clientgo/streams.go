package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net/url"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/httpstream"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/remotecommand"
	"k8s.io/client-go/util/exec"
)

// streamed is a pod whose first container runs `clientgo-probe -serve port`.
type streamed struct {
	client    rest.Interface
	config    *rest.Config
	namespace string
	pod       string
	container string
	port      int
	bytes     int
}

// terminal prints the size of its terminal again and again until it is sent a line.
const terminal = `(while :; do stty size <&1; sleep 0.05; done) & read line; kill $!; exit 0`

func (s *streamed) checks() []check {
	var all []check
	for _, t := range transports {
		all = append(all,
			check{t.name + ": exec passes input, both outputs and the exit code", func(ctx context.Context) error { return s.exec(ctx, t) }},
			check{t.name + ": exec passes much in both directions", func(ctx context.Context) error { return s.execMuch(ctx, t) }},
			check{t.name + ": exec resizes a terminal", func(ctx context.Context) error { return s.resize(ctx, t) }},
			check{t.name + ": exec in an unknown container is refused", func(ctx context.Context) error { return s.refused(ctx, t) }},
			check{t.name + ": attach reaches the program", func(ctx context.Context) error { return s.attach(ctx, t) }},
			check{t.name + ": port-forward passes much in both directions", func(ctx context.Context) error { return s.forward(ctx, t) }},
		)
	}
	return all
}

func (s *streamed) url(pod, subresource string, options any) *url.URL {
	request := s.client.Post().Resource("pods").Name(pod).Namespace(s.namespace).SubResource(subresource)
	switch options := options.(type) {
	case *corev1.PodExecOptions:
		return request.VersionedParams(options, scheme.ParameterCodec).URL()
	case *corev1.PodAttachOptions:
		return request.VersionedParams(options, scheme.ParameterCodec).URL()
	}
	return request.URL()
}

// command runs a command with the given streams.
func (s *streamed) command(ctx context.Context, t transport, streams remotecommand.StreamOptions, command ...string) error {
	options := &corev1.PodExecOptions{
		Container: s.container, Command: command, TTY: streams.Tty,
		Stdin: streams.Stdin != nil, Stdout: streams.Stdout != nil, Stderr: streams.Stderr != nil,
	}
	executor, err := t.executor(s.config, func(pod string) *url.URL { return s.url(pod, "exec", options) }, s.pod)
	if err != nil {
		return err
	}
	return executor.StreamWithContext(ctx, streams)
}

func (s *streamed) exec(ctx context.Context, t transport) error {
	var stdout, stderr bytes.Buffer
	streams := remotecommand.StreamOptions{Stdin: strings.NewReader("hello"), Stdout: &stdout, Stderr: &stderr}
	err := s.command(ctx, t, streams, "sh", "-c", "cat; echo warning >&2; exit 7")
	var exit exec.CodeExitError
	if !errors.As(err, &exit) || exit.Code != 7 {
		return fmt.Errorf("want exit code 7, got %v", err)
	}
	if stdout.String() != "hello" || stderr.String() != "warning\n" {
		return fmt.Errorf("got %q and %q", stdout.String(), stderr.String())
	}
	stdout.Reset()
	if err := s.command(ctx, t, remotecommand.StreamOptions{Stdout: &stdout}, "echo", "a b", "$HOME"); err != nil {
		return err
	}
	if stdout.String() != "a b $HOME\n" {
		return fmt.Errorf("got %q without input", stdout.String())
	}
	return nil
}

func (s *streamed) execMuch(ctx context.Context, t transport) error {
	sent := randomBytes(s.bytes)
	var stdout, stderr bytes.Buffer
	streams := remotecommand.StreamOptions{Stdin: bytes.NewReader(sent), Stdout: &stdout, Stderr: &stderr}
	if err := s.command(ctx, t, streams, "cat"); err != nil {
		return err
	}
	if !bytes.Equal(stdout.Bytes(), sent) {
		return fmt.Errorf("sent %d bytes, and got %d that differ", len(sent), stdout.Len())
	}
	return nil
}

func (s *streamed) resize(ctx context.Context, t transport) error {
	input, keys := io.Pipe()
	sizes := make(chan remotecommand.TerminalSize, 1)
	screen := &screen{}
	ended := make(chan error, 1)
	streams := remotecommand.StreamOptions{Stdin: input, Stdout: screen, Tty: true, TerminalSizeQueue: sizeQueue(sizes)}
	go func() { ended <- s.command(ctx, t, streams, "sh", "-c", terminal) }()
	for _, size := range []remotecommand.TerminalSize{{Width: 101, Height: 33}, {Width: 120, Height: 44}} {
		sizes <- size
		if err := screen.wait(ctx, fmt.Sprintf("%d %d\r\n", size.Height, size.Width), ended); err != nil {
			return err
		}
	}
	close(sizes)
	if _, err := keys.Write([]byte("done\n")); err != nil {
		return err
	}
	defer keys.Close()
	return <-ended
}

func (s *streamed) refused(ctx context.Context, t transport) error {
	other := *s
	other.container = "missing"
	err := other.command(ctx, t, remotecommand.StreamOptions{Stdout: io.Discard}, "true")
	if err == nil || !strings.Contains(err.Error(), "container missing is not valid for pod "+s.pod) {
		return fmt.Errorf("got %v", err)
	}
	return nil
}

func (s *streamed) attach(ctx context.Context, t transport) error {
	ctx, leave := context.WithCancel(ctx)
	defer leave()
	options := &corev1.PodAttachOptions{Container: s.container, Stdin: true, Stdout: true, Stderr: true}
	executor, err := t.executor(s.config, func(pod string) *url.URL { return s.url(pod, "attach", options) }, s.pod)
	if err != nil {
		return err
	}
	input, keys := io.Pipe()
	defer keys.Close()
	screen := &screen{}
	ended := make(chan error, 1)
	go func() {
		ended <- executor.StreamWithContext(ctx, remotecommand.StreamOptions{Stdin: input, Stdout: screen, Stderr: io.Discard})
	}()
	line := "hello over " + t.name
	if _, err := fmt.Fprintln(keys, line); err != nil {
		return err
	}
	return screen.wait(ctx, "got "+line+"\n", ended)
}

// screen keeps what is written to it, and lets one wait for some of it.
type screen struct {
	mutex   sync.Mutex
	text    bytes.Buffer
	changed chan struct{}
}

func (s *screen) Write(text []byte) (int, error) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if s.changed != nil {
		close(s.changed)
		s.changed = nil
	}
	return s.text.Write(text)
}

func (s *screen) wait(ctx context.Context, wanted string, ended <-chan error) error {
	for {
		s.mutex.Lock()
		if s.changed == nil {
			s.changed = make(chan struct{})
		}
		text, changed := s.text.String(), s.changed
		s.mutex.Unlock()
		if strings.Contains(text, wanted) {
			return nil
		}
		select {
		case <-changed:
		case err := <-ended:
			return fmt.Errorf("ended with %v before it showed %q; it showed %q", err, wanted, text)
		case <-ctx.Done():
			return fmt.Errorf("never showed %q, but %q", wanted, text)
		}
	}
}

type sizeQueue chan remotecommand.TerminalSize

func (q sizeQueue) Next() *remotecommand.TerminalSize {
	size, ok := <-q
	if !ok {
		return nil
	}
	return &size
}

func randomBytes(count int) []byte {
	content := make([]byte, count)
	_, _ = rand.Read(content)
	return content
}

// isRefused is the condition under which kubectl falls back to SPDY.
func isRefused(err error) bool {
	return httpstream.IsUpgradeFailure(err) || httpstream.IsHTTPSProxyError(err)
}
