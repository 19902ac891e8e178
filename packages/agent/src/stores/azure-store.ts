/** Azure Blob Storage, by an account key, a shared access signature, or a service principal. */
import { createHmac } from 'node:crypto';
import { ConnectorError, nameStore, PermanentFault, type StoreAddress } from '@headgate/pipelines';
import type { Exchange, ReceivedResponse } from '../connectors/exchange.ts';
import { createAzureTokens } from './azure-token.ts';
import { encodeKey } from './encode-key.ts';
import { checkListed, listPages, type ObjectPage } from './listed-objects.ts';
import type { ObjectStore, StoredObject } from './object-store.ts';
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

type AzureAddress = Extract<StoreAddress, { kind: 'azure' }>;

export interface AzureOptions {
  address: AzureAddress;
  /** `accountKey`, or `sasToken`, or `tenantId`, `clientId` and `clientSecret`; undefined: the container is public. */
  credentials: Readonly<Record<string, string>> | undefined;
  exchange: Exchange;
  time: StoreTime;
}

const version = '2021-12-02';
/** How often a copy that the server makes in its own time is looked at. */
const copyLooks = 600;

type Header = [name: string, value: string];

/** @throws PermanentFault if the credentials have none of the members */
export function createAzureStore({ address, credentials, exchange, time }: AzureOptions): ObjectStore {
  const name = nameStore(address);
  const { account, container } = address;
  const base =
    address.endpoint === undefined
      ? `https://${account}.blob.core.windows.net`
      : `${address.endpoint}/${account}`;
  const authorize = createAuthorization({ address, credentials, exchange, time });

  function locate(key: string, query: Readonly<Record<string, string>> = {}): URL {
    const path = key === '' ? '' : `/${encodeKey(key)}`;
    const url = new URL(`${base}/${container}${path}`);
    for (const [member, value] of Object.entries(query)) url.searchParams.set(member, value);
    return url;
  }

  const protocol: StoreProtocol = {
    name,
    async sign(call, skew, signal) {
      const headers: Header[] = [
        ...call.headers.map(([header, value]): Header => [header, value]),
        ['x-ms-date', new Date(time.date().getTime() + skew).toUTCString()],
        ['x-ms-version', version],
      ];
      return authorize({ ...call, headers }, signal);
    },
    readFault,
    advise,
  };
  const calls = createStoreCalls(exchange, protocol, time);

  const list = (prefix: string, signal: AbortSignal) =>
    listPages<string>(name, async (marker) => {
      const query = {
        ...{ restype: 'container', comp: 'list', maxresults: '5000' },
        ...(prefix === '' ? {} : { prefix }),
        ...(marker === undefined ? {} : { marker }),
      };
      const { text } = await calls.send(
        () => ({ method: 'GET', url: locate('', query), headers: [] }),
        signal,
      );
      return readPage(text, prefix, name);
    });

  async function put(
    key: string,
    headers: Header[],
    body: Buffer,
    query: Record<string, string>,
    signal: AbortSignal,
  ) {
    await calls.send(() => ({ method: 'PUT', url: locate(key, query), headers, body }), signal);
  }

  async function stat(key: string, signal: AbortSignal) {
    return calls.send(() => ({ method: 'HEAD', url: locate(key), headers: [] }), signal);
  }

  const signature = credentials?.sasToken;
  return {
    ...(signature === undefined ? {} : { signature }),
    list,
    stat: async (key, signal) => describeObject(key, (await stat(key, signal)).headers),
    read(key, { from, version: expected }, signal, use) {
      const headers: Header[] = [
        ['accept', '*/*'],
        ['accept-encoding', 'identity'],
        ...(from === 0 ? [] : ([['x-ms-range', `bytes=${from}-`]] satisfies Header[])),
        ...(expected === '' ? [] : ([['if-match', expected]] satisfies Header[])),
      ];
      const call = () => ({ method: 'GET', url: locate(key), headers });
      return calls.stream(call, signal, (response) => use(requireFrom(response, from, name)));
    },
    write: (key, body, signal) =>
      writeInParts(body, {
        writeWhole: (bytes) => put(key, [['x-ms-blob-type', 'BlockBlob']], bytes, {}, signal),
        begin: async () => '',
        async writePart(_upload, number, bytes) {
          const blockid = Buffer.from(String(number).padStart(6, '0')).toString('base64');
          await put(key, [], bytes, { comp: 'block', blockid }, signal);
          return blockid;
        },
        async complete(_upload, parts) {
          const blocks = parts.map((id) => `<Latest>${id}</Latest>`).join('');
          const text = `<?xml version="1.0" encoding="utf-8"?><BlockList>${blocks}</BlockList>`;
          await put(key, [], Buffer.from(text), { comp: 'blocklist' }, signal);
        },
        // Blocks that are in no list are removed after a week.
        abandon: async () => undefined,
      }),
    async remove(key, signal) {
      const call = () => ({ method: 'DELETE', url: locate(key), headers: [] });
      await calls.send(call, signal).catch((error: Error) => {
        if (!error.message.includes('(BlobNotFound')) throw error;
      });
    },
    async copy(from, to, signal) {
      const headers: Header[] = [['x-ms-copy-source', locate(from).href]];
      const begun = await calls.send(
        () => ({ method: 'PUT', url: locate(to), headers, body: Buffer.alloc(0) }),
        signal,
      );
      let status = begun.headers['x-ms-copy-status'];
      for (let look = 0; status === 'pending' && look < copyLooks; look += 1) {
        await time.sleep(1_000, signal);
        signal.throwIfAborted();
        status = (await stat(to, signal)).headers['x-ms-copy-status'];
      }
      if (status !== 'success')
        throw new ConnectorError(`${name} did not finish the copy (${status}): run again`);
    },
    close: exchange.close,
  };
}

