/**
 * An S3 on loopback for tests. It checks each request as S3 does: signature (AWS Signature Version 4 with payload
 * digest), time, region, and the parts of an upload. It can throttle, break off, and answer wrongly.
 */
import { createHash, createHmac, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { listenOnLoopback } from '@headgate/contract/testing/loopback-server';

export interface FakeS3 {
  endpoint: string;
  bucket: string;
  region: string;
  accessKeyId: string;
  secretAccessKey: string;
  sessionToken: string | undefined;
  /** The tag is that of an upload in parts; other objects have the one of their bytes. */
  objects: Map<string, { bytes: Buffer; modified: Date; tag?: string }>;
  /** Method, decoded key and query of each request that was signed well. */
  requests: string[];
  /** Parts of uploads that are neither complete nor abandoned. */
  uploads: Map<string, { key: string; parts: Map<number, Buffer> }>;
  /** Milliseconds that its clock is ahead. */
  skew: number;
  /** Objects of one page. */
  pageSize: number;
  /** Called before a signed request is answered. What returns true has answered it. */
  intercept: (request: S3Request, response: ServerResponse) => boolean | undefined;
  put(key: string, content: string | Buffer): void;
  close(): Promise<void>;
}

export interface S3Request {
  method: string;
  key: string;
  query: URLSearchParams;
  headers: IncomingMessage['headers'];
  body: Buffer;
}

export class S3Refusal extends Error {
  readonly status: number;
  readonly code: string;
  readonly more: string;
  constructor(status: number, code: string, message: string, more = '') {
    super(message);
    this.status = status;
    this.code = code;
    this.more = more;
  }
}

export async function startFakeS3(): Promise<FakeS3> {
  const state: FakeS3 = {
    endpoint: '',
    bucket: 'lake-of-tests',
    region: 'eu-test-1',
    accessKeyId: 'AKIATESTTESTTESTTEST',
    secretAccessKey: 'a secret of the tests / with + signs',
    sessionToken: undefined,
    objects: new Map(),
    requests: [],
    uploads: new Map(),
    skew: 0,
    pageSize: 1_000,
    intercept: () => undefined,
    put: (key, content) => state.objects.set(key, { bytes: Buffer.from(content), modified: new Date(0) }),
    close: async () => undefined,
  };
  const listening = await listenOnLoopback((request, response) => {
    serve(state, request, response).catch((error) => refuse(state, response, error));
  });
  return Object.assign(state, { endpoint: listening.origin, close: listening.close });
}

async function serve(state: FakeS3, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const url = new URL(request.url ?? '', state.endpoint);
  const path = (request.url ?? '').split('?', 1)[0] ?? '';
  const body = await buffer(request);
  const method = request.method ?? '';
  requireSignature(state, request, path, url, body);
  const [, bucket = '', ...steps] = path.split('/').map(decodeURIComponent);
  const asked = { method, key: steps.join('/'), query: url.searchParams, headers: request.headers, body };
  state.requests.push(`${method} ${asked.key}${url.search}`);
  if (state.intercept(asked, response) === true) return;
  if (bucket !== state.bucket)
    throw new S3Refusal(404, 'NoSuchBucket', 'The specified bucket does not exist');
  response.setHeader('date', new Date(Date.now() + state.skew).toUTCString());
  if (asked.query.has('uploads') || asked.query.has('uploadId')) answerUpload(state, asked, response);
  else answerObject(state, asked, response);
}

const tagOf = (bytes: Buffer) => `"${createHash('md5').update(bytes).digest('hex')}"`;

function answerObject(state: FakeS3, asked: S3Request, response: ServerResponse): unknown {
  const { method, key, query, headers, body } = asked;
  if (method === 'GET' && key === '') return answerList(state, query, response);
  if (method === 'DELETE') {
    state.objects.delete(key);
    return response.writeHead(204).end();
  }
  if (method === 'PUT') {
    const source = headers['x-amz-copy-source'];
    const copied =
      typeof source === 'string' ? decodeURIComponent(source).split('/').slice(2).join('/') : undefined;
    const bytes = copied === undefined ? body : state.objects.get(copied)?.bytes;
    if (bytes === undefined) throw new S3Refusal(404, 'NoSuchKey', 'The specified key does not exist.');
    state.put(key, bytes);
    const text =
      copied === undefined ? '' : `<CopyObjectResult><ETag>${tagOf(bytes)}</ETag></CopyObjectResult>`;
    return response.writeHead(200, { etag: tagOf(bytes) }).end(text);
  }
  const found = state.objects.get(key);
  if (found === undefined) throw new S3Refusal(404, 'NoSuchKey', 'The specified key does not exist.');
  const tag = found.tag ?? tagOf(found.bytes);
  if ((headers['if-match'] ?? tag) !== tag)
    throw new S3Refusal(412, 'PreconditionFailed', 'At least one of the pre-conditions did not hold');
  const [, first] = /^bytes=(\d+)-$/.exec(headers.range ?? '') ?? [];
  const from = Number(first ?? 0);
  if (first !== undefined && from >= found.bytes.length)
    throw new S3Refusal(416, 'InvalidRange', 'The requested range is not satisfiable');
  const bytes = found.bytes.subarray(from);
  const size = found.bytes.length;
  response.writeHead(first === undefined ? 200 : 206, {
    etag: tag,
    'content-length': bytes.length,
    'last-modified': found.modified.toUTCString(),
    ...(first === undefined ? {} : { 'content-range': `bytes ${from}-${size - 1}/${size}` }),
  });
  return method === 'HEAD' ? response.end() : response.end(bytes);
}

function answerList(state: FakeS3, query: URLSearchParams, response: ServerResponse): void {
  const prefix = query.get('prefix') ?? '';
  const after = query.get('continuation-token') ?? '';
  const keys = [...state.objects.keys()].filter((key) => key.startsWith(prefix) && key > after).sort();
  const page = keys.slice(0, state.pageSize);
  const isTruncated = keys.length > page.length;
  const encode = (key: string) => encodeURIComponent(key).replaceAll('%20', '+').replaceAll('%2F', '/');
  const entries = page.map((key) => {
    const found = state.objects.get(key) ?? { bytes: Buffer.alloc(0), modified: new Date(0) };
    const { bytes, modified, tag = tagOf(bytes) } = found;
    return `<Contents><Key>${encode(key)}</Key><LastModified>${modified.toISOString()}</LastModified><ETag>${tag.replaceAll('"', '&quot;')}</ETag><Size>${bytes.length}</Size><StorageClass>STANDARD</StorageClass></Contents>`;
  });
  const next = isTruncated ? `<NextContinuationToken>${page.at(-1)}</NextContinuationToken>` : '';
  response.writeHead(200, { 'content-type': 'application/xml' });
  response.end(
    `<?xml version="1.0" encoding="UTF-8"?>\n<ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/"><Name>${state.bucket}</Name><EncodingType>url</EncodingType><IsTruncated>${isTruncated}</IsTruncated>${entries.join('')}${next}</ListBucketResult>`,
  );
}

function answerUpload(
  state: FakeS3,
  { method, key, query, body }: S3Request,
  response: ServerResponse,
): void {
  if (method === 'POST' && query.has('uploads')) {
    const id = `upload-${state.uploads.size + 1}`;
    state.uploads.set(id, { key, parts: new Map() });
    response
      .writeHead(200)
      .end(`<InitiateMultipartUploadResult><UploadId>${id}</UploadId></InitiateMultipartUploadResult>`);
    return;
  }
  const id = query.get('uploadId') ?? '';
  const upload = state.uploads.get(id);
  if (upload === undefined || upload.key !== key)
    throw new S3Refusal(404, 'NoSuchUpload', 'The specified upload does not exist.');
  if (method === 'DELETE') {
    state.uploads.delete(id);
    response.writeHead(204).end();
  } else if (method === 'PUT') {
    upload.parts.set(Number(query.get('partNumber')), body);
    response.writeHead(200, { etag: tagOf(body) }).end();
  } else completeUpload(state, id, body.toString(), response);
}

function completeUpload(state: FakeS3, id: string, text: string, response: ServerResponse): void {
  const { key, parts } = state.uploads.get(id) ?? { key: '', parts: new Map<number, Buffer>() };
  const listed = [...text.matchAll(/<PartNumber>(\d+)<\/PartNumber><ETag>([^<]*)<\/ETag>/g)];
  const bytes = listed.map(([, number, tag = ''], index) => {
    const part = parts.get(Number(number));
    if (part === undefined || tagOf(part) !== tag.replaceAll('&quot;', '"'))
      throw new S3Refusal(400, 'InvalidPart', 'One or more of the specified parts could not be found.');
    if (index < listed.length - 1 && part.length < 5 * 1_048_576)
      throw new S3Refusal(400, 'EntityTooSmall', 'Your proposed upload is smaller than the minimum allowed.');
    return part;
  });
  const sums = bytes.map((part) => createHash('md5').update(part).digest());
  const sum = createHash('md5').update(Buffer.concat(sums)).digest('hex');
  const tag = `"${sum}-${bytes.length}"`;
  state.objects.set(key, { bytes: Buffer.concat(bytes), modified: new Date(0), tag });
  state.uploads.delete(id);
  response.writeHead(200).end('<CompleteMultipartUploadResult></CompleteMultipartUploadResult>');
}

function refuse(state: FakeS3, response: ServerResponse, error: unknown): void {
  const { status, code, message, more } =
    error instanceof S3Refusal ? error : new S3Refusal(500, 'InternalError', String(error));
  if (response.headersSent) return void response.destroy();
  response
    .writeHead(status, {
      'content-type': 'application/xml',
      date: new Date(Date.now() + state.skew).toUTCString(),
      'x-amz-bucket-region': state.region,
    })
    .end(
      `<?xml version="1.0" encoding="UTF-8"?>\n<Error><Code>${code}</Code><Message>${message}</Message>${more}</Error>`,
    );
}

const sha256 = (content: string | Buffer) => createHash('sha256').update(content).digest('hex');
const hmac = (key: string | Buffer, text: string) => createHmac('sha256', key).update(text).digest();

/** Amazon S3, "Signature Calculations for the Authorization Header: Transferring Payload in a Single Chunk". */
function requireSignature(
  state: FakeS3,
  { headers, method }: IncomingMessage,
  path: string,
  url: URL,
  body: Buffer,
): void {
  const [, credential = '', signed = '', signature = ''] =
    /^AWS4-HMAC-SHA256 Credential=([^,]+), ?SignedHeaders=([^,]+), ?Signature=([0-9a-f]{64})$/.exec(
      headers.authorization ?? '',
    ) ?? [];
  if (signature === '') throw new S3Refusal(403, 'AccessDenied', 'Access Denied');
  const [accessKeyId, day = '', region, service, end] = credential.split('/');
  if (accessKeyId !== state.accessKeyId)
    throw new S3Refusal(
      403,
      'InvalidAccessKeyId',
      'The AWS Access Key Id you provided does not exist in our records.',
    );
  if (region !== state.region || service !== 's3' || end !== 'aws4_request')
    throw new S3Refusal(
      400,
      'AuthorizationHeaderMalformed',
      `The authorization header is malformed; the region '${region}' is wrong; expecting '${state.region}'`,
      `<Region>${state.region}</Region>`,
    );
  if (headers['x-amz-content-sha256'] !== sha256(body))
    throw new S3Refusal(
      400,
      'XAmzContentSHA256Mismatch',
      'The provided x-amz-content-sha256 header does not match.',
    );
  const names = signed.split(';');
  const needed = ['host', 'x-amz-content-sha256', 'x-amz-date'];
  const sent = Object.keys(headers).filter((name) => name.startsWith('x-amz-'));
  for (const name of [...needed, ...sent])
    if (!names.includes(name))
      throw new S3Refusal(
        403,
        'AccessDenied',
        `There were headers present in the request which were not signed: ${name}`,
      );
  if (state.sessionToken !== undefined && headers['x-amz-security-token'] !== state.sessionToken)
    throw new S3Refusal(400, 'InvalidToken', 'The provided token is malformed or otherwise invalid.');
  const date = String(headers['x-amz-date']);
  const time = Date.parse(
    date.replace(/^(\d{4})(\d{2})(\d{2})T(\d{2})(\d{2})(\d{2})Z$/, '$1-$2-$3T$4:$5:$6Z'),
  );
  if (!date.startsWith(day) || !(Math.abs(Date.now() + state.skew - time) < 900_000))
    throw new S3Refusal(
      403,
      'RequestTimeTooSkewed',
      'The difference between the request time and the current time is too large.',
    );
  const encode = (text: string) =>
    encodeURIComponent(text).replaceAll(
      /[!'()*]/g,
      (sign) => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`,
    );
  const query = [...url.searchParams]
    .map(([name, value]) => `${encode(name)}=${encode(value)}`)
    .sort()
    .join('&');
  const lines = names
    .map((name) => `${name}:${String(headers[name]).trim().replaceAll(/ +/g, ' ')}\n`)
    .join('');
  const canonical = [method, path, query, lines, signed, sha256(body)].join('\n');
  const text = ['AWS4-HMAC-SHA256', date, `${day}/${region}/s3/aws4_request`, sha256(canonical)].join('\n');
  const key = [day, state.region, 's3', 'aws4_request'].reduce<string | Buffer>(
    hmac,
    `AWS4${state.secretAccessKey}`,
  );
  if (!timingSafeEqual(hmac(key, text), Buffer.from(signature, 'hex')))
    throw new S3Refusal(
      403,
      'SignatureDoesNotMatch',
      'The request signature we calculated does not match the signature you provided.',
    );
}
