package journal_test

import "errors"

func namedPipe(string) error { return errors.ErrUnsupported }
