// Command netutils is dig, getent and nc in one program without libraries, as far as Kubernetes' specs use them. The name under which it is
// called says which one.
package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"time"
)

func main() {
	programs := map[string]func([]string) int{"dig": dig, "getent": getent, "nc": netcat}
	run, known := programs[filepath.Base(os.Args[0])]
	if !known {
		fmt.Fprintln(os.Stderr, "netutils: expected to be called dig, getent or nc")
		os.Exit(2)
	}
	os.Exit(run(os.Args[1:]))
}

// resolver reads /etc/resolv.conf itself, and asks over TCP if told to.
func resolver(overTCP bool) *net.Resolver {
	dialer := net.Dialer{Timeout: 5 * time.Second}
	return &net.Resolver{
		PreferGo: true,
		Dial: func(ctx context.Context, network, address string) (net.Conn, error) {
			if overTCP {
				network = "tcp"
			}
			return dialer.DialContext(ctx, network, address)
		},
	}
}

// getent prints the addresses of hosts, from /etc/hosts or DNS.
func getent(args []string) int {
	if len(args) < 2 || (args[0] != "hosts" && args[0] != "ahosts") {
		fmt.Fprintln(os.Stderr, "getent: expected hosts or ahosts, and a name")
		return 1
	}
	const notFound = 2
	for _, name := range args[1:] {
		addresses, err := resolver(false).LookupHost(context.Background(), name)
		if err != nil {
			return notFound
		}
		for _, address := range addresses {
			fmt.Printf("%-15s %s\n", address, name)
		}
	}
	return 0
}
