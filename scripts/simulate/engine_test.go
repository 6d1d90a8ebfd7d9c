package main

import (
	"math"
	"testing"
)

// erlangC is the probability that a customer of M/M/c has to wait, for an offered load.
func erlangC(c int, load float64) float64 {
	blocked := 1.0 // Erlang's B, by its recursion
	for k := 1; k <= c; k++ {
		blocked = load * blocked / (float64(k) + load*blocked)
	}
	utilisation := load / float64(c)
	return blocked / (1 - utilisation*(1-blocked))
}

// The waiting time of M/M/c is known: P(W > t) = C exp(-(c/s - r) t), with the rate r of
// arrivals, the mean time of service s and Erlang's C.
func TestWaitingTimes(t *testing.T) {
	for _, tt := range []struct {
		places            int
		rate, service     float64
		customers, warmup int
	}{
		{1, 0.5, 1, 150_000, 1000},
		{1, 0.7, 1, 200_000, 1000},
		{4, 3, 1, 150_000, 1000},
		{20, 160, 0.1, 150_000, 1000},
	} {
		e, s := newEngine(1), &station{places: tt.places}
		var waits []float64
		n, left := 0, 0
		var arrive func(*process)
		arrive = func(*process) {
			if n++; n <= tt.customers {
				e.start(&process{plan: []step{{pass, nil, 1 / tt.rate}}, done: arrive}, 0)
			}
			e.start(&process{plan: []step{{take, s, 0}, {pass, nil, tt.service}, {give, s, 0}}, done: func(p *process) {
				if left++; left > tt.warmup {
					waits = append(waits, p.waited)
				} else if left == tt.warmup {
					s.reset(e.now)
				}
			}}, 0)
		}
		arrive(nil)
		e.runUntil(1e12)
		load := tt.rate * tt.service
		c := erlangC(tt.places, load)
		drain := float64(tt.places)/tt.service - tt.rate
		mean := 0.0
		for _, w := range waits {
			mean += w / float64(len(waits))
		}
		near := func(what string, got, want, within float64) {
			if math.Abs(got-want) > within*want {
				t.Errorf("%+v: %s is %.4f, want %.4f", tt, what, got, want)
			}
		}
		near("the share that waits", float64(s.waits)/float64(s.arrived), c, 0.02)
		near("the mean", mean, c/drain, 0.05)
		near("the 95th percentile", quantile(waits, 0.95), math.Log(c/0.05)/drain, 0.05)
		near("the share below the median of those that wait", quantile(waits, 1-c/2), math.Log(2)/drain, 0.05)
	}
}

// What is taken and given back is used, and no more.
func TestUtilisation(t *testing.T) {
	e, s := newEngine(1), &station{places: 2}
	plan := []step{{take, s, 0}, {pass, nil, 3}, {give, s, 0}}
	for range 1000 {
		e.start(&process{plan: plan}, 0)
	}
	e.runUntil(1e6)
	if s.settle(e.now); s.busy != 0 || len(s.queue) != 0 || s.waits != 998 || math.Abs(s.busySeconds-3000) > 300 {
		t.Errorf("%+v", s)
	}
}
