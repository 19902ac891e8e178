/** Amazon S3, and servers with its interface, such as MinIO, Ceph and Google Storage. */
import { createHash } from 'node:crypto';
import { ConnectorError, nameStore, type StoreAddress } from '@headgate/pipelines';
import type { Exchange, ReceivedResponse } from '../connectors/exchange.ts';
import { encodeKey } from './encode-key.ts';
import { checkListed, listPages, type ObjectPage } from './listed-objects.ts';
import type { ObjectStore, StoredObject } from './object-store.ts';
import { type AccessKey, signRequest } from './sigv4.ts';
import {
  createStoreCalls,
  describeObject,
  readTime,
  requireFrom,
  type StoreCall,
  type StoreFault,
  type StoreProtocol,
  type StoreTime,
} from './store-calls.ts';
import { writeInParts } from './store-parts.ts';
import { listElements, readElement } from './xml-text.ts';

export type S3Address = Extract<StoreAddress, { kind: 's3' | 'gcs' }>;

export interface S3Options {
  address: S3Address;
  /** Undefined: requests are not signed. Read before each request, because keys of a role expire. */
  readKey: (() => Promise<AccessKey>) | undefined;
  /** Judges the address of a request before it is signed. */
  requireUrl?: (url: URL) => void;
  exchange: Exchange;
  time: StoreTime;
}

/** The region that is tried first if none is given: S3 says in its refusal which one is right. */
const firstRegion = 'us-east-1';

export function createS3Store({ address, readKey, requireUrl, exchange, time }: S3Options): ObjectStore {
  const name = nameStore(address);
  let region = address.kind === 'gcs' ? 'auto' : (address.region ?? firstRegion);

  function locate(key: string, query: Readonly<Record<string, string>> = {}): URL {
    const { bucket, kind, endpoint } = address;
    const path = encodeKey(key);
    const vendor = kind === 'gcs' ? 'storage.googleapis.com' : `s3.${region}.amazonaws.com`;
    const inPath = kind === 'gcs' || (address.pathStyle ?? (endpoint !== undefined || bucket.includes('.')));
    const base = new URL(endpoint ?? `https://${vendor}`);
    const url = inPath
      ? new URL(`${base.origin}/${bucket}${path === '' && kind !== 'gcs' ? '' : '/'}${path}`)
      : new URL(`${base.protocol}//${bucket}.${base.host}/${path}`);
    for (const [member, value] of Object.entries(query)) url.searchParams.set(member, value);
    // A space in a query is %20 for the signature.
    url.search = url.search.replaceAll('+', '%20');
    return url;
  }

  const protocol: StoreProtocol = {
    name,
    async sign(call, skew) {
      if (readKey === undefined) return call;
      requireUrl?.(call.url);
      const moment = new Date(time.date().getTime() + skew);
      return { ...call, headers: signRequest(call, await readKey(), region, moment) };
    },
    readFault,
    adapt(response) {
      const right = response.headers['x-amz-bucket-region'] ?? readElement(response.text, 'Region');
      if (
        address.kind === 'gcs' ||
        right === undefined ||
        right === region ||
        !/^[a-z0-9-]{2,40}$/.test(right)
      )
        return false;
      region = right;
      return true;
    },
    advise,
  };
  const calls = createStoreCalls(exchange, protocol, time);
  const send = (call: () => StoreCall, signal: AbortSignal) => calls.send(call, signal);

  const list = (prefix: string, signal: AbortSignal) =>
    listPages<string>(name, async (token) => {
      const query = {
        'list-type': '2',
        'encoding-type': 'url',
        ...(prefix === '' ? {} : { prefix }),
        ...(token === undefined ? {} : { 'continuation-token': token }),
      };
      const { text } = await send(() => ({ method: 'GET', url: locate('', query), headers: [] }), signal);
      return readPage(text, prefix, name);
    });

  async function stat(key: string, signal: AbortSignal): Promise<StoredObject> {
    const url = () => ({ method: 'HEAD', url: locate(key), headers: [] });
    return describeObject(key, (await send(url, signal)).headers);
  }

  return {
    list,
    stat,
    read(key, { from, version }, signal, use) {
      const headers = [
        ['accept', '*/*'],
        ['accept-encoding', 'identity'],
        ...(from === 0 ? [] : [['range', `bytes=${from}-`]]),
        ...(version === '' ? [] : [['if-match', version]]),
      ] as [string, string][];
      const call = () => ({ method: 'GET', url: locate(key), headers });
      return calls.stream(call, signal, (response) => use(requireFrom(response, from, name)));
    },
    write: (key, body, signal) =>
      writeInParts(body, {
        async writeWhole(bytes) {
          await send(() => ({ method: 'PUT', url: locate(key), headers: [], body: bytes }), signal);
        },
        async begin() {
          const { text } = await send(
            () => ({ method: 'POST', url: locate(key, { uploads: '' }), headers: [] }),
            signal,
          );
          return requireElement(text, 'UploadId', name);
        },
        async writePart(upload, number, bytes) {
          const query = { partNumber: String(number), uploadId: upload };
          const { headers } = await send(
            () => ({ method: 'PUT', url: locate(key, query), headers: [], body: bytes }),
            signal,
          );
          return headers.etag ?? '';
        },
        async complete(upload, parts) {
          const list = parts
            .map(
              (tag, index) =>
                `<Part><PartNumber>${index + 1}</PartNumber><ETag>${escapeXml(tag)}</ETag></Part>`,
            )
            .join('');
          const text = `<CompleteMultipartUpload xmlns="http://s3.amazonaws.com/doc/2006-03-01/">${list}</CompleteMultipartUpload>`;
          const call = (): StoreCall => ({
            method: 'POST',
            url: locate(key, { uploadId: upload }),
            headers: [['content-type', 'application/xml']],
            body: Buffer.from(text),
          });
          const answer = await send(call, signal).catch(async (error: Error) => {
            if (!error.message.includes('(NoSuchUpload')) throw error;
            // An attempt whose answer was lost has completed it, if the object is made of these parts.
            const { version } = await stat(key, signal).catch(() => ({ version: '' }));
            if (version !== tagOfParts(parts)) throw error;
          });
          if (answer !== undefined) requireDone(answer, name);
        },
        async abandon(upload) {
          const call = () => ({ method: 'DELETE', url: locate(key, { uploadId: upload }), headers: [] });
          await send(call, AbortSignal.timeout(30_000));
        },
      }),
    async remove(key, signal) {
      await send(() => ({ method: 'DELETE', url: locate(key), headers: [] }), signal);
    },
    async copy(from, to, signal) {
      const source = `/${address.bucket}/${encodeKey(from)}`;
      const answer = await send(
        () => ({ method: 'PUT', url: locate(to), headers: [['x-amz-copy-source', source]] }),
        signal,
      );
      requireDone(answer, name);
    },
    ...(readKey === undefined ? {} : { readKey }),
    close: exchange.close,
  };
}

