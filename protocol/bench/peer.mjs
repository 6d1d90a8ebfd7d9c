// Answers one JSON line with another, for @ai-sdk-tool/parser as its README has
// it: the Hermes middleware around a model that has already spoken.
//
//	{"input", "tools"}            the first call found: {"name", "args"} or {}
//	{"input", "tools", "chunk"}   how long its stream parser takes: {"nanos", "taken"}
//
// The argument is how many milliseconds one pass may take.
import { createInterface } from "node:readline";
import { hermesProtocol, hermesToolMiddleware, originalToolsSchema } from "@ai-sdk-tool/parser";

const limit = Number(process.argv[2]) * 1e6;
const enough = 1e9; // a second of passes, as Go's benchmarks take

const toolsOf = (query) =>
  query.tools.map((t) => ({ type: "function", name: t.name, inputSchema: t.parameters ?? { type: "object" } }));

async function first(query) {
  const said = { content: [{ type: "text", text: query.input }], finishReason: { unified: "stop" }, usage: {}, warnings: [] };
  const { content } = await hermesToolMiddleware.wrapGenerate({
    doGenerate: async () => said,
    params: { providerOptions: { toolCallMiddleware: { originalTools: originalToolsSchema.encode(toolsOf(query)) } } },
  });
  const call = content.find((part) => part.type === "tool-call");
  return call ? `{"name":${JSON.stringify(call.toolName)},"args":${call.input}}` : "{}";
}

async function pass(chunks, tools) {
  const start = process.hrtime.bigint();
  const since = () => Number(process.hrtime.bigint() - start);
  let next = 0;
  let taken = 0;
  let calls = 0;
  const source = new ReadableStream({
    pull(controller) {
      if (next === chunks.length || (next % 256 === 255 && since() > limit)) {
        controller.enqueue({ type: "finish", finishReason: { unified: "stop" }, usage: {} });
        controller.close();
        return;
      }
      taken += chunks[next].length;
      controller.enqueue({ type: "text-delta", id: "0", delta: chunks[next++] });
    },
  });
  for await (const part of source.pipeThrough(hermesProtocol().createStreamParser({ tools }))) {
    if (part.type === "tool-call") calls++;
  }
  return { nanos: since(), taken, calls };
}

// speed takes the fastest pass over the input, which is ASCII.
async function speed(query) {
  const chunks = [];
  for (let i = 0; i < query.input.length; i += query.chunk) chunks.push(query.input.slice(i, i + query.chunk));
  let total = 0;
  let fastest = Infinity;
  let last;
  do {
    last = await pass(chunks, toolsOf(query));
    total += last.nanos;
    fastest = Math.min(fastest, last.nanos);
  } while (total < enough);
  return JSON.stringify({ nanos: fastest, taken: last.taken, name: last.calls ? "found" : "" });
}

for await (const line of createInterface({ input: process.stdin, crlfDelay: Infinity })) {
  const query = JSON.parse(line);
  console.log(query.chunk ? await speed(query) : await first(query));
}
