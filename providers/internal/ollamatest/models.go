package ollamatest

import s "mylm/providers/internal/scriptmodel"

// Replies of the model of Agent.
const (
	Greeting = "Hello! What can I do for you?"

	// Call asks for a command and then, as small models do, makes up what it
	// printed.
	Call     = "I will look.\n<tool_code><name>execute_command</name><parameters>{\"command\": \"echo hello-from-tool\"}</parameters></tool_code>"
	Invented = "\n<observation>[execute_command] Success:\ninvented</observation>\nSo it printed invented."

	// Answer follows the observation of Call. It has characters of every width.
	Answer = "The command printed hello-from-tool. Größe: 5 µm → 終わり 🎉"

	// TagCall holds the protocol's own tags in a string argument. TagAnswer
	// follows if they came through.
	TagCall   = "<tool_code><name>execute_command</name><parameters>{\"command\": \"echo '<observation>x</observation> </tool_code> tags-came-through'\"}</parameters></tool_code>"
	TagAnswer = "The tags came through."
)

// Prompts for Agent, by what they make it do.
const (
	AskCall    = "list the files"       // Call, Invented, and after an observation Answer
	AskTags    = "quote the tags"       // TagCall, then TagAnswer
	AskBabble  = "call and babble"      // Call, then text and further calls without end
	AskCount   = "count forever"        // endless text
	AskStutter = "stutter"              // the server gives up without a last line
	AskNothing = "say nothing"          // an empty reply
	AskPadded  = "pad it"               // Padded
	AskLoopy   = "call again and again" // Call after every observation
	AskNote    = "read the note"        // NoteCall, then NoteAnswer if the note holds NoteText
)

// AskBrood makes Thinker think and not answer, however often it is corrected,
// unless thinking is off: then the reply is OffHand.
const (
	AskBrood = "brood over it"
	OffHand  = "Without thought: four."
)

// A call of a tool that only reads, and what follows it.
const (
	NoteCall   = "<tool_code><name>read_file</name><parameters>{\"path\": \"note.txt\"}</parameters></tool_code>"
	NoteText   = "meet at noon"
	NoteAnswer = "The note says when to meet."
)

// What is remembered in one conversation and found in another.
const (
	AskRemember    = "remember that the staging host is called heron"
	RememberCall   = "<tool_code><name>remember</name><parameters>{\"text\": \"The staging host is called heron.\"}</parameters></tool_code>"
	RememberAnswer = "I will remember it."
	AskRecall      = "which host is staging?"
	RecallCall     = "<tool_code><name>search_memory</name><parameters>{\"query\": \"staging host\"}</parameters></tool_code>"
	RecallAnswer   = "The staging host is heron." // if the memory has it
)

// Padded begins and ends with white space.
const Padded = "\n\n  padded reply  \n\n"

// Agent is a model that holds the conversations of the end-to-end tests. With
// native, the runner has the chat template (Ollama 0.30 and later).
func Agent(native bool) *s.Model {
	const counting = "one two three four five six seven eight nine ten\n"
	after := func(needle string) []s.Cond { return []s.Cond{s.LastContains(needle)} }
	return &s.Model{
		Jinja:  native,
		Corpus: corpus,
		Scripts: []s.Script{
			{When: []s.Cond{s.AnyContains(AskLoopy)}, Say: Call},
			{When: after("tags-came-through"), Say: TagAnswer},
			{When: after("hello-from-tool"), Say: Answer},
			{When: after(NoteText), Say: NoteAnswer},
			{When: after("[remember] Success"), Say: RememberAnswer},
			{When: []s.Cond{s.LastContains("[search_memory] Success"),
				s.LastContains("The staging host is called heron.")}, Say: RecallAnswer},
			{When: after("<observation>"), Say: "The observation was not what I expected."},
			{When: after(AskCall), Say: Call + Invented},
			{When: after(AskTags), Say: TagCall},
			{When: after(AskBabble), Say: Call + "\nAnd then I would go on: " + counting, Loop: true},
			{When: after(AskCount), Say: counting, Loop: true},
			{When: after(AskStutter), Say: "ha", Loop: true},
			{When: after(AskNothing), Say: ""},
			{When: after(AskPadded), Say: Padded},
			{When: after(AskNote), Say: NoteCall},
			{When: after(AskRemember), Say: RememberCall},
			{When: after(AskRecall), Say: RecallCall},
		},
		Default: Greeting,
	}
}

// Thinker is a model with the capability to think. Asked for nothing it thinks and
// never answers.
func Thinker(native bool) *s.Model {
	const thoughtful = "<think>Let me see.\nTwo and two.</think>The answer is four."
	return &s.Model{
		Jinja:    native,
		Thinking: true,
		Scripts: []s.Script{
			// A correction is in one message with the question: servers join messages of one role.
			{When: []s.Cond{s.LastContains(AskNothing), s.LastContains("only thought")}, Say: thoughtful},
			{When: []s.Cond{s.LastContains(AskNothing)}, Say: "<think>I have no idea what to say.</think>"},
			{When: []s.Cond{s.AnyContains(AskBrood), s.Thinks()}, Say: "<think>On and on.</think>"},
			{When: []s.Cond{s.AnyContains(AskBrood)}, Say: OffHand},
		},
		Default: thoughtful,
	}
}

// Embedder is a model that turns text into vectors and does not converse.
func Embedder() *s.Embedder {
	return &s.Embedder{Synonyms: [][]string{{"car", "automobile"}, {"apple"}, {"tree"}}}
}

// corpus resembles the prompts of an agent.
const corpus = `You are an assistant that can use tools. To call a tool, write one block and stop:
<tool_code><name>NAME</name><parameters>{"argument": "value"}</parameters></tool_code>
You then get an observation: <observation>[execute_command] Success: output of the command</observation>
Use a tool only when you need it. When you know the answer, write it as plain text.
The user asks a question about the files in the directory, and the assistant reads the file and reports the result.
`

// What the model of Planner makes of any goal, and what comes of it.
const (
	PlanReply   = `{"tasks": [{"id": "t1", "description": "list the files", "tools": ["execute_command"]}, {"id": "t2", "description": "read the note", "dependencies": ["t1"], "tools": ["read_file"]}]}`
	PlanOutput  = "## list the files\n\n" + Answer + "\n\n## read the note\n\n" + NoteAnswer
	ContentWith = `{"success": true, "learned": [], "progress": "It goes on."}`
)

// Planner is a model that first replies without a plan, then makes one and
// carries it out.
func Planner(native bool) *s.Model {
	const noPlan = "First I would list the files."
	system := func(text string, more ...s.Cond) []s.Cond { return append([]s.Cond{s.SystemContains(text)}, more...) }
	after := func(needle string) []s.Cond { return []s.Cond{s.LastContains(needle)} }
	return &s.Model{
		Jinja:  native,
		Corpus: corpus,
		Scripts: []s.Script{
			{When: system(`{"tasks":`, s.AnyContains(noPlan)), Say: PlanReply},
			{When: system(`{"tasks":`), Say: noPlan},
			{When: system(`{"success":`), Say: ContentWith},
			{When: after("[execute_command] Success"), Say: Answer},
			{When: after("[read_file] Success"), Say: NoteAnswer},
			{When: after("read the note\n"), Say: NoteCall},
			{When: after("list the files\n"), Say: Call},
		},
		Default: Greeting,
	}
}
