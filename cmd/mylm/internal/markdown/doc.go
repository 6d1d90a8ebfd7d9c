// Package markdown shows Markdown on a terminal, while it is written.
//
//	s := markdown.New(markdown.Options{Width: 80, Color: true})
//	for text := range reply {
//		fmt.Print(s.Write(text)) // rows that are final
//		redraw(s.Open())         // rows of the open block, below them
//	}
//	fmt.Print(s.Close())
//
// It is CommonMark with tables, strikethrough and task lists of GitHub, as
// goldmark parses it, with four differences:
//
//   - A block, an item of a list at the top level, a line of a fenced code block
//     there, and a row of a long table are final once what follows cannot change
//     them. So a definition of a link ([name]: URL) is text, and so is what refers
//     to it: the definition usually comes last.
//   - A line break in a paragraph is shown as one, and an empty line between
//     blocks only where the text has one.
//   - HTML is shown as it is written, except for <br>.
//   - A block longer than 4 kB is ended there.
//
// What the model wrote reaches the output without control characters, those
// from character references included. No row is wider than Options.Width.
package markdown
