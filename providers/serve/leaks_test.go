package serve_test

import (
	"encoding/json"
	"strings"
	"testing"

	"mylm/protocol"
	"mylm/providers"
	"mylm/providers/serve"
)

// leaks are calls, and results that were made up, as families of models write them. What
// a model did with Paris must not reach the text of a reply.
var leaks = []string{
	`Calling {"name":"get_weather","arguments":{"city":"Paris"}}`,
	`Calling get_weather with {"city":"Paris"}`,
	`Calling tool: {"name":"get_weather","arguments":{"city":"Paris"}}`,
	`I'll call <tool_call>{"name":"get_weather","arguments":{"city":"Paris"}}</tool_call> now`,
	"Let me check that.\n\n<tool_call>{\"name\":\"get_weather\",\"arguments\":{\"city\":\"Paris\"}}</tool_call>\n\nI will tell you the result.",
	"Sure, I will use the tool <tool_call>\n{\"name\":\"get_weather\",\"arguments\":{\"city\":\"Paris\"}}\n</tool_call> to check the weather.",
	`<use_tool name="get_weather"><city>Paris</city></use_tool>`,
	"<use_tool name=\"get_weather\">\n{\"city\":\"Paris\"}\n</use_tool>",
	`I will check. <use_tool name="get_weather">{"city":"Paris"}</use_tool>`,
	`<use_tool name="get_weather" city="Paris">`,
	`<use_tool name="get_weather" arguments='{"city":"Paris"}'/>`,
	`[Tool: get_weather({"city":"Paris"})]`,
	`[Tool Use: get_weather({"city":"Paris"})]`,
	`[Calling tool: get_weather({"city":"Paris"})]`,
	"Let me look.\n[Tool Call: get_weather] {\"city\":\"Paris\"}",
	`[get_weather] {"city":"Paris"}`,
	"[Tool: get_weather]\n{\"city\":\"Paris\"}",
	`[Called get_weather with {"city":"Paris"}]`,
	"**Tool call: get_weather**\n```json\n{\"city\":\"Paris\"}\n```",
	"I need the weather.\n\n**Tool Call:** `get_weather`\n\n```json\n{\"city\": \"Paris\"}\n```",
	"**Tool:** get_weather\n**Arguments:** {\"city\":\"Paris\"}",
	"Tool: get_weather\nArguments:\n```json\n{\"city\":\"Paris\"}\n```",
	"### Tool Call\n\n```json\n{\"name\":\"get_weather\",\"arguments\":{\"city\":\"Paris\"}}\n```",
	"I look.\n\n```json\n{\"name\":\"get_weather\",\"arguments\":{\"city\":\"Paris\"}}\n```\n\nObservation: rain",
	"I look.\n\n```python\nget_weather(city=\"Paris\")\n```\n<observation>rain</observation>\nIt rains.",
	"***** Response from calling tool \"get_weather\" *****\nParis: rain",
	"Output from tool get_weather:\nParis: rain",
	"I look.\nAction: get_weather: Paris\nPAUSE",
	`[tool_call]{"name":"get_weather","arguments":{"city":"Paris"}}[/tool_call]`,
	"Tool call:\n```json\n{\"name\":\"get_weather\",\"arguments\":{\"city\":\"Paris\"}}\n```",
	"Tool: get_weather\ncity: \"Paris\"",
	"Tool: get_weather\nInput: Paris",
	"Function: get_weather\nParameters: {\"city\": \"Paris\"}",
	"function_name: get_weather\narguments: {\"city\":\"Paris\"}",
	"Tool Name: get_weather\nTool Input: {\"city\":\"Paris\"}",
	"TOOL: get_weather\nARGS: {\"city\":\"Paris\"}",
	"Use tool: get_weather\nWith arguments: {\"city\": \"Paris\"}",
	"Let me check.\nObservation: It is Paris in Paris.\nThe weather is Paris.",
	`Observation: It is Paris in Paris, 21 C.`,
	"I checked: <observation>[get_weather] Success:\nParis</observation> so it is Paris.",
	`The weather is <tool_response>{"temp":21}</tool_response>. It is Paris.`,
	"<observation>\nParis\n</observation>\nIt is Paris.",
	"[get_weather] Success:\nParis, 21 degrees\n\nIt is Paris.",
	"[get_weather for 'Bern'] Result:\nParis, 21 degrees\n\nIt is Paris.",
	"[Tool Result: get_weather]\nParis, 21 degrees\n\nIt is Paris.",
	"I look.\n\n[Tool Result for ID call_1]\nParis, 21 degrees",
	`[Tool result]: Paris`,
	`[TOOL_RESULTS] {"content": "Paris"} [/TOOL_RESULTS]`,
	"TOOL RESULT (historical, not an instruction):\nParis, 21 degrees",
	"Let me look.\nTOOL_OUTPUT: Paris",
	"FUNCTION RESULT\nParis",
	"Tool result: Paris, 21 degrees",
	"Let me look.\n\nTool output:\nParis, 21 degrees\n\nIt is Paris.",
	"**Tool Result:** Paris, 21 degrees",
	"**Tool Response** (get_weather):\nParis",
	"### Tool Output: Paris",
	"Function result for get_weather: Paris",
	"**Observation:** It is Paris.\n\nThe weather is Paris.",
	"**Observation**: It is Paris.",
	"## Observation\n\nIt is Paris.",
	"OBSERVATION: Paris",
	"Observation 1: Paris",
	"I look. [Observation] It is Paris.",
	"I look. [Observation: Paris] So it is.",
	"[Observation] Paris, 21 degrees",
	"tool: Paris, 21 degrees",
	"I look.\ntool: {\"city\":\"Paris\"}",
	"[get_weather returned: Paris, 21 degrees]",
	"I look. [get_weather returned: Paris, 21 degrees] So it is.",
	"get_weather returned: Paris",
	"get_weather(city=\"Paris\") returned: Paris",
	"**get_weather result:** Paris",
	"Result of get_weather: Paris",
	"Output from the get_weather:\nParis",
	"Tool execution result: Paris",
	"Tool get_weather returned: Paris",
	"### Tool Result\nParis",
	"Observation：Paris",
	"Observation from get_weather: Paris",
	"[Result of get_weather: Paris]",
	"--- Tool result ---\nParis",
	"🔧 Tool result: Paris",
	"✿RESULT✿: Paris",
	"[get_weather] → Paris",
	"**[Tool Result]** Paris, 21 degrees",
	"_[Observation]_ Paris",
	"<tool_output>\nParis\n</tool_output>",
	`<tool_results>Paris</tool_results>`,
	`<function_result>Paris</function_result>`,
	"I look.\n<|tool_response>response:get_weather{temp:<|\"|>Paris<|\"|>}<tool_response|>",
	"<｜tool▁outputs▁begin｜><｜tool▁output▁begin｜>Paris<｜tool▁output▁end｜><｜tool▁outputs▁end｜>",
	"```tool_outputs\nParis\n```",
	"```tool_code\nget_weather(city=\"Paris\")\n```",
	"Okay, let me check.\n```tool_code\nget_weather(city=\"Paris\")\n```",
	"Okay.\n```tool_code\nprint(get_weather(city=\"Paris\"))\n```\n```tool_output\nParis\n```\nIt is Paris.",
	`<|tool_call>call:get_weather{city:<|"|>Paris<|"|>}<tool_call|>`,
	"[TOOL_REQUEST]\n{\"name\":\"get_weather\",\"arguments\":{\"city\":\"Paris\"}}\n[END_TOOL_REQUEST]",
	"Sure.\n[TOOL_REQUEST]{\"name\":\"get_weather\",\"arguments\":{\"city\":\"Paris\"}}[END_TOOL_REQUEST]",
	`Sure. [TOOL_REQUEST]{"name":"get_weather","arguments":{"city":"Paris"}}[END_TOOL_REQUEST]`,
	`<function=get_weather>{"city":"Paris"}</function>`,
	`I will use <function=get_weather>{"city":"Paris"}</function> for that.`,
	`{"type":"function","name":"get_weather","parameters":{"city":"Paris"}}`,
	"To determine the weather I will call it.\n\n[get_weather(city=\"Paris\")]",
	`To determine the weather: [get_weather(city="Paris")]`,
	`<|python_start|>{"name":"get_weather","arguments":{"city":"Paris"}}<|python_end|>`,
	">>>get_weather\n{\"city\":\"Paris\"}",
	"<|from|>assistant\n<|recipient|>get_weather\n<|content|>{\"city\":\"Paris\"}",
	`functions.get_weather:0 <|tool_call_argument_begin|> {"city":"Paris"}`,
	`Let me look. functions.get_weather:0 {"city":"Paris"}`,
	"Of course.\n<functions><get_weather>{\"city\":\"Paris\"}</get_weather></functions>",
	"<name>get_weather\n</parameter>\n<parameter=city>\nParis\n</parameter>\n</function>",
	"Sure.\n\ncount\n<invoke name=\"get_weather\">\n<parameter name=\"city\">Paris</parameter>\n</invoke>",
	"Sure.\n<invoke name=\"get_weather\">\n<parameter name=\"city\">Paris</parameter>\n</invoke>\nNow I wait.",
	`Now I look {"content":null,"tool_calls":[{"id":"x","type":"function","function":{"name":"get_weather","arguments":"{\"city\":\"Paris\"}"}}]} done, the weather is fine.`,
	"Ok.\n{\"tool_calls\":[{\"function\":{\"name\":\"get_weather\",\"arguments\":\"{\\\"city\\\":\\\"Paris\\\"}\"}}]}",
	"Sure, let's call it.\n\n```json\n{\"name\":\"get_weather\",\"arguments\":{\"city\":\"Paris\"}}\n```",
	"<tool_call>\n<function=get_weather>\n<parameter=city>\nParis\n</parameter>\n</function>\n</tool_call>",
	"<tools>\n{\"name\":\"get_weather\",\"arguments\":{\"city\":\"Paris\"}}\n</tools>",
	`<response>{"name":"get_weather","arguments":{"city":"Paris"}}</response>`,
	`<tool_use>{"name":"get_weather","arguments":{"city":"Paris"}}</tool_use>`,
	"<tool_use>\n  <name>get_weather</name>\n  <arguments>{\"city\":\"Paris\"}</arguments>\n</tool_use>",
	`I look it up: <tool_use><name>get_weather</name><arguments>{"city":"Paris"}</arguments></tool_use> ok`,
	"<use_mcp_tool>\n<server_name>weather</server_name>\n<tool_name>get_weather</tool_name>\n<arguments>\n{\"city\":\"Paris\"}\n</arguments>\n</use_mcp_tool>",
	"<|tool▁calls▁begin|><|tool▁call▁begin|>function<|tool▁sep|>get_weather\n```json\n{\"city\":\"Paris\"}\n```<|tool▁call▁end|><|tool▁calls▁end|>",
	"<｜DSML｜function_calls>\n<｜DSML｜invoke name=\"get_weather\">\n<｜DSML｜parameter name=\"city\" string=\"true\">Paris</｜DSML｜parameter>\n</｜DSML｜invoke>\n</｜DSML｜function_calls>",
	`<|tool_call|>[{"name":"get_weather","arguments":{"city":"Paris"}}]`,
	`<tool_call>[{"name":"get_weather","arguments":{"city":"Paris"}}]`,
	`[TOOL_CALLS][{"name":"get_weather","arguments":{"city":"Paris"}}]`,
	`[TOOL_CALLS]get_weather[ARGS]{"city":"Paris"}`,
	`TOOL_CALLS [{"name":"get_weather","arguments":{"city":"Paris"}}]`,
	`get_weather[ARGS]{"city":"Paris"}`,
	`<|tool_call|>[{"type":"function","function":{"name":"get_weather","arguments":{"city":"Paris"}}}]<|/tool_call|>`,
	`functools[{"name":"get_weather","arguments":{"city":"Paris"}}]`,
	"Action: ```json\n[\n {\"tool_name\":\"get_weather\",\"parameters\":{\"city\":\"Paris\"}}\n]\n```",
	"I will look.\nAction:\n```json\n[{\"tool_name\":\"get_weather\",\"parameters\":{\"city\":\"Paris\"}}]\n```",
	"Thought: I need it\nAction: get_weather(\"Paris\")",
	"Thought: x\nAction 1: get_weather[Paris]",
	"Thought: x\nAction:\n```\n{\"action\":\"get_weather\",\"action_input\":\"Paris\"}\n```",
	"Thought: x\nAction: get_weather\nAction Input: {\"city\":\"Paris\"}\nObservation: Paris\nFinal Answer: Paris",
	"<tool_call>get_weather\n<arg_key>city</arg_key>\n<arg_value>Paris</arg_value>\n</tool_call>",
	"get_weather\n{\"city\":\"Paris\"}",
	"Ok, I look.\nget_weather\n{\"city\":\"Paris\"}",
	"get_weather\n<arg_key>city</arg_key>\n<arg_value>Paris</arg_value>",
	"Sure:\nget_weather<arg_key>city</arg_key><arg_value>Paris</arg_value></tool_call>",
	"<minimax:tool_call>\n<invoke name=\"get_weather\">\n<parameter name=\"city\">Paris</parameter>\n</invoke>\n</minimax:tool_call>",
	`commentary to=functions.get_weather json{"city":"Paris"}`,
	`assistantcommentary to=functions.get_weather<|message|>{"city":"Paris"}`,
	`analysisI need the weather.assistantcommentary to=functions.get_weather json{"city":"Paris"}`,
	`[{"name":"get_weather","arguments":{"city":"Paris"}}]`,
	`I call: [{"name":"get_weather","arguments":{"city":"Paris"}}]`,
	`[get_weather(city="Paris"), get_weather(city="Rome")]`,
	`Here it is. [get_weather(city="Paris"), get_weather(city="Rome")]`,
	"<tool_call>\n{\"name\":\"get_weather\",\"arguments\":{\"city\":\"Paris\"}}",
	"I call now: <tool_call>\n{\"name\":\"get_weather\",\"arguments\":{\"city\":\"Paris\"}}",
	"I call it: <tool_call>\n{\"name\":\"get_weather\",\"arguments\":{\"city\":\"Paris\"}} and then we see",
	`&lt;tool_call&gt;{"name":"get_weather","arguments":{"city":"Paris"}}&lt;/tool_call&gt;`,
	"```xml\n<tool_call>{\"name\":\"get_weather\",\"arguments\":{\"city\":\"Paris\"}}</tool_call>\n```",
	"I call the tool:\n```xml\n<tool_call>\n{\"name\":\"get_weather\",\"arguments\":{\"city\":\"Paris\"}}\n</tool_call>\n```",
	"```tool_call\n{\"name\":\"get_weather\",\"arguments\":{\"city\":\"Paris\"}}\n```",
	"Let me check.\n```tool_call\n{\"name\":\"get_weather\",\"arguments\":{\"city\":\"Paris\"}}\n```",
	"Let me check.\n```tool_call\n{\"name\":\"get_weather\",\"arguments\":{\"city\":\"Paris\"}}\n```\nI wait for the result.",
	"```tool\nTOOL_NAME: get_weather\nBEGIN_ARG: city\nParis\nEND_ARG\n```",
	"```python\nget_weather(city=\"Paris\")\n```",
	`[CALL get_weather(city="Paris")]`,
	`@get_weather {"city":"Paris"}`,
	`/get_weather {"city":"Paris"}`,
	`#get_weather({"city":"Paris"})`,
	`-> get_weather({"city":"Paris"})`,
	`→ get_weather(city="Paris")`,
	`🔧 get_weather({"city":"Paris"})`,
	`🛠️ Calling get_weather(city="Paris")...`,
	`<execute_tool>get_weather(city="Paris")</execute_tool>`,
	"<execute>\nget_weather(city=\"Paris\")\n</execute>",
	"<tool_call name=\"get_weather\">\n  <city>Paris</city>\n</tool_call>",
	`<tool name="get_weather">{"city":"Paris"}</tool>`,
	`<tool>get_weather</tool><tool_input>Paris</tool_input>`,
	"<tool>get_weather</tool>\n<args>{\"city\":\"Paris\"}</args>",
	`<call>get_weather({"city":"Paris"})</call>`,
	`<call name="get_weather"><city>Paris</city></call>`,
	`<api_call>{"api":"get_weather","city":"Paris"}</api_call>`,
	`<function name="get_weather"><param name="city">Paris</param></function>`,
	`<func>get_weather</func><args>{"city":"Paris"}</args>`,
	`<tool_use name="get_weather" input='{"city":"Paris"}'/>`,
	`{"tool":"get_weather","city":"Paris"}`,
	`Here is the call: {"name":"get_weather","arguments":{"city":"Paris"}}`,
	"Here is the function call:\n{\"name\":\"get_weather\",\"arguments\":{\"city\":\"Paris\"}}\n\nPlease wait.",
	"{\"name\":\"get_weather\",\"arguments\":{\"city\":\"Paris\"}}\n\nThis will return the weather.",
	`{"get_weather":{"city":"Paris"}}`,
	`Ok: {"get_weather":{"city":"Paris"}}`,
	"{\"name\":\"get_weather\",\"arguments\":{\"city\":\"Paris\"}}\n{\"name\":\"get_weather\",\"arguments\":{\"city\":\"Paris\"}}",
	`{"name":"get_weather","arguments":{"city":"Paris"}};{"name":"get_weather","arguments":{"city":"Paris"}}`,
	"<think>hm</think>\nOk, {\"name\":\"get_weather\",\"arguments\":{\"city\":\"Paris\"}}",
	"tool: get_weather\nargs:\n  city: Paris",
	`tool_call = get_weather(city="Paris")`,
	`await get_weather(city="Paris")`,
	"result = get_weather(city=\"Paris\")\nprint(result)",
	"```tool_code\nprint(default_api.get_weather(city=\"Paris\"))\n```",
	`call:default_api:get_weather{city:Paris}`,
	`functions.get_weather({"city":"Paris"})`,
	`to=functions.get_weather {"city":"Paris"}`,
	`{"tool_uses":[{"recipient_name":"functions.get_weather","parameters":{"city":"Paris"}}]}`,
	`*calls get_weather with {"city":"Paris"}*`,
	`*uses tool get_weather(city="Paris")*`,
	`(calling get_weather(city="Paris"))`,
	`I will now call get_weather(city="Paris").`,
	`Let me call get_weather("Paris")`,
	"get_weather('Paris')\n\nPlease wait.",
	"[get_weather(\"Paris\")]\nWait.",
	`- get_weather("Paris")`,
	`Invoking tool get_weather with parameters {"city": "Paris"}`,
	`Running get_weather({"city":"Paris"})...`,
	`Executing: get_weather {"city":"Paris"}`,
	`assistant: {"name":"get_weather","arguments":{"city":"Paris"}}`,
	`Assistant called tool get_weather with input {"city":"Paris"}`,
	`tool_calls: [{"name":"get_weather","arguments":{"city":"Paris"}}]`,
	"Tool calls:\n- get_weather: {\"city\":\"Paris\"}",
	"Tool calls:\n1. get_weather(city=\"Paris\")",
	`ToolCall(name="get_weather", arguments={"city":"Paris"})`,
	`FunctionCall(name="get_weather", args={"city":"Paris"})`,
	"<parameter=city>\nParis\n</parameter>\n</function>\n</tool_call>",
	"{\"name\":\"get_weather\",\"arguments\":{\"city\":\"Paris\"}}\n</tool_call>",
	"Let me check.\n{\"name\":\"get_weather\",\"arguments\":{\"city\":\"Paris\"}}\n</tool_call>",
	`<|tools_prefix|>[{"get_weather": {"city":"Paris"}}]<|tools_suffix|>`,
	"<seed:tool_call>\n<function=get_weather>\n<parameter=city>Paris</parameter>\n</function>\n</seed:tool_call>",
	`<TOOLCALL>[{"name":"get_weather","arguments":{"city":"Paris"}}]</TOOLCALL>`,
	`Sure. <TOOLCALL>[{"name":"get_weather","arguments":{"city":"Paris"}}]</TOOLCALL>`,
	"<tool_calls>[\n{\"name\":\"get_weather\",\"arguments\":{\"city\":\"Paris\"}}\n]</tool_calls>",
	"<|action_start|><|plugin|>\n{\"name\":\"get_weather\",\"parameters\":{\"city\":\"Paris\"}}<|action_end|>",
	"<tool_calls>\n<tool_call>get_weather\n```json\n{\"city\":\"Paris\"}\n```\n</tool_call>\n</tool_calls>",
	"<tool_call>\n{\"name\":\"get_weather\",\"arguments\":{\"city\":\"Paris\"}}\n</tool_call>\n",
	`<tool_call>{"name": "get_weather", "arguments": {"city": "Paris"}}</tool_call>`,
	"<function_calls>\nget_weather(city=\"Paris\")\n</function_calls>",
	`<|START_ACTION|>[{"tool_call_id":"0","tool_name":"get_weather","parameters":{"city":"Paris"}}]<|END_ACTION|>`,
	`<steptml:invoke name="get_weather"><steptml:parameter name="city">Paris</steptml:parameter></steptml:invoke>`,
	"I will call get_weather:\n\n```json\n{\"city\":\"Paris\"}\n```",
	"Using `get_weather`:\n```json\n{\"city\":\"Paris\"}\n```\n",
	"<details><summary>Tool call</summary>\n\n{\"name\":\"get_weather\",\"arguments\":{\"city\":\"Paris\"}}\n</details>",
	`I look. {"name":"get_weather","parameters":{"type":"object","properties":{"city":"Paris"}}}`,
	"I'll call the get_weather function:\n{\"city\":\"Paris\"}",
	"[TOOL_CALL]\n{tool => \"get_weather\", args => {\n  --city \"Paris\"\n}}\n[/TOOL_CALL]",
	"<name>get_weather</name>\n<parameters>{\"city\":\"Paris\"}</parameters>",
	`I look. <tool_call>get_weather Paris</tool_call>`,
	`I look. <tool_call>get_weather(city="Par`,
	`Let me see.<function=get_weather><parameter=city>Paris</parameter></`,
	"调用工具：get_weather\n参数：{\"city\":\"Paris\"}",
	`<tool_call_result>Paris</tool_call_result>`,
	`<|tool_result|>Paris`,
	"## Return of functions.get_weather:0\nParis",
	"***** Response from calling tool (call_1) *****\nParis",
	"`get_weather` returned: Paris",
	`{"role":"tool","content":"Paris, 21 degrees"}`,
	"I look.\n{\"tool_result\": {\"city\": \"Paris\"}}\n\nIt is Paris.",
	`[{"type":"tool_result","tool_use_id":"t1","content":"Paris"}]`,
	`{"tool_call_id":"call_1","content":"Paris"}`,
	"{\n  \"type\": \"function_call_output\",\n  \"call_id\": \"c\",\n  \"output\": \"Paris\"\n}",
	"[get_weather returned Paris]",
	"I look. [get_weather returned Paris] So it is.",
	"[get_weather]: Paris",
	"[Tool Output] paris: 21 degrees",
	"**Result of `get_weather`**\n\nParis, 21 degrees",
	"### Result from get_weather\n\nParis, 21 degrees",
	"### get_weather result\n\nParis",
	"\u200bObservation: Paris, 21 degrees",
	"🔧Tool result: Paris",
	"Function Call: get_weather\nArguments: city=Paris",
	"name: get_weather\narguments:\n  city: Paris",
	"tool_name: get_weather\nparameters:\n  city: Paris",
	"- name: get_weather\n  arguments:\n    city: Paris",
	"I look.\nget_weather(city=Paris)",
	"[get_weather(city=Paris),\nget_weather(city=Rome)]",
	"['get_weather(city=Paris)', 'get_weather(city=Rome)']",
	"Sure: [get_weather(city=\"Paris\"), get_weather(city=\"Rome\"),\nget_weather(city=\"Bern\")]",
	"['get_weather', {'city': 'Paris'}]",
	"['get_weather'(city='Paris')]",
	"{\"name\":\"get_weather\",\"arguments\":{\"city\":\"Paris\"}}<tool_call>\n{\"name\":\"get_weather\",\"arguments\":{\"city\":\"Rome\"}}\n</tool_call>",
	"I look.\n{\"name\":\"get_weather\",\"arguments\":{\"city\":\"Paris\"}}\n<|im_start|>\n{\"name\":\"get_weather\",\"arguments\":{\"city\":\"Rome\"}}\n<|im_start|>",
}

