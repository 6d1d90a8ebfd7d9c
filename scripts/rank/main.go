// Rank learns the weights of the memory's ranking (memory/lexical) and measures
// it, on sets of questions whose evidence is known:
//
//	go run ./scripts/rank -mix 2,1,1 locomo=DIR beam:first=DIR qmsum=DIR
//
// A directory holds docs.jsonl {id, scope, session, time, speaker, role, text,
// caption}, queries.jsonl {id, scope, text} and qrels.jsonl {id, category,
// relevant}. Every second scope of a set is for learning and the others for the
// test; with :first the first half is for learning. A set without :none is
// learned on, one with it is only measured.
//
// It prints R@10 and MRR on both halves with 95% intervals of the test, the
// learned weights, what each feature is worth, and what the weights of the other
// sets give on each. No such set is part of this repository.
package main

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"mylm/memory/lexical"
)

// set is a set of questions over documents.
type set struct {
	name      string
	weight    float64 // in learning; 0: it is only measured
	memories  map[string]*lexical.Memory
	ids       map[string][]string // of the documents of a scope
	questions []question
}

type question struct {
	scope, text string
	relevant    []string
	learn       bool // else it is of the test
}

func main() {
	log.SetFlags(0)
	mix := flag.String("mix", "", "weights of the sets in learning, with commas; 1 each unless given")
	quick := flag.Bool("quick", false, "only learn and measure")
	fixed := flag.Bool("fixed", false, "measure lexical.Default instead of learning")
	flag.Parse()
	var sets []*set
	for i, arg := range flag.Args() {
		s, err := load(arg)
		if err != nil {
			log.Fatal(err)
		}
		if weights := strings.Split(*mix, ","); s.weight > 0 && i < len(weights) && weights[i] != "" {
			if s.weight, err = strconv.ParseFloat(weights[i], 64); err != nil {
				log.Fatal(err)
			}
		}
		sets = append(sets, s)
	}
	if len(sets) == 0 {
		flag.Usage()
		os.Exit(2)
	}
	r := lexical.Default()
	plain := lexical.Ranking{K1: 1.2, B: 0.75, Weights: lexical.Features{lexical.Around: 1}}
	all := make([][]example, len(sets))
	swapped := make([][]example, len(sets))
	for i, s := range sets {
		base, err := s.examples(plain, nil)
		if err != nil {
			log.Fatal(err)
		}
		row("BM25", s, base, &plain.Weights)
		if all[i], err = s.examples(r, nil); err != nil {
			log.Fatal(err)
		}
		if swapped[i], err = s.examples(r, swapLetters); err != nil {
			log.Fatal(err)
		}
	}
	var every [lexical.NumFeatures]bool
	for f := range every {
		every[f] = true
	}
	weights := r.Weights
	if !*fixed {
		weights = learn(sets, all, every)
	}
	for f := range lexical.NumFeatures {
		fmt.Printf("%s: %.1f, ", f, weights[f])
	}
	fmt.Println()
	for i, s := range sets {
		row("all features", s, all[i], &weights)
		row("two letters swapped", s, swapped[i], &weights)
	}
	if *quick {
		return
	}
	for f := range lexical.NumFeatures {
		some := every
		some[f] = false
		w := learn(sets, all, some)
		for i, s := range sets {
			row("without "+f.String(), s, all[i], &w)
		}
	}
	for i, s := range sets {
		if weight := s.weight; weight > 0 {
			s.weight = 0
			w := learn(sets, all, every)
			row("learned without "+s.name, s, all[i], &w)
			s.weight = weight
		}
	}
}

// row prints what weights give on a set.
func row(label string, s *set, all []example, w *lexical.Features) {
	learned, test := measure(all, w, true), measure(all, w, false)
	fmt.Printf("%-24s %-10s dev %.3f %.3f   test %.3f %.3f", label, s.name, learned.recall, learned.mrr, test.recall, test.mrr)
	if label == "all features" {
		fmt.Printf("   R@10 %.3f–%.3f, MRR %.3f–%.3f, %d questions", test.recallFrom, test.recallTo, test.mrrFrom, test.mrrTo, test.n)
	}
	fmt.Println()
}