/** The answer to HEAD has no body. */
function readFault({ text, status }: ReceivedResponse): StoreFault {
  const code = readElement(text, 'Code') ?? (status === 404 ? 'NoSuchKey' : '');
  return { code: code.slice(0, 100), message: (readElement(text, 'Message') ?? '').slice(0, 300) };
}

const remedies: Readonly<Record<string, string>> = {
  InvalidAccessKeyId: 'the store does not know the access key; check "accessKeyId" of the credentials',
  SignatureDoesNotMatch: 'the secret key is wrong; check "secretAccessKey" of the credentials',
  ExpiredToken: 'the credentials have expired; renew them',
  InvalidToken: 'the session token is wrong; check "sessionToken" of the credentials',
  RequestTimeTooSkewed: 'the clock of the agent’s machine is wrong; set it',
  AccessDenied: 'the credentials may not do this; ask for the right to list, read, write or delete there',
  NoSuchBucket: 'correct the name of the bucket',
  NoSuchKey: 'there is no such object',
  PreconditionFailed: 'the object was changed while it was read; run again',
  InvalidObjectState: 'the object is archived; restore it first',
  SlowDown: 'the store asks for fewer requests; run again later',
  ServiceUnavailable: 'the store is overloaded; run again later',
  AuthorizationHeaderMalformed: 'set "region" to that of the bucket',
};

const advise = ({ code }: StoreFault): string | undefined => remedies[code];

function readPage(xml: string, prefix: string, name: string): ObjectPage<string> {
  const isTruncated = requireElement(xml, 'IsTruncated', name) === 'true';
  const isEncoded = readElement(xml, 'EncodingType') === 'url';
  const objects = listElements(xml, 'Contents').map((entry): StoredObject => {
    const written = requireElement(entry, 'Key', name);
    return {
      key: isEncoded ? decodeKey(written, name) : written,
      size: Number(requireElement(entry, 'Size', name)),
      modified: readTime(readElement(entry, 'LastModified')),
      version: readElement(entry, 'ETag') ?? '',
    };
  });
  const next = readElement(xml, 'NextContinuationToken');
  if (isTruncated && (next ?? '') === '')
    throw new ConnectorError(`${name} said that its list goes on, and not how`);
  return { objects: checkListed(objects, prefix, name), next: isTruncated ? next : undefined };
}

/** As of a form: `+` is a space. */
function decodeKey(text: string, name: string): string {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '));
  } catch {
    throw new ConnectorError(
      `${name} listed a name that cannot be read: ${JSON.stringify(text.slice(0, 200))}`,
    );
  }
}

function requireElement(xml: string, element: string, name: string): string {
  const found = readElement(xml, element);
  if (found !== undefined) return found;
  throw new ConnectorError(`${name} answered without ${element}: check "endpoint"`);
}

/** Of an object that was uploaded in parts with these tags, unless the store encrypts it by a key of its own. */
function tagOfParts(parts: readonly string[]): string {
  const sums = parts.map((tag) => Buffer.from(tag.replaceAll('"', ''), 'hex'));
  return `"${createHash('md5').update(Buffer.concat(sums)).digest('hex')}-${parts.length}"`;
}

/** A server begins the answer to a long call with 200 before it knows its end. */
function requireDone({ text }: ReceivedResponse, name: string): void {
  const code = /<Error>/.test(text) ? (readElement(text, 'Code') ?? '') : undefined;
  if (code !== undefined) throw new ConnectorError(`${name} did not finish the object (${code}): run again`);
}

const escapeXml = (text: string) =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');