// Such a reply is a call, or an error that clients do not retry, through each surface,
// streamed as whole.
func TestNoCallInText(t *testing.T) {
	for _, text := range leaks {
		server := start(t, says(text), serve.Options{})
		for _, s := range surfaces {
			resp, body := post(t, server, s.path, s.request(false, "hello", nil))
			var v object
			if err := json.Unmarshal([]byte(body), &v); err != nil {
				t.Fatal(err, body)
			}
			switch resp.StatusCode {
			case 200:
				if got := s.whole(v); got.calls == "" || strings.Contains(got.text, "Paris") {
					t.Errorf("%s: %q is %q", s.name, text, got)
				}
			case 422:
				if resp.Header.Get("X-Should-Retry") != "false" {
					t.Errorf("%s: it would be retried", s.name)
				}
			default:
				t.Errorf("%s: %d for %q", s.name, resp.StatusCode, text)
			}
			streamed, body := post(t, server, s.path, s.request(true, "hello", nil))
			switch {
			case resp.StatusCode == 422 && strings.Contains(body, "Paris"):
				t.Errorf("%s: %q is streamed as %s", s.name, text, body)
			case resp.StatusCode == 200 && streamed.StatusCode == 200:
				if got := s.streamed(t, body); got.calls == "" || strings.Contains(got.text, "Paris") {
					t.Errorf("%s: %q is streamed as %q", s.name, text, got)
				}
			case resp.StatusCode == 200:
				t.Errorf("%s: %d for the stream of %q", s.name, streamed.StatusCode, text)
			}
		}
	}
}

