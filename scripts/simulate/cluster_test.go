package main

import (
	"reflect"
	"testing"
)

var small = load{perMinute: 600, turns: 3, model: 1, tool: 0.1, searches: 1}

func simulated(seed uint64, l load, s sizes, n int) result {
	return newCluster(seed, l, defaults, s).simulate(n)
}

func TestSameSeed(t *testing.T) {
	s := size(small, defaults)
	one, again, other := simulated(1, small, s, 500), simulated(1, small, s, 500), simulated(2, small, s, 500)
	if !reflect.DeepEqual(one, again) {
		t.Error("the same seed gives something else")
	}
	if reflect.DeepEqual(one, other) {
		t.Error("another seed gives the same")
	}
}

// What is busy follows from the load and the costs, by Little's law.
func TestDemand(t *testing.T) {
	s := size(small, defaults)
	r := simulated(1, small, s, 2000)
	for i, p := range parts(small, defaults, s) {
		holds := i == workerSlots || i == temporalConns || i == sessionConns || i == shards // while it waits for another
		if got, want := r.use[i], p.use(); r.names[i] != p.name || got < 0.9*want-0.002 || got > 1.1*want+0.002 && !holds {
			t.Errorf("%s: busy for %.3f of the time, want %.3f", r.names[i], got, want)
		}
	}
	if !r.steady || len(r.waits) != r.runs {
		t.Errorf("%d runs of %d have ended, steady: %v", len(r.waits), r.runs, r.steady)
	}
}

// With the sizes that are chosen no queue grows. With one part that is too small, that is
// the tightest, and its queue grows.
func TestBreaksFirst(t *testing.T) {
	l := small
	l.perMinute = 6000
	fits := size(l, defaults)
	if r := simulated(1, l, fits, 800); !r.steady {
		t.Error("the queues grow with the sizes that were chosen")
	}
	need := parts(l, defaults, fits)
	few := func(part int) int { return max(1, int(0.7*need[part].busy)) }
	for part, change := range []func(*sizes){
		workerSlots:   func(s *sizes) { s.slots = few(workerSlots) / s.workers },
		workerCores:   func(s *sizes) { s.workerCores = few(workerCores) },
		temporalCores: func(s *sizes) { s.temporalCores = few(temporalCores) },
		temporalConns: func(s *sizes) { s.temporalConns = few(temporalConns) },
		temporalDB:    func(s *sizes) { s.temporalDB = few(temporalDB) },
		sessionConns: func(s *sizes) {
			s.workers, s.slots, s.connections = 1, 2*int(need[workerSlots].busy), few(sessionConns)
		},
		database: func(s *sizes) { s.database = few(database) },
		shards:   func(s *sizes) { s.shards = few(shards) },
	} {
		s := fits
		change(&s)
		r := simulated(1, l, s, 800)
		if got := tightest(parts(l, defaults, s)); r.steady || got.name != need[part].name {
			t.Errorf("too few of %s: the tightest is %s, steady: %v", need[part].name, got.name, r.steady)
		}
	}
}

// A load that no server could hold is divided, into cells that each could.
func TestCells(t *testing.T) {
	l := load{perMinute: 1e6, turns: 8, model: 5, tool: 0.2}
	d := parts(l, defaults, sizes{})
	c := measure(load{perMinute: 60, turns: 2, model: 0.1}, defaults, 32, 1, 10)
	if c.cells != 1 {
		t.Errorf("a small load has %d cells", c.cells)
	}
	cells := places(max(d[temporalDB].busy, d[database].busy)/8, target, 1)
	l.perMinute /= float64(cells)
	if s := size(l, defaults); s.temporalDB > 8 || s.database > 8 {
		t.Errorf("%d cells have databases of %d and %d cores", cells, s.temporalDB, s.database)
	}
}
