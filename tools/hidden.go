package tools

import "unicode"

// Hidden reports whether a character shows nothing of its own: control and format
// characters, variation selectors, fillers, invisible operators, and a blank that is
// no space. Line ends and tabs are not among them. Text made of such characters is
// read by a model and not by a person.
func Hidden(r rune) bool {
	const brailleBlank = 0x2800
	switch {
	case r == '\n', r == '\t', r < unicode.MaxASCII && r >= ' ', unicode.Is(unicode.Prepended_Concatenation_Mark, r):
		return false
	}
	return r == brailleBlank || unicode.In(r, unicode.Cc, unicode.Cf, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector)
}
