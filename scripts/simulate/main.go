// Simulate says what a cluster for many runs a minute consists of, how busy its parts
// are and how long runs wait in it, and which part is the first that is too small:
//
//	go run ./scripts/simulate [-rates 10,1000,100000] [-turns 8] [-model 5s] …
//
// It is a simulation of discrete events: runs arrive at random, each takes its steps
// (docs/scale.md), each step holds what it needs, and what is busy is waited for. Times
// of work are drawn from exponential distributions. The same flags give the same
// numbers. What the parts cost was measured; where, is in the comments of costs. How
// long models and tools take is an assumption: set it to yours.
//
// A cluster whose database would be larger than a server can be is divided into cells
// of equal size, each with a Temporal, a PostgreSQL and workers of its own.
//
// Costs are printed as hours of cores and so on. With prices, in any currency, they are
// added up.
package main

import (
	"cmp"
	"flag"
	"fmt"
	"io"
	"log"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Bytes that a turn leaves: in Temporal's history, as its server counts them, and on the
// disk of mylm's database, with results of 2 KB. Both are of the runs that costs are from.
const (
	historyOfTurn = 45_500.0 / 8
	sessionOfTurn = 23_100.0 / 8
)

// prices, in one currency.
type prices struct{ core, model, storage float64 }

func main() {
	log.SetFlags(0)
	l, p := load{}, prices{}
	rates := flag.String("rates", "10,1000,100000", "runs a `minute`")
	flag.IntVar(&l.turns, "turns", 8, "replies of the model in a run; all but the last have a call")
	model := flag.Duration("model", 5*time.Second, "the mean of a model call")
	tool := flag.Duration("tool", 200*time.Millisecond, "the mean of a tool call")
	flag.Float64Var(&l.searches, "searches", 1, "searches of the memory in a run")
	cores := flag.Int("database-cores", 32, "cores of the largest server for a database")
	seed := flag.Uint64("seed", 1, "of what is random")
	runs := flag.Int("runs", 10_000, "runs that are looked at, for each rate")
	flag.Float64Var(&p.core, "price-core-hour", 0, "of a core with its memory")
	flag.Float64Var(&p.model, "price-model-hour", 0, "of an hour that a model writes to one run, tokens included")
	flag.Float64Var(&p.storage, "price-gb-month", 0, "of a gigabyte on the databases' disks")
	flag.Parse()
	l.model, l.tool = model.Seconds(), tool.Seconds()
	if l.turns < 2 || l.model <= 0 || l.tool < 0 || l.searches < 0 || *runs < 1 || *cores < 2 || flag.NArg() > 0 {
		log.Fatal("simulate: -turns is at least 2, -model more than 0, -runs at least 1 and -database-cores at least 2")
	}
	var columns []column
	for text := range strings.SplitSeq(*rates, ",") {
		rate, err := strconv.ParseFloat(text, 64)
		if err != nil || rate <= 0 {
			log.Fatalf("simulate: -rates %q: numbers above 0 with commas between them", *rates)
		}
		l.perMinute = rate
		columns = append(columns, measure(l, defaults, *cores, *seed, *runs))
	}
	print(os.Stdout, columns, p)
	limits(os.Stdout, l, defaults, *cores)
}

// column is a rate with what was found out.
type column struct {
	load  load // of the whole
	cells int
	cell  load
	costs costs
	sizes // of a cell
	result
}

// measure divides the load into cells no larger than their databases can be, and
// simulates one.
func measure(l load, c costs, cores int, seed uint64, runs int) column {
	all := parts(l, c, sizes{})
	cells := places(max(all[temporalDB].busy, all[database].busy)/float64(cores), target, 1)
	cell := l
	cell.perMinute /= float64(cells)
	s := size(cell, c)
	return column{l, cells, cell, c, s, newCluster(seed, cell, c, s).simulate(runs)}
}

// print writes a table for docs/scale.md.
func print(w io.Writer, columns []column, p prices) {
	row := func(name string, value func(column) string) {
		fmt.Fprintf(w, "| %s |", name)
		for _, c := range columns {
			fmt.Fprintf(w, " %s |", value(c))
		}
		fmt.Fprintln(w)
	}
	count := func(name string, value func(column) int) {
		row(name, func(c column) string { return thousands(float64(value(c))) })
	}
	row("runs a minute", func(c column) string { return thousands(c.load.perMinute) })
	fmt.Fprintln(w, "|---|"+strings.Repeat("---:|", len(columns)))
	count("cells", func(c column) int { return c.cells })
	count("runs at once", func(c column) int { return c.inFlight * c.cells })
	count("workers, of one core", func(c column) int { return c.workers * c.cells })
	count("Temporal: frontends", func(c column) int { return c.frontends * c.cells })
	count("Temporal: hosts for matching", func(c column) int { return c.matching * c.cells })
	count("Temporal: cores of all services", func(c column) int { return c.temporalCores * c.cells })
	count("Temporal: history shards of a cell", func(c column) int { return c.shards })
	count("Temporal's PostgreSQL: cores", func(c column) int { return c.temporalDB * c.cells })
	row("Temporal's PostgreSQL: writes a second", func(c column) string { return thousands(c.load.writes() * c.load.perMinute / 60) })
	count("mylm's PostgreSQL: cores", func(c column) int { return c.database * c.cells })
	count("mylm's PostgreSQL: connections", func(c column) int { return c.workers * c.connections * c.cells })
	row("on disk, GB a day", func(c column) string {
		return figure(bytesOf(c.load) * c.load.perMinute * 60 * 24 / 1e9)
	})
	for i, name := range columns[0].names {
		row("busy: "+name, func(c column) string { return fmt.Sprintf("%.0f%%", 100*c.use[i]) })
	}
	row("a run takes, median", func(c column) string { return seconds(quantile(c.seconds, 0.5)) })
	row("and waits for places, median", func(c column) string { return seconds(quantile(c.waits, 0.5)) })
	row("95th percentile", func(c column) string { return seconds(quantile(c.waits, 0.95)) })
	row("the tightest part", func(c column) string { return tightest(parts(c.cell, c.costs, c.sizes)).name })
	row("1,000 runs: hours of cores", func(c column) string { return figure(coreHours(c)) })
	row("1,000 runs: hours of model calls", func(c column) string { return figure(modelHours(c.load)) })
	row("1,000 runs: MB on disk", func(c column) string { return figure(bytesOf(c.load) * 1000 / 1e6) })
	if p != (prices{}) {
		row("1,000 runs: price, disk for a month", func(c column) string {
			return figure(p.core*coreHours(c) + p.model*modelHours(c.load) + p.storage*bytesOf(c.load)*1000/1e9)
		})
	}
	for _, c := range columns {
		if !c.steady {
			fmt.Fprintf(w, "\nWith %s runs a minute the queues grow.\n", thousands(c.load.perMinute))
		}
	}
}

// tightest is the part that is the first to be busy all the time.
func tightest(all []part) part {
	return slices.MaxFunc(all, func(a, b part) int { return cmp.Compare(a.use(), b.use()) })
}

// coreHours of 1,000 runs: of all that is there, busy or not.
func coreHours(c column) float64 {
	return float64(c.cells*(c.workerCores+c.temporalCores+c.temporalDB+c.database)) / (c.load.perMinute * 60) * 1000
}

func modelHours(l load) float64 { return float64(l.turns) * l.model / 3600 * 1000 }

func bytesOf(l load) float64 { return float64(l.turns) * (historyOfTurn + sessionOfTurn) }

// limits writes at which rate each part of a small cluster is busy all the time, and
// which parts cannot be made larger.
func limits(w io.Writer, l load, c costs, cores int) {
	l.perMinute = 1
	all := parts(l, c, sizes{
		workers: 2, workerCores: 2, slots: slotsOfWorker, connections: connsOfWorker,
		temporalCores: 2, shards: leastShards, temporalConns: 2 * connsOfHost, temporalDB: 2, database: 2,
	})
	database := target * float64(cores) / all[database].busy
	temporal := target * float64(cores) / all[temporalDB].busy
	slices.SortFunc(all, func(a, b part) int { return cmp.Compare(b.use(), a.use()) })
	fmt.Fprintln(w, "\n| part of a small cluster | busy all the time at, runs a minute |\n|---|---:|")
	for _, p := range all {
		fmt.Fprintf(w, "| %s %s | %s |\n", thousands(float64(p.places)), p.name, thousands(1/p.use()))
	}
	fmt.Fprintf(w, "\nOne PostgreSQL of %d cores, busy for %.0f%% of the time: %s runs a minute as Temporal's, %s as mylm's.\n",
		cores, 100*target, thousands(temporal), thousands(database))
}

// seconds, figure and thousands write numbers as far as they mean something.
func seconds(s float64) string {
	if s < 1 {
		return fmt.Sprintf("%.0f ms", 1000*s)
	}
	return fmt.Sprintf("%.1f s", s)
}

func figure(x float64) string {
	if x >= 100 {
		return thousands(x)
	}
	return strconv.FormatFloat(x, 'g', 2, 64)
}

func thousands(x float64) string {
	text := strconv.FormatFloat(math.Round(x), 'f', 0, 64)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}