// load reads NAME[:first][:none]=DIR.
func load(arg string) (*set, error) {
	name, dir, ok := strings.Cut(arg, "=")
	if !ok {
		return nil, fmt.Errorf("%q: write NAME=DIR", arg)
	}
	name, options, _ := strings.Cut(name, ":")
	s := &set{name: name, weight: 1, memories: map[string]*lexical.Memory{}, ids: map[string][]string{}}
	if strings.Contains(options, "none") {
		s.weight = 0
	}
	var scopes []string
	err := lines(filepath.Join(dir, "docs.jsonl"), func(d struct {
		ID, Scope, Time, Speaker, Role, Text, Caption string
		Session                                       uint32
	}) error {
		at, err := time.Parse("2006-01-02T15:04:05", d.Time)
		if err != nil {
			return err
		}
		m := s.memories[d.Scope]
		if m == nil {
			m = &lexical.Memory{}
			s.memories[d.Scope] = m
			scopes = append(scopes, d.Scope)
		}
		e := lexical.Entry{Text: strings.TrimSpace(d.Text + "\n" + d.Caption), Session: 1 + d.Session, Speaker: d.Speaker, Time: at}
		if d.Role == "assistant" {
			e.Flags = lexical.FromAssistant
		}
		m.Add(e)
		s.ids[d.Scope] = append(s.ids[d.Scope], d.ID)
		return nil
	})
	if err != nil {
		return nil, err
	}
	relevant := map[string][]string{}
	err = lines(filepath.Join(dir, "qrels.jsonl"), func(r struct {
		ID, Category string
		Relevant     []string
	}) error {
		if r.Category != "adversarial" { // LoCoMo's: they have no answer
			relevant[r.ID] = r.Relevant
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return s, lines(filepath.Join(dir, "queries.jsonl"), func(q struct{ ID, Scope, Text string }) error {
		at := slices.Index(scopes, q.Scope)
		learn := at%2 == 0
		if strings.Contains(options, "first") {
			learn = at < len(scopes)/2
		}
		if len(relevant[q.ID]) > 0 {
			s.questions = append(s.questions, question{q.Scope, q.Text, relevant[q.ID], learn})
		}
		return nil
	})
}

// lines calls f with each value of a file of JSON lines.
func lines[T any](path string, f func(T) error) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	for d := json.NewDecoder(bufio.NewReader(file)); ; {
		var v T
		if err := d.Decode(&v); errors.Is(err, io.EOF) {
			return nil
		} else if err := cmp.Or(err, f(v)); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
	}
}

// examples finds the candidates of each question, changed if change is not nil.
func (s *set) examples(r lexical.Ranking, change func(string) string) (all []example, err error) {
	for _, q := range s.questions {
		text := q.text
		if change != nil {
			text = change(text)
		}
		found, err := r.Candidates(context.Background(), s.memories[q.scope], lexical.Query{Text: text}, 200)
		if err != nil {
			return nil, err
		}
		e := example{learn: q.learn, evidence: len(q.relevant)}
		for _, c := range found {
			e.candidates = append(e.candidates, c.Features)
			e.relevant = append(e.relevant, slices.Contains(q.relevant, s.ids[q.scope][c.Doc]))
		}
		all = append(all, e)
	}
	return all, nil
}

// swapLetters swaps the two letters in the middle of the longest lower-case word.
func swapLetters(text string) string {
	words := strings.Split(text, " ")
	longest := -1
	for i, w := range words {
		plain := strings.IndexFunc(w, func(c rune) bool { return c < 'a' || c > 'z' }) < 0
		if plain && len(w) >= 4 && (longest < 0 || len(w) > len(words[longest])) {
			longest = i
		}
	}
	if longest < 0 {
		return text
	}
	w := []byte(words[longest])
	m := len(w) / 2
	w[m-1], w[m] = w[m], w[m-1]
	words[longest] = string(w)
	return strings.Join(words, " ")
}
