package main

import (
	"math"
	"slices"
)

// load is what is asked of a cluster.
type load struct {
	perMinute float64 // runs
	turns     int     // of a run, each but the last with a call
	model     float64 // seconds of a model call
	tool      float64 // seconds of a tool call
	searches  float64 // of the memory, of a run
}

// costs are what the parts take, in seconds of one core unless said otherwise.
//
// They were measured with agents of 8 turns and a model that answers at once, on a virtual
// machine of two cores that had other work as well: with all of it for themselves, both
// cores together did 12 to 15 runs a second with Temporal's development server, which is
// half of these costs. The processor times are those of /proc/PID/stat, over 120 runs of
// which 12 were under way. Those of the worker and of Temporal were then multiplied by what
// short calls as local activities, eager activities and fewer heartbeats left of them, both
// measured in one hour: 0.46 and 0.41.
type costs struct {
	// The worker, per activity, local ones too: 103 ms a run, of it 16 for reading and
	// writing the session, times 0.46.
	worker float64
	// Temporal's services, version 1.29.1, per write: 355 ms a run, times 0.41.
	temporal float64
	// Temporal's database, PostgreSQL 15, per write: 208 ms a run, in 454 transactions.
	temporalWrite float64
	// mylm's database, per activity, local ones too: 0.86 ms to read the session and 0.52
	// for each entry that is appended, of which a run has 25.
	sessions float64
	// mylm's database, per search: the nearest 10 of 20,000 random vectors of 384 numbers,
	// which are harder to find than those of texts.
	search float64
	// From a commit to the disk's answer, in seconds: no core works. pg_test_fsync has
	// 0.5 to 3.6 ms there.
	commit float64
}

var defaults = costs{worker: 2.6e-3, temporal: 4.9e-3, temporalWrite: 2.4e-3, sessions: 1.6e-3, search: 5.8e-3, commit: 2e-3}

// commits of an activity to mylm's database: one an entry.
const commits = 1.5

// activities of a run: the model calls, and one records the end and keeps what the run leaves.
func (l load) activities() int { return l.turns + 1 }

// local activities: the calls, and one asks for the context window.
func (l load) local() int { return l.calls() + 1 }
func (l load) calls() int { return l.turns - 1 }

// Heartbeats of an activity (agent/durable/temporal): the first, and how far the SDK keeps
// two apart, four fifths of the ten seconds in which the server has to hear of it.
const (
	firstBeat = 2.5
	heartbeat = 8
)

func beats(seconds float64) float64 { return max(0, 1+math.Floor((seconds-firstBeat)/heartbeat)) }

// writes to Temporal's database for a run. The start is one. A workflow task is two: it
// is begun and completed, which begins the next activity. The end of an activity is one, and
// so is a heartbeat. For 8 turns without any this is 30; Temporal's metrics had 29, when there
// were as many activities.
func (l load) writes() float64 {
	return 1 + 2*float64(1+l.activities()) + float64(l.activities()) + float64(l.turns)*beats(l.model)
}

// sizes of a cluster.
type sizes struct {
	workers       int // processes
	workerCores   int // of all of them together
	slots         int // of a worker: activities at once
	connections   int // of a worker to mylm's database
	temporalCores int
	shards        int
	temporalConns int // to Temporal's database
	temporalDB    int // cores
	database      int // cores of mylm's
	frontends     int
	matching      int
}

// Rules by which sizes are chosen: what is busy for more of the time has no room for an
// hour that is busier than others.
const (
	target      = 0.6
	shardTarget = 0.1 // one place has no other to go to
	// The default of the SDK: activities at once.
	slotsOfWorker = 1000
	// pgxpool's default: the greater of four and the number of processors.
	connsOfWorker = 4
	// Temporal's defaults: SQL_MAX_CONNS of docker/config_template.yaml for each host, and
	// the dynamic configuration's limits of requests a second for each host:
	// frontend.rps and matching.rps.
	connsOfHost  = 20
	frontendRate = 2400
	matchingRate = 1200
	// numHistoryShards of Temporal's Helm chart; it can never be changed.
	leastShards = 512
)

// part is one of a cluster's, with how much of it is busy on average.
type part struct {
	name   string
	places int
	busy   float64
}

// parts of a cluster with a load, by Little's law: without waiting, which also holds what
// the one that waits has already. They are in the order of a result's.
func parts(l load, c costs, s sizes) []part {
	perSecond, n := l.perMinute/60, float64(l.activities()+l.local())
	held := float64(l.turns)*l.model + float64(l.activities())*(c.sessions+commits*c.commit)
	write, session := c.temporalWrite+c.commit, n*c.sessions+l.searches*c.search
	return []part{
		{"worker slots", s.workers * s.slots, perSecond * held},
		{"worker cores", s.workerCores, perSecond * n * c.worker},
		{"cores of Temporal", s.temporalCores, perSecond * l.writes() * c.temporal},
		{"connections of Temporal", s.temporalConns, perSecond * l.writes() * write},
		{"cores of Temporal's PostgreSQL", s.temporalDB, perSecond * l.writes() * c.temporalWrite},
		{"connections of the workers", s.workers * s.connections, perSecond * (session + n*commits*c.commit)},
		{"cores of mylm's PostgreSQL", s.database, perSecond * session},
		{"history shards", s.shards, perSecond * l.writes() * write},
	}
}

const (
	workerSlots = iota
	workerCores
	temporalCores
	temporalConns
	temporalDB
	sessionConns
	database
	shards
)

// use is how much of a part is busy.
func (p part) use() float64 { return p.busy / float64(p.places) }

func places(busy, most float64, least int) int { return max(least, int(math.Ceil(busy/most))) }

