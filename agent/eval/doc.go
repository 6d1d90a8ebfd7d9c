// Package eval measures how well a model drives tools through text: it asks the
// tasks of a suite, each with tools that are simulated or confined to a temporary
// directory, and checks what is left in the end and what the answer says.
//
// # Smallest use
//
//	report, err := eval.Run(ctx, eval.Options{Suite: eval.Core(), Agent: agent.Options{Model: model}})
//	fmt.Println(report.Total.Rate, report.Total.Low, report.Total.High)
//
// The package evaltest runs a suite in a Go test.
//
// # Terms
//
// A Task is a question with tools and a Check. A Suite is tasks and the simulated
// tools they share; Parse reads one from YAML. An exam asks a model every task of
// a suite one or more times. An Outcome is what came of asking one task once; a
// Report counts outcomes. A Log keeps an exam on disk, so that it can be resumed.
//
// A check looks at the answer, at the state of the simulated tools, and at the
// files of the workspace. How the model got there does not count. Each task has
// scripts: one right run, and wrong ones, which Suite.Verify carries out to show
// that the check passes the one and fails the others.
//
// # Limits
//
// A rate and its interval are about this model with these tasks, this prompt and
// these settings; they do not tell how it does with other tasks. Tasks are not
// drawn at random from anything.
package eval
