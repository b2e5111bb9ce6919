package main

import (
	"net/http"
	"net/url"

	"k8s.io/apimachinery/pkg/util/httpstream"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/portforward"
	"k8s.io/client-go/tools/remotecommand"
	"k8s.io/client-go/transport/spdy"
)

// urlOf is the address of a subresource of a pod.
type urlOf func(pod string) *url.URL

// transport is one of client-go's ways to open streams.
type transport struct {
	name     string
	executor func(config *rest.Config, at urlOf, pod string) (remotecommand.Executor, error)
	dialer   func(config *rest.Config, at urlOf, pod string) (httpstream.Dialer, error)
}

var transports = []transport{
	{"SPDY", spdyExecutor, spdyDialer},
	{"WebSocket", webSocketExecutor, tunnelDialer},
	{"WebSocket or SPDY", fallbackExecutor(""), fallbackDialer("")},
	// The request with a WebSocket is refused, as by a proxy that does not know them.
	{"SPDY after a refused WebSocket", fallbackExecutor("-missing"), fallbackDialer("-missing")},
}

func spdyExecutor(config *rest.Config, at urlOf, pod string) (remotecommand.Executor, error) {
	return remotecommand.NewSPDYExecutor(config, http.MethodPost, at(pod))
}

func webSocketExecutor(config *rest.Config, at urlOf, pod string) (remotecommand.Executor, error) {
	return remotecommand.NewWebSocketExecutor(config, http.MethodGet, at(pod).String())
}

func fallbackExecutor(suffix string) func(*rest.Config, urlOf, string) (remotecommand.Executor, error) {
	return func(config *rest.Config, at urlOf, pod string) (remotecommand.Executor, error) {
		first, err := webSocketExecutor(config, at, pod+suffix)
		if err != nil {
			return nil, err
		}
		second, err := spdyExecutor(config, at, pod)
		if err != nil {
			return nil, err
		}
		return remotecommand.NewFallbackExecutor(first, second, isRefused)
	}
}

func spdyDialer(config *rest.Config, at urlOf, pod string) (httpstream.Dialer, error) {
	transport, upgrader, err := spdy.RoundTripperFor(config)
	if err != nil {
		return nil, err
	}
	return spdy.NewDialer(upgrader, &http.Client{Transport: transport}, http.MethodPost, at(pod)), nil
}

func tunnelDialer(config *rest.Config, at urlOf, pod string) (httpstream.Dialer, error) {
	return portforward.NewSPDYOverWebsocketDialer(at(pod), config)
}

func fallbackDialer(suffix string) func(*rest.Config, urlOf, string) (httpstream.Dialer, error) {
	return func(config *rest.Config, at urlOf, pod string) (httpstream.Dialer, error) {
		first, err := tunnelDialer(config, at, pod+suffix)
		if err != nil {
			return nil, err
		}
		second, err := spdyDialer(config, at, pod)
		if err != nil {
			return nil, err
		}
		return portforward.NewFallbackDialer(first, second, isRefused), nil
	}
}