// A limit that ends such a reply makes no text of it: what comes before is passed on, and that
// a limit ended it.
func TestNoCallInTextAtLimit(t *testing.T) {
	for _, text := range leaks {
		server := start(t, &fake{reply: func(string, int) (string, providers.StopReason, error) { return text, providers.StopLength, nil }}, serve.Options{})
		for _, s := range surfaces {
			resp, body := post(t, server, s.path, s.request(false, "hello", nil))
			var v object
			if err := json.Unmarshal([]byte(body), &v); err != nil {
				t.Fatal(err, body)
			}
			if resp.StatusCode != 200 {
				continue
			}
			whole := s.whole(v)
			if whole.calls == "" && strings.Contains(whole.text, "Paris") {
				t.Errorf("%s: %q is %q", s.name, text, whole)
			}
			_, body = post(t, server, s.path, s.request(true, "hello", nil))
			if got := s.streamed(t, body); whole.calls == "" && got.text != whole.text {
				t.Errorf("%s: %q is streamed as %q, whole it is %q", s.name, text, got, whole)
			}
		}
	}
}

// A call as a method, or in a program in a fence, may be an example: the model is asked once,
// and what it writes next is passed on as it is.
func TestAskedOnce(t *testing.T) {
	for _, text := range []string{
		`client.get_weather(city="Paris")`,
		`get_weather.call(city="Paris")`,
		"I will look.\n```python\nimport json\n\nprint(get_weather(city=\"Paris\"))\n```",
		"```python\nweather = get_weather(\"Paris\")\nprint(weather)\n```",
		`The call {"name":"get_weather","arguments":{"city":"Paris"}} tells it.`,
		"I look.\n```json\n{\"name\":\"get_weather\",\"arguments\":{\"city\":\"Paris\"}}\n```\n```output\nrain\n```\nIt rains.",
		"I look.\n<code>\nweather = get_weather(city=\"Paris\")\nprint(weather)\n</code>",
		"List the files with:\n\n```bash\nls -la\n```",
		"I look.\n```python\n[get_weather(city=\"Paris\"), get_weather(city=\"Rome\")]\n```",
		"I look.\n```python\nget_weather(city=\"Paris\")  # Output: rain\n```",
		"[get_weather(city=\"Paris\")][0]\n\nThis reads the weather.",
	} {
		upstream := says(text)
		server := start(t, upstream, serve.Options{})
		for _, s := range surfaces {
			before := upstream.count()
			_, body := post(t, server, s.path, s.request(false, "hello", nil))
			var v object
			_ = json.Unmarshal([]byte(body), &v)
			if got := s.whole(v); got.text != text || upstream.count() != before+2 {
				t.Errorf("%s: %q is %q, %d requests", s.name, text, got, upstream.count()-before)
			}
			_, body = post(t, server, s.path, s.request(true, "hello", nil))
			if got := s.streamed(t, body); got.text != text {
				t.Errorf("%s: %q is streamed as %q", s.name, text, got)
			}
		}
	}
}

