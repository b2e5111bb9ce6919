package main

import (
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"strings"
	"time"
)

// netcat sends its input to a port, and prints what comes back, until the peer is silent for the time of -w.
func netcat(args []string) int {
	network, wait := "tcp", 2*time.Second
	var onlyConnect, verbose bool
	for len(args) > 2 {
		flags := strings.TrimPrefix(args[0], "-")
		if strings.HasPrefix(flags, "w") {
			if seconds, err := strconv.Atoi(args[1]); err == nil {
				wait = time.Duration(seconds) * time.Second
			}
			args = args[1:]
		}
		if strings.Contains(flags, "u") {
			network = "udp"
		}
		onlyConnect = onlyConnect || strings.Contains(flags, "z")
		verbose = verbose || strings.Contains(flags, "v")
		args = args[1:]
	}
	if len(args) < 2 {
		fmt.Fprintln(os.Stderr, "nc: expected a host and a port")
		return 1
	}
	dialer := net.Dialer{Timeout: wait, Resolver: resolver(false)}
	connection, err := dialer.Dial(network, net.JoinHostPort(args[0], args[1]))
	if err != nil {
		fmt.Fprintf(os.Stderr, "nc: connect to %s port %s (%s) failed: %v\n", args[0], args[1], network, err)
		return 1
	}
	defer connection.Close()
	if verbose {
		fmt.Fprintf(os.Stderr, "Connection to %s %s port [%s/*] succeeded!\n", args[0], args[1], network)
	}
	if onlyConnect {
		return 0
	}
	go func() {
		_, _ = io.Copy(connection, os.Stdin)
		if stream, isTCP := connection.(*net.TCPConn); isTCP {
			_ = stream.CloseWrite()
		}
	}()
	return receive(connection, wait)
}

func receive(connection net.Conn, wait time.Duration) int {
	buffer := make([]byte, 64<<10)
	for {
		_ = connection.SetReadDeadline(time.Now().Add(wait))
		count, err := connection.Read(buffer)
		_, _ = os.Stdout.Write(buffer[:count])
		if err == nil {
			continue
		}
		if timeout, isNetwork := err.(net.Error); err == io.EOF || (isNetwork && timeout.Timeout()) {
			return 0
		}
		fmt.Fprintf(os.Stderr, "nc: %v\n", err)
		return 1
	}
}
