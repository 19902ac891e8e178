/**
 * A model server on loopback with a script: it speaks the shape of OpenAI and of Anthropic, and checks each request
 * as these would. What a request breaks is in `faults`, which a test must find empty.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { listenOnLoopback } from '@headgate/contract/testing/loopback-server';

export interface ScriptedAnswer {
  /** Sent piece by piece. */
  text?: string | readonly string[];
  calls?: readonly { name: string; input: unknown }[];
  /** Sent as it is, in place of the JSON of each call's input. */
  rawInput?: string;
  /** An error answer. */
  status?: number;
  headers?: Record<string, string>;
  body?: string;
  /** Sent as it is, in place of the stream of events. */
  rawStream?: string;
  /** Ends the connection before the answer is whole. */
  isCut?: boolean;
  finish?: 'stop' | 'length' | 'content_filter';
  /** Waited for before the answer. */
  until?: Promise<unknown>;
  /** Waited for after the first piece. */
  untilRest?: Promise<unknown>;
}

export interface ModelRequest {
  /** The conversation, in the order of the request. */
  messages: { role: string; text: string; calls: string[]; results: string[] }[];
  tools: string[];
  /** The whole body. */
  text: string;
}

export type Script = readonly ScriptedAnswer[] | ((request: ModelRequest, index: number) => ScriptedAnswer);

export interface ModelServer {
  address: string;
  requests: ModelRequest[];
  faults: string[];
  /** Answers the following requests, from the first entry. */
  play(script: Script): void;
  close(): Promise<void>;
}

export const modelKey = 'a key of the model server';
export const modelName = 'scripted-1';

/** Settings of a server that uses it. */
export const nameModel = ({ address }: ModelServer, provider: 'openai' | 'anthropic' = 'openai') => ({
  HEADGATE_AI_PROVIDER: provider,
  HEADGATE_AI_BASE_URL: address,
  HEADGATE_AI_MODEL: modelName,
  HEADGATE_AI_API_KEY: modelKey,
});

export async function startModelServer(provider: 'openai' | 'anthropic' = 'openai'): Promise<ModelServer> {
  const shape = provider === 'openai' ? openAi : anthropic;
  const state: Pick<ModelServer, 'requests' | 'faults'> & { script: Script; index: number } = {
    requests: [],
    faults: [],
    script: [],
    index: 0,
  };
  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    const text = Buffer.concat(chunks).toString();
    const body = JSON.parse(text) as Body;
    state.faults.push(...shape.check(request, body), ...checkCommon(body));
    const read = { ...shape.read(body), text };
    state.requests.push(read);
    const index = state.index;
    state.index += 1;
    const answer = typeof state.script === 'function' ? state.script(read, index) : state.script[index];
    if (answer === undefined) {
      state.faults.push(`request ${index + 1} has no answer in the script`);
      response.writeHead(500).end();
      return;
    }
    await sendAnswer(response, shape, answer);
  }
  const { origin, close } = await listenOnLoopback((request, response) => {
    serve(request, response).catch(() => response.destroy());
  });
  return {
    address: `${origin}/v1`,
    requests: state.requests,
    faults: state.faults,
    play(script) {
      Object.assign(state, { script, index: 0 });
    },
    close,
  };
}

async function sendAnswer(response: ServerResponse, shape: Shape, answer: ScriptedAnswer): Promise<void> {
  await answer.until;
  if (answer.status !== undefined) {
    response.writeHead(answer.status, { 'content-type': 'application/json', ...answer.headers });
    response.end(answer.body ?? JSON.stringify({ error: { message: 'scripted', type: 'scripted' } }));
    return;
  }
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  const pieces = answer.rawStream === undefined ? shape.render(answer) : [answer.rawStream];
  for (const [index, piece] of pieces.entries()) {
    if (index === 1) await answer.untilRest;
    if (answer.isCut && index === pieces.length - 2) {
      response.destroy();
      return;
    }
    // What was written before a cut is sent.
    await new Promise((resolve) => response.write(piece, resolve));
  }
  response.end();
}

interface Body {
  model?: string;
  stream?: boolean;
  max_tokens?: number;
  system?: unknown;
  messages?: BodyMessage[];
  tools?: { name?: string; input_schema?: unknown; function?: { name?: string; parameters?: unknown } }[];
}
interface BodyMessage {
  role: string;
  content?: string | Block[] | null;
  tool_calls?: { id: string; function: { name: string; arguments: string } }[];
  tool_call_id?: string;
}
interface Block {
  type: string;
  text?: string;
  id?: string;
  name?: string;
  input?: unknown;
  tool_use_id?: string;
  content?: unknown;
}

function checkCommon(body: Body): string[] {
  const faults: string[] = [];
  if (body.model !== modelName) faults.push(`model is ${body.model}`);
  if (body.stream !== true) faults.push('stream is not true');
  if (!Number.isInteger(body.max_tokens)) faults.push('max_tokens is missing');
  if (!Array.isArray(body.messages) || body.messages.length === 0) faults.push('messages are missing');
  return faults;
}

/** Each result follows the message with its call, each call has one, and what is to be answered stands last. */
function checkPairs(messages: ModelRequest['messages']): string[] {
  const faults: string[] = [];
  let open: string[] = [];
  for (const { role, calls, results } of messages) {
    for (const id of results) if (!open.includes(id)) faults.push(`the result ${id} follows no call`);
    open = open.filter((id) => !results.includes(id));
    if (open.length > 0 && results.length === 0)
      faults.push(`a message of ${role} follows calls without results: ${open.join(', ')}`);
    open = [...open, ...calls];
  }
  if (open.length > 0) faults.push(`calls without results: ${open.join(', ')}`);
  if (messages.at(-1)?.role === 'assistant') faults.push('the last message is of the assistant');
  return faults;
}

