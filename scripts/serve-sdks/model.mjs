// A model without function calling, behind Ollama's API and OpenAI's: it answers by marks
// in what it was asked last, and refuses tools. It prints its address.
import http from 'node:http'

const call = (args) => `I look.\n<tool_code>\n<name>get_weather</name>\n<parameters>${args}</parameters>\n</tool_code>`

// reply is what the model says to a conversation.
function reply(messages) {
  const asked = messages.map((m) => (typeof m.content === 'string' ? m.content : m.content.map((p) => p.text ?? '').join('')))
  const mark = asked.findLastIndex((text, i) => messages[i].role === 'user' && /\[\[\w+\]\]/.test(text))
  if (mark < 0) return 'No mark.'
  const since = asked.slice(mark + 1)
  const result = since.find((text) => text.includes('] Success:'))
  switch (asked[mark].match(/\[\[(\w+)\]\]/g).at(-1)) {
    case '[[call]]':
      return result ? `It said: ${result.split('Success:')[1].split('</')[0].trim()}` : call('{"city": "Bern", "days": "2"}')
    case '[[broken]]':
      if (result) return `It said: ${result.split('Success:')[1].split('</')[0].trim()}`
      return since.length === 0 ? call('{"city": Bern so}') : call('{"city": "Bern", "days": 2}')
    case '[[json]]':
      return 'Sure:\n```json\n{"city": "Bern", "days": "2"}\n```'
    case '[[think]]':
      return '<think>hm</think>\nI thought.'
  }
  return 'Hello from the model.'
}

http.createServer(async (req, res) => {
  let body = ''
  for await (const chunk of req) body += chunk
  const json = (status, v) => res.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(v))
  const q = body ? JSON.parse(body) : {}
  if (q.tools) return json(400, { error: { message: 'this model does not support tools' } })
  const known = { name: 'text:latest', model: 'text:latest', details: { family: 'x' } }
  switch (req.url) {
    case '/api/version': return json(200, { version: '0.32.15' })
    case '/api/tags': return json(200, { models: [known] })
    case '/api/ps': return json(200, { models: [] })
    case '/api/show': return json(200, { capabilities: ['completion'], model_info: { 'general.architecture': 'x', 'x.context_length': 32768 } })
    case '/v1/models': return json(200, { object: 'list', data: [{ id: 'text', object: 'model' }] })
  }
  const pieces = q.messages ? reply(q.messages).match(/[^]{1,7}/gu) : []
  if (req.url === '/api/chat') {
    const line = (v) => res.write(JSON.stringify({ model: 'text', created_at: new Date().toISOString(), ...v }) + '\n')
    res.writeHead(200, { 'content-type': 'application/x-ndjson' })
    for (const p of pieces) line({ message: { role: 'assistant', content: p }, done: false })
    line({ message: { role: 'assistant', content: '' }, done: true, done_reason: 'stop', prompt_eval_count: 50, eval_count: pieces.length })
    return res.end()
  }
  if (req.url === '/v1/chat/completions') {
    const event = (v) => res.write(`data: ${JSON.stringify({ id: 'x', object: 'chat.completion.chunk', created: 1, model: 'text', ...v })}\n\n`)
    res.writeHead(200, { 'content-type': 'text/event-stream' })
    for (const p of pieces) event({ choices: [{ index: 0, delta: { content: p }, finish_reason: null }] })
    event({ choices: [{ index: 0, delta: {}, finish_reason: 'stop' }], usage: { prompt_tokens: 50, completion_tokens: pieces.length, total_tokens: 50 + pieces.length } })
    return res.end('data: [DONE]\n\n')
  }
  json(404, { error: 'not found' })
}).listen(0, '127.0.0.1', function () { console.log(`127.0.0.1:${this.address().port}`) })