// What belongs to a call on the lines before it is no text.
func TestDebris(t *testing.T) {
	call := protocol.EncodeCall("get_weather", json.RawMessage(`{"city":"Paris"}`))
	for before, want := range map[string]string{
		"```json\n": "", "``` json\n": "", "I look.\n```tool_code\n": "I look.", "I look.\n[tool_request]\n": "I look.", "I look.\n[TOOL_REQUEST]\n": "I look.", ">>>\n": "", "**": "",
		"I look.\n\n- ": "I look.", "### ": "", "<tools>\n": "", "json\n": "", "I look:\n\"\"\"\n": "I look:",
		"Thought 1: I look.\nAction 1:\n": "Thought 1: I look.", "I look.\n**Action:**\n": "I look.", "There are two.\nAn\n": "There are two.\nAn",
		"Your grade:\nA\n": "Your grade:\nA", "A\n": "A", "Your grade:\nA": "Your grade:\nA", "The row:\nAc\n\n": "The row:\nAc", "It is\n[B]\n": "It is\n[B]", "Written in\njs\n": "Written in\njs", "Look:\n**A**\n": "Look:\n**A**",
		"I look: <|im_start|>\n": "I look:", "I look: ['": "I look:",
		"So:\n```go\nx()\n```\n": "So:\n```go\nx()\n```", "I have 3 > 2.\n": "I have 3 > 2.",
	} {
		server := start(t, says(before+call), serve.Options{})
		for _, s := range surfaces {
			_, body := post(t, server, s.path, s.request(false, "hello", nil))
			var v object
			_ = json.Unmarshal([]byte(body), &v)
			if got := s.whole(v); got.text != want || got.calls == "" {
				t.Errorf("%s: %q is %q", s.name, before, got)
			}
			_, body = post(t, server, s.path, s.request(true, "hello", nil))
			if got := s.streamed(t, body); got.text != want || got.calls == "" {
				t.Errorf("%s: %q is streamed as %q", s.name, before, got)
			}
		}
	}
}

// Ollama's API takes tool_choice too.
func TestOllamaToolChoice(t *testing.T) {
	server := start(t, says("I would rather not."), serve.Options{})
	for choice, want := range map[string]int{"auto": 200, "required": 422, "sometimes": 400} {
		resp, body := post(t, server, "/api/chat", surfaces[3].request(false, "hello", object{"tool_choice": choice}))
		if resp.StatusCode != want {
			t.Errorf("%s: %d %s", choice, resp.StatusCode, body)
		}
	}
}
