// Package sink is where the events of a run go: the terminal, and stdout as one
// JSON object or as lines of JSON. A sink takes events, and nothing else of a
// run; what it needs before and after them is in [Run] and [Outcome].
//
//	sinks := sink.All{sink.NewJSON(screen), sink.NewTerminal(screen, sink.Options{})}
//	err := sinks.Watch(sink.Run{Session: s.ID}, agent.Run(ctx, s, "how many files are here?"))
//	result, _ := s.Result()
//	err = sinks.Close(sink.Outcome{Result: &result})
//
// To add one, write a file with a type that implements [Sink], and have the
// command put it into the list.
package sink
