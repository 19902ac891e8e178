/** Azure Blob Storage on loopback for tests: it checks Shared Key signatures, SAS and tokens as the original does. */
import { createHmac } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { listenOnLoopback } from '@headgate/contract/testing/loopback-server';

export interface FakeAzure {
  endpoint: string;
  account: string;
  container: string;
  accountKey: string;
  /** The `sig` of a shared access signature that it accepts. */
  signature: string;
  objects: Map<string, Buffer>;
  blocks: Map<string, Buffer>;
  requests: string[];
  pageSize: number;
  close(): Promise<void>;
}

export async function startFakeAzure(): Promise<FakeAzure> {
  const state: FakeAzure = {
    endpoint: '',
    account: 'lakeoftests',
    container: 'data',
    accountKey: Buffer.from('a key of the tests').toString('base64'),
    signature: 'a+signature/=',
    objects: new Map(),
    blocks: new Map(),
    requests: [],
    pageSize: 5_000,
    close: async () => undefined,
  };
  const listening = await listenOnLoopback((request, response) => void serve(state, request, response));
  return Object.assign(state, { endpoint: listening.origin, close: listening.close });
}

const refuse = (response: ServerResponse, status: number, code: string) =>
  void response
    .writeHead(status, { 'x-ms-error-code': code })
    .end(`<?xml version="1.0"?><Error><Code>${code}</Code><Message>${code}.\nRequestId:1</Message></Error>`);

const tagOf = (bytes: Buffer) => `"0x${createHmac('md5', 'tag').update(bytes).digest('hex').toUpperCase()}"`;

async function serve(state: FakeAzure, request: IncomingMessage, response: ServerResponse): Promise<unknown> {
  const body = await buffer(request);
  const url = new URL(request.url ?? '', state.endpoint);
  const { method = '', headers } = request;
  if (!isAuthorized(state, request, url, body)) return refuse(response, 403, 'AuthenticationFailed');
  if (headers['x-ms-version'] === undefined) return refuse(response, 400, 'MissingRequiredHeader');
  const [, account, container, ...steps] = url.pathname.split('/').map(decodeURIComponent);
  const key = steps.join('/');
  state.requests.push(`${method} ${key}`);
  if (account !== state.account || container !== state.container)
    return refuse(response, 404, 'ContainerNotFound');
  const component = url.searchParams.get('comp');
  if (component === 'list') return answerList(state, url.searchParams, response);
  if (method === 'PUT') return answerPut(state, key, component, url, request, body, response);
  const found = state.objects.get(key);
  if (found === undefined) return refuse(response, 404, 'BlobNotFound');
  if (method === 'DELETE') {
    state.objects.delete(key);
    return void response.writeHead(202).end();
  }
  if ((headers['if-match'] ?? tagOf(found)) !== tagOf(found)) return refuse(response, 412, 'ConditionNotMet');
  const [, first] = /^bytes=(\d+)-$/.exec(String(headers['x-ms-range'] ?? '')) ?? [];
  const bytes = found.subarray(Number(first ?? 0));
  response.writeHead(first === undefined ? 200 : 206, {
    etag: tagOf(found),
    'content-length': bytes.length,
    'last-modified': new Date(0).toUTCString(),
    ...(first === undefined ? {} : { 'content-range': `bytes ${first}-${found.length - 1}/${found.length}` }),
  });
  return response.end(method === 'HEAD' ? undefined : bytes);
}

function answerPut(
  state: FakeAzure,
  key: string,
  component: string | null,
  url: URL,
  { headers }: IncomingMessage,
  body: Buffer,
  response: ServerResponse,
): unknown {
  const source = headers['x-ms-copy-source'];
  if (component === 'block') state.blocks.set(`${key} ${url.searchParams.get('blockid')}`, body);
  else if (component === 'blocklist') {
    const ids = [...body.toString().matchAll(/<Latest>([^<]*)<\/Latest>/g)].map(([, id]) => id);
    const blocks = ids.map((id) => state.blocks.get(`${key} ${id}`));
    if (blocks.some((block) => block === undefined)) return refuse(response, 400, 'InvalidBlockList');
    state.objects.set(key, Buffer.concat(blocks.filter((block) => block !== undefined)));
  } else if (typeof source === 'string') {
    const address = new URL(source);
    // A source is read by its own signature.
    if (url.searchParams.has('sig') && address.searchParams.get('sig') !== state.signature)
      return refuse(response, 403, 'CannotVerifyCopySource');
    const from = address.pathname.split('/').map(decodeURIComponent).slice(3).join('/');
    const found = state.objects.get(from);
    if (found === undefined) return refuse(response, 404, 'CannotVerifyCopySource');
    state.objects.set(key, found);
    return void response.writeHead(202, { 'x-ms-copy-status': 'success' }).end();
  } else if (headers['x-ms-blob-type'] !== 'BlockBlob') return refuse(response, 400, 'MissingRequiredHeader');
  else state.objects.set(key, body);
  return response.writeHead(201).end();
}

const escapeXml = (text: string) =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');

function answerList(state: FakeAzure, query: URLSearchParams, response: ServerResponse): void {
  const [prefix, marker] = [query.get('prefix') ?? '', query.get('marker') ?? ''];
  const keys = [...state.objects.keys()].filter((key) => key.startsWith(prefix) && key > marker).sort();
  const page = keys.slice(0, state.pageSize);
  const blobs = page.map((key) => {
    const bytes = state.objects.get(key) ?? Buffer.alloc(0);
    return `<Blob><Name>${escapeXml(key)}</Name><Properties><Last-Modified>${new Date(0).toUTCString()}</Last-Modified><Etag>${tagOf(bytes).replaceAll('"', '')}</Etag><Content-Length>${bytes.length}</Content-Length></Properties></Blob>`;
  });
  const next = keys.length > page.length ? `<NextMarker>${page.at(-1)}</NextMarker>` : '<NextMarker />';
  response
    .writeHead(200)
    .end(
      `<?xml version="1.0" encoding="utf-8"?><EnumerationResults><Blobs>${blobs.join('')}</Blobs>${next}</EnumerationResults>`,
    );
}

/** Azure Storage, "Authorize with Shared Key", and a shared access signature by its `sig`. */
function isAuthorized(
  state: FakeAzure,
  { method, headers }: IncomingMessage,
  url: URL,
  body: Buffer,
): boolean {
  if (url.searchParams.has('sig')) return url.searchParams.get('sig') === state.signature;
  const named = (name: string) => String(headers[name] ?? '');
  const date = Date.parse(named('x-ms-date'));
  if (!(Math.abs(Date.now() - date) < 900_000)) return false;
  const own = Object.keys(headers)
    .filter((name) => name.startsWith('x-ms-'))
    .sort()
    .map((name) => `${name}:${named(name)}\n`)
    .join('');
  const query = [...url.searchParams]
    .map(([name, value]) => `\n${name}:${value}`)
    .sort()
    .join('');
  const length = body.length === 0 ? '' : String(body.length);
  const text = [
    ...[method, named('content-encoding'), named('content-language'), length, named('content-md5')],
    ...[named('content-type'), named('date'), named('if-modified-since'), named('if-match')],
    ...[named('if-none-match'), named('if-unmodified-since'), named('range')],
    `${own}/${state.account}${url.pathname}${query}`,
  ].join('\n');
  const signature = createHmac('sha256', Buffer.from(state.accountKey, 'base64'))
    .update(text)
    .digest('base64');
  return named('authorization') === `SharedKey ${state.account}:${signature}`;
}
