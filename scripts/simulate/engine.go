package main

import (
	"container/heap"
	"math/rand/v2"
	"slices"
)

// engine carries out what is to happen, in the order of time. Times are in seconds.
type engine struct {
	now    float64
	order  uint64
	events events
	random *rand.Rand
}

func newEngine(seed uint64) *engine {
	return &engine{random: rand.New(rand.NewPCG(seed, 0))}
}

// process is something that takes its steps one after the other: a run, or a customer in
// a test. It waits for one event at most.
type process struct {
	plan   []step
	shard  *station // of steps that name none
	done   func(*process)
	born   float64
	waited float64 // for places
	at     float64
	order  uint64
}

// step is one of three: a place is taken, waiting if there is none, a place is given
// back, or time passes.
type step struct {
	op   int
	at   *station // nil: the process's shard
	mean float64  // of an exponential distribution
}

const (
	take = iota
	give
	pass
)

// station has equal places with one queue: first come, first served.
type station struct {
	name           string
	places, busy   int
	queue          []*process
	busySeconds    float64
	since          float64 // when busySeconds was brought up to date
	waits, arrived int
	waited         float64
}

func (s *station) settle(now float64) {
	s.busySeconds += float64(s.busy) * (now - s.since)
	s.since = now
}

// reset begins to count anew.
func (s *station) reset(now float64) {
	s.settle(now)
	s.busySeconds, s.waits, s.arrived, s.waited = 0, 0, 0, 0
}

// start lets a process take its first step after a time.
func (e *engine) start(p *process, after float64) {
	p.born = e.now + after
	e.wake(p, after)
}

func (e *engine) wake(p *process, after float64) {
	e.order++
	p.at, p.order = e.now+after, e.order
	heap.Push(&e.events, p)
}

// runUntil lets time pass until the end, or until nothing is left to happen.
func (e *engine) runUntil(end float64) {
	for len(e.events) > 0 && e.events[0].at <= end {
		p := heap.Pop(&e.events).(*process)
		e.now = p.at
		e.advance(p)
	}
	e.now = max(e.now, end)
}

// advance takes the steps of a process until it has to wait.
func (e *engine) advance(p *process) {
	for len(p.plan) > 0 {
		s := p.plan[0]
		p.plan = p.plan[1:]
		at := s.at
		if at == nil {
			at = p.shard
		}
		switch s.op {
		case pass:
			e.wake(p, e.random.ExpFloat64()*s.mean)
			return
		case give:
			e.give(at)
		case take:
			at.arrived++
			if at.busy == at.places {
				at.waits++
				p.at = e.now
				at.queue = append(at.queue, p)
				return
			}
			at.settle(e.now)
			at.busy++
		}
	}
	if p.done != nil {
		p.done(p)
	}
}

// give hands a place to the one that waits longest.
func (e *engine) give(s *station) {
	if len(s.queue) == 0 {
		s.settle(e.now)
		s.busy--
		return
	}
	next := s.queue[0]
	s.queue = s.queue[1:]
	waited := e.now - next.at
	next.waited += waited
	s.waited += waited
	e.wake(next, 0)
}

// events are a heap by time; those of the same time are in the order of their making.
type events []*process

func (h events) Len() int { return len(h) }
func (h events) Less(i, j int) bool {
	return h[i].at < h[j].at || h[i].at == h[j].at && h[i].order < h[j].order
}
func (h events) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h *events) Push(x any)   { *h = append(*h, x.(*process)) }
func (h *events) Pop() any {
	old := *h
	last := old[len(old)-1]
	*h = old[:len(old)-1]
	return last
}

// quantile is that of values, which it sorts.
func quantile(values []float64, q float64) float64 {
	if len(values) == 0 {
		return 0
	}
	slices.Sort(values)
	return values[int(q*float64(len(values)-1))]
}
