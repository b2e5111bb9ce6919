package main

import (
	"context"
	"fmt"
	"net"
	"slices"
	"strings"
	"time"
)

// dig prints the answers to one question, and nothing if there are none.
func dig(args []string) int {
	name, kind := "", "A"
	var short, search, overTCP bool
	for _, arg := range args {
		switch {
		case arg == "+short":
			short = true
		case arg == "+search":
			search = true
		case arg == "+tcp":
			overTCP = true
		case strings.HasPrefix(arg, "+") || strings.HasPrefix(arg, "-"):
		case name == "":
			name = arg
		default:
			kind = strings.ToUpper(arg)
		}
	}
	if !search && !strings.HasSuffix(name, ".") {
		name += "."
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	for _, answer := range answers(ctx, resolver(overTCP), name, kind) {
		if short {
			fmt.Println(answer)
		} else {
			fmt.Printf("%s\t30\tIN\t%s\t%s\n", name, kind, answer)
		}
	}
	return 0
}

func answers(ctx context.Context, from *net.Resolver, name, kind string) []string {
	var found []string
	switch kind {
	case "A", "AAAA":
		addresses, _ := from.LookupIP(ctx, map[string]string{"A": "ip4", "AAAA": "ip6"}[kind], name)
		for _, address := range addresses {
			found = append(found, address.String())
		}
	case "CNAME":
		if target, err := from.LookupCNAME(ctx, name); err == nil && strings.TrimSuffix(target, ".") != strings.TrimSuffix(name, ".") {
			found = append(found, target)
		}
	case "SRV":
		_, records, _ := from.LookupSRV(ctx, "", "", name)
		for _, record := range records {
			found = append(found, fmt.Sprintf("%d %d %d %s", record.Priority, record.Weight, record.Port, record.Target))
		}
	case "PTR":
		found, _ = from.LookupAddr(ctx, addressOf(name))
	}
	return found
}

// addressOf returns the IPv4 address of a name such as 4.3.2.1.in-addr.arpa.
func addressOf(name string) string {
	parts := strings.Split(strings.TrimSuffix(strings.TrimSuffix(name, "."), ".in-addr.arpa"), ".")
	slices.Reverse(parts)
	return strings.Join(parts, ".")
}