/** Adds what the server knows the caller by. */
function createAuthorization({
  address,
  credentials,
  exchange,
  time,
}: AzureOptions): (call: StoreCall & { headers: Header[] }, signal: AbortSignal) => Promise<StoreCall> {
  if (credentials === undefined) return async (call) => call;
  const { accountKey, sasToken, tenantId, clientId, clientSecret } = credentials;
  if (accountKey) return async (call) => addSharedKey(call, address, Buffer.from(accountKey, 'base64'));
  if (sasToken) {
    const signature = new URLSearchParams(sasToken.replace(/^\?/, ''));
    const sign = (plain: URL | string) => {
      const url = new URL(plain);
      for (const [member, value] of signature) url.searchParams.set(member, value);
      return url;
    };
    // The source of a copy is read by its own signature.
    return async (call) => ({
      ...call,
      url: sign(call.url),
      headers: call.headers.map(
        ([name, value]): Header => [name, name === 'x-ms-copy-source' ? sign(value).href : value],
      ),
    });
  }
  if (!tenantId || !clientId || !clientSecret)
    throw new PermanentFault(
      'the credentials have neither "accountKey" nor "sasToken", nor "tenantId", "clientId" and "clientSecret": add one of them to the secret',
    );
  const readToken = createAzureTokens({ tenantId, clientId, clientSecret }, exchange, time);
  return async (call, signal) => ({
    ...call,
    headers: [...call.headers, ['authorization', `Bearer ${await readToken(signal)}`]],
  });
}

/** "Authorize with Shared Key" of Azure Storage. */
function addSharedKey(
  call: StoreCall & { headers: Header[] },
  { account }: AzureAddress,
  key: Buffer,
): StoreCall {
  const { method, url, headers, body } = call;
  const named = new Map(headers.map(([name, value]) => [name.toLowerCase(), value.trim()]));
  const read = (name: string) => named.get(name) ?? '';
  const length = body === undefined || body.byteLength === 0 ? '' : String(body.byteLength);
  const own = [...named]
    .filter(([name]) => name.startsWith('x-ms-'))
    .sort(([one], [other]) => (one < other ? -1 : 1));
  const query = [...url.searchParams]
    .map(([name, value]) => `\n${name.toLowerCase()}:${value}`)
    .sort()
    .join('');
  const text = [
    ...[method, read('content-encoding'), read('content-language'), length, read('content-md5')],
    ...[read('content-type'), '', read('if-modified-since'), read('if-match'), read('if-none-match')],
    ...[read('if-unmodified-since'), read('range')],
    `${own.map(([name, value]) => `${name}:${value}\n`).join('')}/${account}${url.pathname}${query}`,
  ].join('\n');
  const signature = createHmac('sha256', key).update(text).digest('base64');
  return { ...call, headers: [...headers, ['authorization', `SharedKey ${account}:${signature}`]] };
}

/** The answer to HEAD has no body. */
function readFault({ text, headers }: ReceivedResponse): StoreFault {
  const code = headers['x-ms-error-code'] ?? readElement(text, 'Code') ?? '';
  const message = (readElement(text, 'Message') ?? '').split('\n', 1)[0] ?? '';
  return { code: code.slice(0, 100), message: message.slice(0, 300) };
}

const remedies: Readonly<Record<string, string>> = {
  AuthenticationFailed: 'the key or the signature is wrong, or has expired; check the credentials',
  AuthorizationFailure: 'the credentials may not do this; ask for the right to do it there',
  AuthorizationPermissionMismatch:
    'the credentials may not do this; ask for the role Storage Blob Data Reader or Contributor',
  NoAuthenticationInformation: 'the container is not public; name credentials',
  ContainerNotFound: 'correct the name of the container',
  BlobNotFound: 'there is no such object',
  ConditionNotMet: 'the object was changed while it was read; run again',
  ServerBusy: 'the store asks for fewer requests; run again later',
  BlobArchived: 'the object is archived; restore it first',
};

const advise = ({ code }: StoreFault): string | undefined => remedies[code];

function readPage(xml: string, prefix: string, name: string): ObjectPage<string> {
  if (!xml.includes('<EnumerationResults'))
    throw new ConnectorError(`${name} answered without a list: check "endpoint"`);
  const objects = listElements(xml, 'Blob').map((entry): StoredObject => {
    const key = readElement(entry, 'Name');
    if (key === undefined)
      throw new ConnectorError(
        `${name} has an object whose name has characters that cannot be listed: rename it`,
      );
    return {
      key,
      size: Number(readElement(entry, 'Content-Length')),
      modified: readTime(readElement(entry, 'Last-Modified')),
      version: readElement(entry, 'Etag') ?? '',
    };
  });
  return { objects: checkListed(objects, prefix, name), next: readElement(xml, 'NextMarker') || undefined };
}
