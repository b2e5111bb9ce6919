package main

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/client-go/tools/record"
)

// leaderElection lets two candidates compete: one leads, steps down, and the other takes over.
func (p *probe) leaderElection(ctx context.Context) error {
	leading := make(chan string, 4)
	run := func(ctx context.Context, identity string) {
		leaderelection.RunOrDie(ctx, leaderelection.LeaderElectionConfig{
			Lock: &resourcelock.LeaseLock{
				LeaseMeta:  metav1.ObjectMeta{Name: "probe-leader", Namespace: p.namespace},
				Client:     p.typed.CoordinationV1(),
				LockConfig: resourcelock.ResourceLockConfig{Identity: identity},
			},
			ReleaseOnCancel: true,
			LeaseDuration:   6 * time.Second,
			RenewDeadline:   4 * time.Second,
			RetryPeriod:     500 * time.Millisecond,
			Callbacks: leaderelection.LeaderCallbacks{
				OnStartedLeading: func(context.Context) { leading <- identity },
				OnStoppedLeading: func() {},
			},
		})
	}
	firstContext, stopFirst := context.WithCancel(ctx)
	defer stopFirst()
	go run(firstContext, "first")
	if err := expectLeader(ctx, leading, "first"); err != nil {
		return err
	}
	secondContext, stopSecond := context.WithCancel(ctx)
	defer stopSecond()
	go run(secondContext, "second")
	select {
	case who := <-leading:
		return fmt.Errorf("%s leads at the same time as the first", who)
	case <-time.After(1500 * time.Millisecond):
	}
	stopFirst()
	if err := expectLeader(ctx, leading, "second"); err != nil {
		return err
	}
	lease, err := p.typed.CoordinationV1().Leases(p.namespace).Get(ctx, "probe-leader", metav1.GetOptions{})
	if err != nil {
		return err
	}
	if holder := *lease.Spec.HolderIdentity; holder != "second" {
		return fmt.Errorf("want the lease to be held by second, got %q", holder)
	}
	return nil
}

func expectLeader(ctx context.Context, leading <-chan string, want string) error {
	select {
	case who := <-leading:
		if who != want {
			return fmt.Errorf("want %s to lead, got %s", want, who)
		}
		return nil
	case <-time.After(15 * time.Second):
		return fmt.Errorf("%s does not lead after 15 s", want)
	case <-ctx.Done():
		return ctx.Err()
	}
}

// eventRecorder records the same event three times, which must result in one event with a count.
func (p *probe) eventRecorder(ctx context.Context) error {
	about, err := p.typed.CoreV1().ConfigMaps(p.namespace).Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{GenerateName: "probe-event-"}}, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	broadcaster := record.NewBroadcaster()
	defer broadcaster.Shutdown()
	broadcaster.StartRecordingToSink(&typedcorev1.EventSinkImpl{Interface: p.typed.CoreV1().Events(p.namespace)})
	recorder := broadcaster.NewRecorder(scheme.Scheme, corev1.EventSource{Component: "probe"})
	for range 3 {
		recorder.Event(about, corev1.EventTypeNormal, "Probed", "looked at it")
	}
	for {
		events, err := p.typed.CoreV1().Events(p.namespace).Search(scheme.Scheme, about)
		if err != nil {
			return err
		}
		if len(events.Items) == 1 && events.Items[0].Count == 3 {
			return nil
		}
		if len(events.Items) > 1 {
			return fmt.Errorf("want one event, got %d", len(events.Items))
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("want one event with count 3, got %+v", events.Items)
		case <-time.After(100 * time.Millisecond):
		}
	}
}
