/**
 * A fake S3 on loopback with the part of the API that Headgate uses. It verifies the signature (AWS Signature
 * Version 4, with payload digest) and checksums of every request, and can simulate failures.
 */
import { createHash, createHmac, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { crc32 } from 'node:zlib';
import { listenOnLoopback } from '@headgate/contract/testing/loopback-server';

export type Behaviour =
  | 'serve'
  | 'refuse'
  | 'slow-down'
  | 'hang'
  | 'cut'
  | 'cut-body'
  | 'full'
  /** As a store without ranges. */
  | 'whole-object'
  /** As a store that ignores the prefix of a list. */
  | 'all-keys'
  /** As a store that ignores the continuation token. */
  | 'first-page';

export interface FakeS3 {
  endpoint: string;
  bucket: string;
  region: string;
  accessKeyId: string;
  secretAccessKey: string;
  objects: Map<string, { bytes: Buffer; modifiedAt: Date }>;
  /** Method and decoded key of every correctly signed request. */
  requests: string[];
  /** Sets its behaviour, which is evaluated for each request. */
  behave(how: (method: string) => Behaviour): void;
  close(): Promise<void>;
}

interface Received {
  request: IncomingMessage;
  method: string;
  url: URL;
  /** As sent. */
  path: string;
  body: Buffer;
}

class Refusal extends Error {
  readonly status: number;
  readonly code: string;
  constructor(status: number, code: string, message: string) {
    super(message);
    this.status = status;
    this.code = code;
  }
}

const pageKeys = 3;

export async function startFakeS3(): Promise<FakeS3> {
  let how: (method: string) => Behaviour = () => 'serve';
  const state = {
    endpoint: '',
    bucket: 'files-of-headgate',
    region: 'eu-test-1',
    accessKeyId: 'AKIATESTTESTTESTTEST',
    secretAccessKey: 'a secret of the tests / with + signs',
    objects: new Map<string, { bytes: Buffer; modifiedAt: Date }>(),
    requests: [] as string[],
  };
  const { origin, close } = await listenOnLoopback((request, response) => {
    serve(state, request, response, how).catch((failure) => refuse(response, failure));
  });
  state.endpoint = origin;
  return Object.assign(state, {
    behave: (given: typeof how) => {
      how = given;
    },
    close,
  });
}

type State = Omit<FakeS3, 'behave' | 'close'>;

async function serve(
  state: State,
  request: IncomingMessage,
  response: ServerResponse,
  how: (method: string) => Behaviour,
): Promise<void> {
  const method = request.method ?? '';
  const url = new URL(request.url ?? '', state.endpoint);
  const body = await buffer(request);
  const received = { request, method, url, path: (request.url ?? '').split('?', 1)[0] ?? '', body };
  requireSignature(state, received);
  requireChecksums(received);
  const [, bucket = '', ...steps] = received.path.split('/').map(decodeURIComponent);
  const key = steps.join('/');
  state.requests.push(`${method} ${key}`);
  if (bucket !== state.bucket) throw new Refusal(404, 'NoSuchBucket', 'The specified bucket does not exist');
  switch (how(method)) {
    case 'refuse':
      throw new Refusal(403, 'AccessDenied', 'Access Denied');
    case 'slow-down':
      throw new Refusal(503, 'SlowDown', 'Please reduce your request rate.');
    case 'full':
      throw new Refusal(
        507,
        'XMinioStorageFull',
        'Storage backend has reached its minimum free drive threshold.',
      );
    case 'hang':
      return;
    case 'cut':
      request.socket.destroy();
      return;
    case 'cut-body':
      return answerObject(state, received, response, key, true);
    case 'whole-object':
      response.writeHead(200).end(state.objects.get(key)?.bytes);
      return;
    case 'all-keys':
      received.url.searchParams.delete('prefix');
      return answerList(state, received, response);
    case 'first-page':
      received.url.searchParams.delete('continuation-token');
      return answerList(state, received, response);
    case 'serve':
      return answer(state, received, response, key);
  }
}

function answer(state: State, received: Received, response: ServerResponse, key: string): void {
  if (received.method === 'PUT') {
    state.objects.set(key, { bytes: received.body, modifiedAt: new Date() });
    const etag = createHash('md5').update(received.body).digest('hex');
    response.writeHead(200, { etag: `"${etag}"` }).end();
  } else if (received.method === 'DELETE') {
    state.objects.delete(key);
    response.writeHead(204).end();
  } else if (received.url.searchParams.get('list-type') === '2') answerList(state, received, response);
  else answerObject(state, received, response, key, false);
}

function answerObject(
  state: State,
  { request }: Received,
  response: ServerResponse,
  key: string,
  cut: boolean,
): void {
  const found = state.objects.get(key);
  if (found === undefined) throw new Refusal(404, 'NoSuchKey', 'The specified key does not exist.');
  const [, first, last] = /^bytes=(\d+)-(\d+)$/.exec(request.headers.range ?? '') ?? [];
  if (first === undefined) throw new Refusal(400, 'InvalidArgument', 'This store is asked for ranges only.');
  const start = Number(first);
  const size = found.bytes.length;
  if (start >= size) throw new Refusal(416, 'InvalidRange', 'The requested range is not satisfiable');
  const bytes = found.bytes.subarray(start, Number(last) + 1);
  const end = start + bytes.length - 1;
  response.writeHead(206, {
    'content-length': bytes.length,
    'content-range': `bytes ${start}-${end}/${size}`,
    'content-type': 'application/octet-stream',
  });
  if (!cut) {
    response.end(bytes);
    return;
  }
  response.write(bytes.subarray(0, 1), () => request.socket.destroy());
}

function answerList(state: State, { url }: Received, response: ServerResponse): void {
  const prefix = url.searchParams.get('prefix') ?? '';
  const after = url.searchParams.get('continuation-token') ?? '';
  const keys = [...state.objects.keys()].filter((key) => key.startsWith(prefix) && key > after).sort();
  const page = keys.slice(0, pageKeys);
  const more = keys.length > pageKeys ? `<NextContinuationToken>${page.at(-1)}</NextContinuationToken>` : '';
  const contents = page.map((key) => {
    const { bytes, modifiedAt } = state.objects.get(key) ?? {
      bytes: Buffer.alloc(0),
      modifiedAt: new Date(),
    };
    return `<Contents><Key>${key}</Key><LastModified>${modifiedAt.toISOString()}</LastModified><Size>${bytes.length}</Size></Contents>`;
  });
  const text = `<?xml version="1.0" encoding="UTF-8"?><ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/"><IsTruncated>${more !== ''}</IsTruncated>${contents.join('')}${more}</ListBucketResult>`;
  response.writeHead(200, { 'content-type': 'application/xml' }).end(text);
}

function refuse(response: ServerResponse, failure: unknown): void {
  const { status, code, message } =
    failure instanceof Refusal ? failure : new Refusal(500, 'InternalError', String(failure));
  response
    .writeHead(status, { 'content-type': 'application/xml' })
    .end(
      `<?xml version="1.0" encoding="UTF-8"?><Error><Code>${code}</Code><Message>${message}</Message></Error>`,
    );
}

const sha256 = (content: string | Buffer) => createHash('sha256').update(content).digest('hex');
const hmac = (key: string | Buffer, text: string) => createHmac('sha256', key).update(text).digest();

/** Amazon S3, "Signature Calculations for the Authorization Header: Transferring Payload in a Single Chunk". */
function requireSignature(state: State, { request, method, url, path, body }: Received): void {
  const input =
    /^AWS4-HMAC-SHA256 Credential=([^,]+), ?SignedHeaders=([^,]+), ?Signature=([0-9a-f]{64})$/.exec(
      request.headers.authorization ?? '',
    );
  if (input === null) throw new Refusal(403, 'AccessDenied', 'The request is not signed.');
  const [, credential = '', signed = '', signature = ''] = input;
  const [accessKeyId, day = '', region, service, end] = credential.split('/');
  if (accessKeyId !== state.accessKeyId)
    throw new Refusal(403, 'InvalidAccessKeyId', 'The access key id does not exist in our records.');
  if (region !== state.region || service !== 's3' || end !== 'aws4_request')
    throw new Refusal(
      400,
      'AuthorizationHeaderMalformed',
      `the region '${region}' is wrong; expecting '${state.region}'`,
    );
  const payload = String(request.headers['x-amz-content-sha256']);
  if (payload !== sha256(body))
    throw new Refusal(
      400,
      'XAmzContentSHA256Mismatch',
      'The digest of the payload is not the one that was signed.',
    );
  const names = signed.split(';');
  for (const needed of ['host', 'x-amz-content-sha256', 'x-amz-date'])
    if (!names.includes(needed)) throw new Refusal(403, 'AccessDenied', `${needed} is not signed`);
  const date = String(request.headers['x-amz-date']);
  if (!date.startsWith(day) || Math.abs(Date.now() - parseTime(date)) > 900_000)
    throw new Refusal(
      403,
      'RequestTimeTooSkewed',
      'The time of the request is too far from that of the server.',
    );
  const query = [...url.searchParams]
    .map(([name, value]) => `${encodeUri(name)}=${encodeUri(value)}`)
    .sort()
    .join('&');
  const headers = names.map(
    (name) => `${name}:${String(request.headers[name]).trim().replaceAll(/ +/g, ' ')}\n`,
  );
  const canonical = [method, path, query, headers.join(''), signed, payload].join('\n');
  const text = ['AWS4-HMAC-SHA256', date, `${day}/${region}/s3/aws4_request`, sha256(canonical)].join('\n');
  const key = [day, region, 's3', 'aws4_request'].reduce<string | Buffer>(
    hmac,
    `AWS4${state.secretAccessKey}`,
  );
  if (!timingSafeEqual(hmac(key, text), Buffer.from(signature, 'hex')))
    throw new Refusal(
      403,
      'SignatureDoesNotMatch',
      'The signature does not match the one that was calculated.',
    );
}

/** Keeps RFC 3986's unreserved characters. */
function encodeUri(text: string): string {
  return encodeURIComponent(text).replaceAll(
    /[!'()*]/g,
    (sign) => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}

/** `20261121T190000Z` */
function parseTime(date: string): number {
  return Date.parse(date.replace(/^(\d{4})(\d{2})(\d{2})T(\d{2})(\d{2})(\d{2})Z$/, '$1-$2-$3T$4:$5:$6Z'));
}

function requireChecksums({ request, body }: Received): void {
  const crc = Buffer.alloc(4);
  crc.writeUInt32BE(crc32(body));
  const found: Record<string, string> = {
    'content-md5': createHash('md5').update(body).digest('base64'),
    'x-amz-checksum-crc32': crc.toString('base64'),
    'x-amz-checksum-sha256': createHash('sha256').update(body).digest('base64'),
  };
  for (const [name, value] of Object.entries(request.headers)) {
    if (!/^(content-md5|x-amz-checksum-(?!algorithm|mode).*)$/.test(name)) continue;
    if (found[name] !== value)
      throw new Refusal(400, 'BadDigest', `The ${name} you specified did not match.`);
  }
}
