/**
 * Downloads a file of a tenant's address to the agent's disk. Each redirect is judged as the first address is, and
 * leads from https to https only. Nothing of the agent is sent: an address that needs credentials is for a connector.
 */
import { createWriteStream } from 'node:fs';
import { open } from 'node:fs/promises';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { Egress } from '@headgate/contract/egress';
import { ConnectorError, PermanentFault } from '@headgate/pipelines';
import { createUnpacking, findCompression, isPackingFault, markBytes } from '../stores/unpacking.ts';
import { createExchange, type ExchangeBounds, type StreamedResponse } from './exchange.ts';
import { isPermanentStatus } from './waiting.ts';

export interface Downloads {
  /**
   * Writes the file at the address to the path.
   *
   * @param unpacks whether a file that is compressed by gzip or zstd is unpacked
   * @throws ConnectorError, PermanentFault, ExchangeError or EgressRefused with the reason
   */
  download(address: string, path: string, unpacks: boolean, signal: AbortSignal): Promise<void>;
}

const redirects = [301, 302, 303, 307, 308];
const redirectLimit = 5;

export function createDownloads(egress: Egress, bounds: ExchangeBounds): Downloads {
  const exchange = createExchange(egress, { ...bounds, advice: ' of a file: split it into smaller files' });

  async function download(
    address: string,
    path: string,
    unpacks: boolean,
    signal: AbortSignal,
  ): Promise<void> {
    let url = readAddress(address);
    const write = (body: AsyncIterable<Buffer>) =>
      unpacks ? writeUnpacked(body, path, bounds.responseBytes) : writePlain(body, path);
    for (let followed = 0; followed <= redirectLimit; followed++) {
      const request = { method: 'GET', url, headers: [['accept', '*/*']] } as const;
      const location = await exchange.stream(request, signal, (response) => receive(response, write));
      if (location === undefined) return;
      url = readRedirect(location, url);
    }
    throw new PermanentFault(`the server redirected more than ${redirectLimit} times`);
  }

  return { download };
}

/** @throws PermanentFault */
function readAddress(address: string): URL {
  const url = URL.parse(address);
  if (url === null) throw new PermanentFault('it is not an address: write it as https://host/path/file.csv');
  if (url.username !== '' || url.password !== '')
    throw new PermanentFault(
      'an address must not have a user or a password: use a connector profile, which keeps secrets',
    );
  return url;
}

/** @throws PermanentFault */
function readRedirect(location: string, from: URL): URL {
  const url = URL.parse(location, from.href);
  if (url === null || !/^https?:$/.test(url.protocol))
    throw new PermanentFault('the server redirected to something that is not an address of http');
  if (from.protocol === 'https:' && url.protocol !== 'https:')
    throw new PermanentFault(`the server redirected from https to http, to ${url.host}`);
  return readAddress(url.href);
}

/** Writes the body, or returns where a redirect leads. */
async function receive(
  response: StreamedResponse,
  write: (body: AsyncIterable<Buffer>) => Promise<void>,
): Promise<string | undefined> {
  const { status, headers, body } = response;
  if (redirects.includes(status)) {
    if (headers.location !== undefined) return headers.location;
    throw new PermanentFault(`the server answered ${status} without an address to go on with`);
  }
  if (status !== 200) {
    const message = `the server answered ${status}, and not 200 with a file`;
    throw isPermanentStatus(response) ? new PermanentFault(message) : new ConnectorError(message);
  }
  await write(body);
  return undefined;
}

async function writePlain(body: AsyncIterable<Buffer>, path: string): Promise<void> {
  await using file = await open(path, 'w', 0o600);
  for await (const part of body) await file.appendFile(part);
}

const plain = { encoding: undefined, replacesInvalid: false };

/** @throws PermanentFault about a file that cannot be unpacked */
async function writeUnpacked(body: AsyncIterable<Buffer>, path: string, fileBytes: number): Promise<void> {
  const parts = body[Symbol.asyncIterator]();
  let start: Buffer = Buffer.alloc(0);
  let isOver = false;
  while (start.byteLength < markBytes && !isOver) {
    const { value, done } = await parts.next();
    isOver = done === true;
    if (value !== undefined) start = Buffer.concat([start, value]);
  }
  const compression = findCompression('auto', start);
  if (compression === 'zip')
    throw new PermanentFault('it is a zip archive: load it by s3-load, or a file that is compressed by gzip');
  const packed = { bytes: 0 };
  async function* count(): AsyncGenerator<Buffer> {
    packed.bytes += start.byteLength;
    yield start;
    for (let next = await parts.next(); next.done !== true; next = await parts.next()) {
      packed.bytes += next.value.byteLength;
      yield next.value;
    }
  }
  const { streams } = createUnpacking(compression, plain, packed, { fileBytes });
  await pipeline([Readable.from(count()), ...streams, createWriteStream(path, { mode: 0o600 })]).catch(
    (error: NodeJS.ErrnoException) => {
      if (!isPackingFault(error)) throw error;
      throw new PermanentFault(`it cannot be unpacked (${error.code}): it is damaged`);
    },
  );
}
