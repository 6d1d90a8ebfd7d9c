// Package evaltest examines a model in a Go test, for programs that want to know in
// CI whether a model can still use their tools.
//
// # Smallest use
//
//	func TestTools(t *testing.T) {
//		suite, err := eval.Load("testdata/exam.yaml")
//		if err != nil {
//			t.Fatal(err)
//		}
//		evaltest.Run(t, suite, eval.Options{Agent: agent.Options{Model: model}, Tools: myTools}, 0.9)
//	}
//
// # Terms
//
// Verify shows that the checks of a suite can pass and fail, with no model at all.
// Student is a model that knows a suite's scripts, for tests of the machinery around
// an exam.
//
// # Limits
//
// A program's own tools run as they are: nothing confines them, and what they did is
// undone by nobody.
package evaltest
