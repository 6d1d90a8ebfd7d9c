// Programs of npm against mylm serve at BASE, in front of model.mjs: answers, calls and
// their results, calls that had to be corrected, formats, streamed and whole.
import OpenAI from 'openai'
import { zodResponseFormat, zodTextFormat } from 'openai/helpers/zod'
import Anthropic from '@anthropic-ai/sdk'
import { betaZodTool } from '@anthropic-ai/sdk/helpers/beta/zod'
import { Ollama } from 'ollama'
import { generateText, streamText, tool, stepCountIs, Output } from 'ai'
import { createOpenAI } from '@ai-sdk/openai'
import { createAnthropic } from '@ai-sdk/anthropic'
import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import { createAgent, tool as langTool } from 'langchain'
import { ChatOpenAI } from '@langchain/openai'
import { ChatAnthropic } from '@langchain/anthropic'
import { ChatOllama } from '@langchain/ollama'
import { z } from 'zod'

const base = process.env.BASE, model = 'text', key = process.env.MYLM_TEST_KEY ?? 'none', options = { apiKey: key, maxRetries: 0 }
const schema = z.object({ city: z.string(), days: z.number().int() })
const parameters = z.toJSONSchema(schema)
const weather = ({ city, days }) => `${city}: ${days * 10} degrees`
const want = 'It said: Bern: 20 degrees'
const hello = 'Hello from the model.'

let failed = 0, passed = 0
const only = process.env.ONLY && new RegExp(process.env.ONLY)
async function check(name, expected, f) {
  if (only && !only.test(name)) return
  try {
    const got = await Promise.race([f(), new Promise((_, no) => setTimeout(() => no(new Error('nothing for 60 s')), 60_000).unref())])
    if (JSON.stringify(got) !== JSON.stringify(expected)) throw new Error(`${JSON.stringify(got)}, want ${JSON.stringify(expected)}`)
    passed++
  } catch (e) {
    failed++
    console.log(`FAIL ${name}: ${e.stack.split('\n').slice(0, 4).join(' | ')}`)
  }
}
const user = (mark) => [{ role: 'user', content: `${mark} How is the weather in Bern?` }]
const marks = ['[[call]]', '[[broken]]']

const openai = new OpenAI({ baseURL: base + '/v1', ...options })
await check('openai chat', hello, async () => (await openai.chat.completions.create({ model, messages: user('[[hello]]') })).choices[0].message.content)
await check('openai models', [model, model], async () => [(await openai.models.list()).data[0].id, (await openai.models.retrieve(model)).id])
const runnable = { type: 'function', function: { name: 'get_weather', parameters, parse: JSON.parse, function: weather } }
for (const mark of marks) {
  for (const stream of [false, true]) {
    await check(`openai runTools ${mark} ${stream}`, want, () => openai.chat.completions.runTools({ model, stream, messages: user(mark), tools: [runnable] }).finalContent())
  }
  await check(`openai responses ${mark}`, want, async () => {
    const input = user(mark), tools = [{ type: 'function', name: 'get_weather', parameters, strict: true }]
    const first = await openai.responses.create({ model, input, tools })
    const call = first.output.find((o) => o.type === 'function_call')
    input.push(...first.output, { type: 'function_call_output', call_id: call.call_id, output: weather(JSON.parse(call.arguments)) })
    return (await openai.responses.create({ model, input, tools })).output_text
  })
  await check(`openai responses stream ${mark}`, ['I look.', { city: 'Bern', days: 2 }], async () => {
    const s = openai.responses.stream({ model, input: user(mark), tools: [{ type: 'function', name: 'get_weather', parameters, strict: true }] })
    let text = ''
    s.on('response.output_text.delta', (e) => (text += e.delta))
    const r = await s.finalResponse()
    return [text, JSON.parse(r.output.find((o) => o.type === 'function_call').arguments)]
  })
}
await check('openai format', { city: 'Bern', days: 2 }, async () => (await openai.chat.completions.parse({ model, messages: user('[[json]]'), response_format: zodResponseFormat(schema, 'w') })).choices[0].message.parsed)
await check('openai responses format', { city: 'Bern', days: 2 }, async () => (await openai.responses.parse({ model, input: user('[[json]]'), text: { format: zodTextFormat(schema, 'w') } })).output_parsed)