// size chooses the sizes for a load.
func size(l load, c costs) sizes {
	s := sizes{slots: slotsOfWorker, connections: connsOfWorker, shards: leastShards}
	p := parts(l, c, s)
	// A worker has one core. Two at least, so that one can be lost.
	s.workers = max(places(p[workerSlots].busy/slotsOfWorker, target, 2), places(p[workerCores].busy, target, 2),
		places(p[sessionConns].busy/connsOfWorker, target, 2))
	s.workerCores = s.workers
	s.temporalCores = places(p[temporalCores].busy, target, 2)
	for float64(s.shards)*shardTarget < p[shards].busy {
		s.shards *= 2
	}
	s.temporalConns = connsOfHost * places(p[temporalConns].busy/connsOfHost, target, 2)
	s.temporalDB = places(p[temporalDB].busy, target, 2)
	s.database = places(p[database].busy, target, 2)
	// Requests to the frontends: a poll and two answers for each activity, and
	// heartbeats. To matching: a task and a poll.
	perSecond := l.perMinute / 60
	s.frontends = places(perSecond*float64(4*l.activities())/frontendRate, target, 2)
	s.matching = places(perSecond*float64(2*l.activities())/matchingRate, target, 2)
	return s
}

// cluster is one that is simulated.
type cluster struct {
	*engine
	load   load
	sizes  sizes
	shards []*station
	plan   []step

	stations []*station // in the order of parts, without the shards
}

func newCluster(seed uint64, l load, c costs, s sizes) *cluster {
	x := &cluster{
		engine: newEngine(seed), load: l, sizes: s,
	}
	for _, p := range parts(l, c, s)[:shards] {
		x.stations = append(x.stations, &station{name: p.name, places: p.places})
	}
	for range s.shards {
		x.shards = append(x.shards, &station{places: 1})
	}
	x.plan = x.run(c)
	return x
}

// run is what a run does. Steps without a station are of its history shard.
func (x *cluster) run(c costs) (plan []step) {
	add := func(steps ...step) { plan = append(plan, steps...) }
	// work holds a core.
	work := func(at *station, seconds float64) {
		add(step{take, at, 0}, step{pass, nil, seconds}, step{give, at, 0})
	}
	// write holds the shard and a connection, while a core works and the disk answers.
	write := func() {
		work(x.stations[temporalCores], c.temporal)
		add(step{take, nil, 0}, step{take, x.stations[temporalConns], 0})
		work(x.stations[temporalDB], c.temporalWrite)
		add(step{pass, nil, c.commit}, step{give, x.stations[temporalConns], 0}, step{give, nil, 0})
	}
	// session is what an activity takes of mylm's database.
	session := func(searches float64) {
		add(step{take, x.stations[sessionConns], 0})
		work(x.stations[database], c.sessions)
		add(step{pass, nil, commits * c.commit})
		if searches > 0 {
			work(x.stations[database], searches*c.search)
		}
		add(step{give, x.stations[sessionConns], 0})
	}
	local := func(seconds float64, searches float64) {
		work(x.stations[workerCores], c.worker)
		session(searches)
		add(step{pass, nil, seconds})
	}
	workflowTask := func(does func()) {
		write()
		does()
		write()
	}
	activity := func(seconds float64) {
		add(step{take, x.stations[workerSlots], 0})
		work(x.stations[workerCores], c.worker)
		session(0)
		for range int(beats(seconds)) {
			write()
		}
		add(step{pass, nil, seconds})
		write()
		add(step{give, x.stations[workerSlots], 0})
	}
	write()
	workflowTask(func() { local(0, 0) })
	for turn := range x.load.turns {
		activity(x.load.model)
		workflowTask(func() {
			if turn < x.load.calls() {
				local(x.load.tool, x.load.searches/float64(x.load.calls()))
			}
		})
	}
	activity(0)
	workflowTask(func() {})
	return plan
}

// result is what was seen of a cluster.
type result struct {
	runs           int
	waits, seconds []float64 // of each run
	names          []string
	use            []float64 // of what has the name
	inFlight       int
	steady         bool // the runs of the end have ended as those before
}

// simulate lets runs arrive at random, and looks at n of them once the first have ended.
func (x *cluster) simulate(n int) result {
	perSecond := x.load.perMinute / 60
	alone := 0.0
	for _, s := range x.plan {
		alone += s.mean
	}
	begin := 2 * alone
	end := begin + float64(n)/perSecond
	var r result
	flying := 0
	var arrive func(*process)
	arrive = func(*process) {
		x.start(&process{plan: []step{{pass, nil, 1 / perSecond}}, done: arrive}, 0)
		seen := x.now >= begin && x.now < end
		flying++
		x.start(&process{plan: x.plan, shard: x.shards[x.random.IntN(len(x.shards))], done: func(p *process) {
			flying--
			if seen {
				r.waits, r.seconds = append(r.waits, p.waited), append(r.seconds, x.now-p.born)
			}
		}}, 0)
		if seen {
			r.runs++
		}
	}
	arrive(nil)
	x.runUntil(begin)
	for _, s := range slices.Concat(x.stations, x.shards) {
		s.reset(x.now)
	}
	before := flying
	x.runUntil(end)
	r.inFlight = flying
	r.steady = float64(flying-before) < 0.1*float64(r.runs)+3*math.Sqrt(float64(r.runs))
	for _, s := range x.stations {
		s.settle(x.now)
		r.names = append(r.names, s.name)
		r.use = append(r.use, s.busySeconds/(end-begin)/float64(s.places))
	}
	shards := 0.0
	for _, s := range x.shards {
		s.settle(x.now)
		shards += s.busySeconds / (end - begin) / float64(len(x.shards))
	}
	r.names, r.use = append(r.names, "history shards"), append(r.use, shards)
	x.runUntil(end + 3*alone)
	return r
}
