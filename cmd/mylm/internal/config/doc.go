// Package config holds the settings of the command. Each is one row of a table
// (table.go) with its flag, variable, key in the configuration file, type,
// check and help; flags, variables, the file, profiles, precedence, mylm config
// show and the template of a new file follow from it.
//
//	c, err := config.Load(ctx, config.Source{Flags: command.Flags})
//	turns := config.MaxTurns.Of(c.Settings) // whatever set it
//
// Settings are layers; the first that holds a value counts:
//
//	flag, MYLM_* variable, session that is resumed, profile, entry of the
//	model, configuration file, OLLAMA_HOST
//
// A project's .mylm.toml can only tighten them. The package also holds the
// entries [models.NAME], the directories of mylm, and the rules for what is
// secret in the configuration.
package config
