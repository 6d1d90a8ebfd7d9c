package main

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"mylm/cmd/mylm/internal/config"
	"mylm/cmd/mylm/internal/setup"
	"mylm/cmd/mylm/internal/term"
	"mylm/memory"

	"github.com/urfave/cli/v2"
)

func reindexCommand(s *term.Screen) *cli.Command {
	return &cli.Command{
		Name: "reindex", Usage: "rebuild the index of words and all vectors, or continue a rebuild",
		Description: `Searches do this by themselves, a little each time. It is of use after a change of
the embedder, or to have it done at once. Vectors of another embedder are deleted
at the end; with --embedder none all are. The memory can be used meanwhile.`,
		Flags:  append(config.Flags(config.Embedder, config.Host), jsonFlag()),
		Action: withMemory(s, (*memoryRun).reindex),
	}
}

func (r *memoryRun) reindex(ctx context.Context) error {
	e, fallback, err := setup.Embedder(ctx, r.config, r.store)
	if err != nil {
		return err
	}
	if fallback != nil {
		return fmt.Errorf("the vectors are left as they are: %w", fallback)
	}
	var done, total atomic.Int64
	err = r.showing(func() string {
		if total.Load() == 0 {
			return "indexing words"
		}
		return fmt.Sprintf("making vectors, %d of %d", done.Load(), total.Load())
	}, func() error {
		if err := r.store.Reindex(ctx); err != nil {
			return err
		}
		if e == nil {
			return r.dropVectors(ctx)
		}
		return r.store.Embed(ctx, e, func(d, t int) { done.Store(int64(d)); total.Store(int64(t)) })
	})
	if ctx.Err() != nil && done.Load() > 0 {
		r.screen.Say(fmt.Sprintf("mylm: %d of %d memories have a vector; mylm memory reindex continues from there", done.Load(), total.Load()))
	}
	if errors.Is(err, memory.ErrRefused) {
		r.screen.Say("mylm: " + term.OneLine(err.Error(), 500))
		err = nil
	}
	if err != nil {
		return err
	}
	return r.reindexed(ctx, e)
}

func (r *memoryRun) dropVectors(ctx context.Context) error {
	names, err := r.store.Embedders(ctx)
	if err != nil {
		return err
	}
	return r.store.DropVectors(ctx, names...)
}

// reindexed reports the result.
func (r *memoryRun) reindexed(ctx context.Context, e memory.Embedder) error {
	st, err := r.store.Stats(ctx)
	if err != nil {
		return err
	}
	name := ""
	if e != nil {
		name = e.Name()
	}
	if r.cli.Bool("json") {
		return term.PrintJSON(r.screen.Out, map[string]any{"documents": st.Documents, "embedder": name, "vectors": st.Vectors[name]})
	}
	text := "mylm: " + term.Plural(st.Documents, "document") + " indexed"
	if e != nil {
		text += fmt.Sprintf(", %s of %s", term.Plural(st.Vectors[name], "vector"), name)
	}
	if config.Embedder.From(r.config.Settings).Kind == config.Flag {
		text += fmt.Sprintf("\n  For searches, too, put embedder = %q into the configuration, or set MYLM_EMBEDDER.", config.Embedder.Of(r.config.Settings))
	}
	r.screen.Say(text)
	return nil
}
