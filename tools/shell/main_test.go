package shell_test

import (
	"os"
	"testing"

	"mylm/tools/sandbox"
)

// unsupervised makes this program one that cannot supervise commands, as on
// other systems.
const unsupervised = "SHELL_TEST_UNSUPERVISED"

func TestMain(m *testing.M) {
	if os.Getenv(unsupervised) == "" {
		sandbox.Main()
	}
	os.Exit(m.Run())
}
