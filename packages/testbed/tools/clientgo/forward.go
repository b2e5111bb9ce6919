package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"

	"k8s.io/client-go/tools/portforward"
)

// connections are forwarded side by side.
const connections = 4

func (s *streamed) forward(ctx context.Context, t transport) error {
	dialer, err := t.dialer(s.config, func(pod string) *url.URL { return s.url(pod, "portforward", nil) }, s.pod)
	if err != nil {
		return err
	}
	stop, ready, ended := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	var problems bytes.Buffer
	forwarder, err := portforward.NewOnAddresses(dialer, []string{"127.0.0.1"}, []string{fmt.Sprintf("0:%d", s.port)}, stop, ready, io.Discard, &problems)
	if err != nil {
		return err
	}
	go func() { ended <- forwarder.ForwardPorts() }()
	select {
	case <-ready:
	case err := <-ended:
		return fmt.Errorf("ended before it was ready: %v", err)
	case <-ctx.Done():
		return ctx.Err()
	}
	ports, err := forwarder.GetPorts()
	if err != nil {
		return err
	}
	address := fmt.Sprintf("127.0.0.1:%d", ports[0].Local)
	results := make(chan error, connections)
	for range connections {
		go func() { results <- repeat(ctx, address, randomBytes(s.bytes/connections)) }()
	}
	for range connections {
		if one := <-results; one != nil && err == nil {
			err = one
		}
	}
	close(stop)
	if last := <-ended; err == nil {
		err = last
	}
	if err == nil && problems.Len() > 0 {
		err = fmt.Errorf("reported %q", problems.String())
	}
	return err
}

// repeat sends bytes to a server that repeats them, ends its own direction, and compares what comes back.
func repeat(ctx context.Context, address string, sent []byte) error {
	connection, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
	if err != nil {
		return err
	}
	defer connection.Close()
	if deadline, ok := ctx.Deadline(); ok {
		_ = connection.SetDeadline(deadline)
	}
	written := make(chan error, 1)
	go func() {
		_, err := connection.Write(sent)
		if err == nil {
			err = connection.(*net.TCPConn).CloseWrite()
		}
		written <- err
	}()
	received, err := io.ReadAll(connection)
	if err != nil {
		return err
	}
	if !bytes.Equal(received, sent) {
		return fmt.Errorf("sent %d bytes, and got %d that differ", len(sent), len(received))
	}
	return <-written
}

// serve is the program of a pod: it repeats what is sent to a port, and answers each line of its input.
func serve(port int) error {
	listener, err := net.Listen("tcp", fmt.Sprintf(":%d", port))
	if err != nil {
		return err
	}
	fmt.Println("ready")
	go func() {
		lines := bufio.NewScanner(os.Stdin)
		for lines.Scan() {
			fmt.Println("got " + lines.Text())
		}
	}()
	for {
		connection, err := listener.Accept()
		if err != nil {
			return err
		}
		go func() {
			defer connection.Close()
			_, _ = io.Copy(connection, connection)
		}()
	}
}
