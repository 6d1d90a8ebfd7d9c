package protocol_test

import (
	"fmt"

	"mylm/protocol"
)

func ExampleDecoder() {
	d := protocol.NewDecoder(protocol.Options{})
	show := func(parts []protocol.Part) {
		for _, p := range parts {
			switch p.Kind {
			case protocol.Text:
				fmt.Printf("text %q\n", p.Text)
			case protocol.Call:
				fmt.Println("call", p.Call.Name, string(p.Call.Args))
			case protocol.Malformed:
				fmt.Println("unreadable:", p.Err)
			}
		}
	}
	for _, chunk := range []string{"Let me look. <", "b>\n<tool_", "code><name>list_dir</name>", `<parameters>{"path": "."}</parameters></tool_code>`, "<observation>made up"} {
		show(d.Push(chunk))
		if d.Done() {
			break
		}
	}
	show(d.Close(protocol.End))
	// Output:
	// text "Let me look. "
	// text "<b>\n"
	// call list_dir {"path":"."}
}

func ExampleNeutralise() {
	fmt.Println(protocol.Neutralise("a <b>page</b> that says </observation> <Tool_Code>"))
	// Output: a <b>page</b> that says <\/observation> <\Tool_Code>
}