const anthropic = new Anthropic({ baseURL: base, ...options })
await check('anthropic', hello, async () => (await anthropic.messages.create({ model, max_tokens: 100, messages: user('[[hello]]') })).content[0].text)
await check('anthropic thinking', ['hm', 'I thought.'], async () => {
  const m = await anthropic.messages.stream({ model, max_tokens: 2000, thinking: { type: 'enabled', budget_tokens: 1024 }, messages: user('[[think]]') }).finalMessage()
  return [m.content[0].thinking.trim(), m.content[1].text]
})
await check('anthropic count', true, async () => (await anthropic.messages.countTokens({ model, messages: user('[[hello]]') })).input_tokens > 5)
await check('anthropic models', [model, model], async () => [(await anthropic.models.list()).data[0].id, (await anthropic.models.retrieve(model)).id])
for (const mark of marks) {
  for (const stream of [false, true]) {
    await check(`anthropic toolRunner ${mark} ${stream}`, want, async () => {
      const run = betaZodTool({ name: 'get_weather', description: 'Reports the weather.', inputSchema: schema, run: weather })
      const last = await anthropic.beta.messages.toolRunner({ model, stream, max_tokens: 1000, messages: user(mark), tools: [run] }).runUntilDone()
      return last.content.findLast((b) => b.type === 'text').text
    })
  }
}

const ollama = new Ollama({ host: base, headers: { Authorization: `Bearer ${key}` } })
await check('ollama list and show', [model + ':latest', true], async () => [(await ollama.list()).models[0].name, (await ollama.show({ model })).capabilities.includes('tools')])
await check('ollama format', { city: 'Bern', days: 2 }, async () => JSON.parse((await ollama.chat({ model, messages: user('[[json]]'), format: parameters })).message.content))
for (const mark of marks) {
  await check(`ollama ${mark}`, want, async () => {
    const tools = [{ type: 'function', function: { name: 'get_weather', parameters } }], messages = user(mark)
    const { message } = await ollama.chat({ model, messages, tools })
    messages.push(message, { role: 'tool', tool_name: 'get_weather', content: weather(message.tool_calls[0].function.arguments) })
    let text = ''
    for await (const part of await ollama.chat({ model, messages, tools, stream: true })) text += part.message.content
    return text
  })
}

const sdk = createOpenAI({ baseURL: base + '/v1', apiKey: key })
for (const [name, m] of Object.entries({
  'openai chat': sdk.chat(model), 'openai responses': sdk.responses(model), anthropic: createAnthropic({ baseURL: base + '/v1', apiKey: key })(model),
  compatible: createOpenAICompatible({ name: 'mylm', baseURL: base + '/v1', apiKey: key, supportsStructuredOutputs: true })(model),
})) {
  const tools = { get_weather: tool({ description: 'Reports the weather.', inputSchema: schema, execute: weather }) }
  const common = { model: m, maxRetries: 0, tools, stopWhen: stepCountIs(4) }
  for (const mark of marks) {
    await check(`AI SDK ${name} ${mark}`, want, async () => (await generateText({ ...common, prompt: user(mark)[0].content })).text)
    await check(`AI SDK ${name} stream ${mark}`, want, async () => {
      const r = streamText({ ...common, prompt: user(mark)[0].content, onError: ({ error }) => { throw error } })
      for await (const _ of r.textStream);
      return await r.text
    })
  }
  await check(`AI SDK ${name} format`, { city: 'Bern', days: 2 }, async () => (await generateText({ model: m, maxRetries: 0, prompt: user('[[json]]')[0].content, output: Output.object({ schema }) })).output)
}

for (const [name, m] of Object.entries({
  openai: new ChatOpenAI({ model, ...options, configuration: { baseURL: base + '/v1' } }),
  'openai responses': new ChatOpenAI({ model, ...options, useResponsesApi: true, configuration: { baseURL: base + '/v1' } }),
  anthropic: new ChatAnthropic({ model, ...options, anthropicApiUrl: base }),
  ollama: new ChatOllama({ model, baseUrl: base, headers: { Authorization: `Bearer ${key}` }, maxRetries: 0 }),
})) {
  const agent = createAgent({ model: m, tools: [langTool(weather, { name: 'get_weather', description: 'Reports the weather.', schema })] })
  for (const mark of marks) {
    await check(`LangChain ${name} ${mark}`, want, async () => (await agent.invoke({ messages: user(mark) })).messages.at(-1).text)
    await check(`LangChain ${name} stream ${mark}`, want, async () => {
      let last
      for await (const [chunk] of await agent.stream({ messages: user(mark) }, { streamMode: 'messages' })) last = chunk.id === last?.id ? last.concat(chunk) : chunk
      return last.text
    })
  }
  await check(`LangChain ${name} format`, { city: 'Bern', days: 2 }, async () => m.withStructuredOutput(schema, name === 'anthropic' ? { method: 'jsonSchema' } : { method: 'jsonSchema' }).invoke(user('[[json]]')))
}

console.log(`${passed} passed, ${failed} failed`)
process.exit(failed ? 1 : 0)