interface Shape {
  check(request: IncomingMessage, body: Body): string[];
  read(body: Body): Omit<ModelRequest, 'text'>;
  render(answer: ScriptedAnswer): string[];
}

let made = 0;
const nextId = () => `call_${++made}`;
const listPieces = ({ text = [] }: ScriptedAnswer) => (typeof text === 'string' ? [text] : text);
const listInputs = ({ calls = [], rawInput }: ScriptedAnswer) =>
  calls.map(({ name, input }) => ({ name, input: rawInput ?? JSON.stringify(input), id: nextId() }));

const openAi: Shape = {
  check(request, body) {
    const faults: string[] = [];
    if (request.url !== '/v1/chat/completions') faults.push(`the path is ${request.url}`);
    if (request.headers.authorization !== `Bearer ${modelKey}`) faults.push('the key is missing');
    for (const tool of body.tools ?? [])
      if (tool.function?.parameters === undefined) faults.push('a tool has no parameters');
    return [...faults, ...checkPairs(this.read(body).messages)];
  },
  read: ({ messages = [], tools = [] }) => ({
    messages: messages.map(({ role, content, tool_calls: calls = [], tool_call_id: result }) => ({
      role,
      text: typeof content === 'string' ? content : JSON.stringify(content ?? ''),
      calls: calls.map(({ id }) => id),
      results: result === undefined ? [] : [result],
    })),
    tools: tools.map((tool) => tool.function?.name ?? ''),
  }),
  render(answer) {
    const chunk = (delta: object, finish: string | null = null) =>
      `data: ${JSON.stringify({ id: 'x', object: 'chat.completion.chunk', created: 1, model: modelName, choices: [{ index: 0, delta, finish_reason: finish }] })}\n\n`;
    const inputs = listInputs(answer);
    const calls = inputs.map(({ id, name, input }, index) =>
      chunk({ tool_calls: [{ index, id, type: 'function', function: { name, arguments: input } }] }),
    );
    const usage = `data: ${JSON.stringify({ id: 'x', object: 'chat.completion.chunk', created: 1, model: modelName, choices: [], usage: { prompt_tokens: 100, completion_tokens: 20, total_tokens: 120 } })}\n\n`;
    const finish = answer.finish ?? (inputs.length > 0 ? 'tool_calls' : 'stop');
    return [
      ...listPieces(answer).map((content) => chunk({ role: 'assistant', content })),
      ...calls,
      chunk({}, finish) + usage,
      'data: [DONE]\n\n',
    ];
  },
};

const anthropic: Shape = {
  check(request, body) {
    const faults: string[] = [];
    if (request.url !== '/v1/messages') faults.push(`the path is ${request.url}`);
    if (request.headers['x-api-key'] !== modelKey) faults.push('the key is missing');
    if (request.headers['anthropic-version'] === undefined) faults.push('the version is missing');
    if (body.system === undefined) faults.push('the instructions are missing');
    for (const tool of body.tools ?? [])
      if (tool.input_schema === undefined) faults.push('a tool has no schema');
    if (body.messages?.[0]?.role !== 'user') faults.push('the first message is not of the user');
    for (const [index, { role }] of (body.messages ?? []).entries())
      if (index > 0 && role === body.messages?.[index - 1]?.role) faults.push('the roles do not alternate');
    return [...faults, ...checkPairs(this.read(body).messages)];
  },
  read: ({ messages = [], tools = [] }) => ({
    messages: messages.map(({ role, content }) => {
      const blocks = typeof content === 'string' ? [{ type: 'text', text: content }] : (content ?? []);
      return {
        role,
        text: blocks.map((block: Block) => block.text ?? JSON.stringify(block.content ?? '')).join('\n'),
        calls: blocks.filter(({ type }) => type === 'tool_use').map(({ id }: Block) => id ?? ''),
        results: blocks
          .filter(({ type }) => type === 'tool_result')
          .map(({ tool_use_id: id }: Block) => id ?? ''),
      };
    }),
    tools: tools.map(({ name }) => name ?? ''),
  }),
  render(answer) {
    const event = (type: string, data: object) =>
      `event: ${type}\ndata: ${JSON.stringify({ type, ...data })}\n\n`;
    const message = {
      id: 'msg_1',
      type: 'message',
      role: 'assistant',
      model: modelName,
      content: [],
      stop_reason: null,
    };
    const usage = { input_tokens: 100, output_tokens: 1 };
    const pieces = [event('message_start', { message: { ...message, stop_sequence: null, usage } })];
    let index = 0;
    const texts = listPieces(answer);
    if (texts.length > 0) {
      pieces.push(event('content_block_start', { index, content_block: { type: 'text', text: '' } }));
      for (const text of texts)
        pieces.push(event('content_block_delta', { index, delta: { type: 'text_delta', text } }));
      pieces.push(event('content_block_stop', { index }));
      index += 1;
    }
    const inputs = listInputs(answer);
    for (const { id, name, input } of inputs) {
      const block = { type: 'tool_use', id, name, input: {} };
      const delta = { type: 'input_json_delta', partial_json: input };
      pieces.push(
        event('content_block_start', { index, content_block: block }),
        event('content_block_delta', { index, delta }),
        event('content_block_stop', { index }),
      );
      index += 1;
    }
    const reasons = { stop: 'end_turn', length: 'max_tokens', content_filter: 'refusal' };
    const reason =
      answer.finish === undefined ? (inputs.length > 0 ? 'tool_use' : 'end_turn') : reasons[answer.finish];
    pieces.push(
      event('message_delta', {
        delta: { stop_reason: reason, stop_sequence: null },
        usage: { output_tokens: 20 },
      }) + event('message_stop', {}),
      '',
    );
    return pieces;
  },
};
