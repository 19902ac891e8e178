/**
 * Downloads a file of a tenant's address to the agent's disk. Each redirect is judged as the first address is, and
 * leads from https to https only. Nothing of the agent is sent: an address that needs credentials is for a connector.
 */
import { open } from 'node:fs/promises';
import type { Egress } from '@headgate/contract/egress';
import { ConnectorError, PermanentFault } from '@headgate/pipelines';
import { createExchange, type ExchangeBounds, type StreamedResponse } from './exchange.ts';
import { isPermanentStatus } from './waiting.ts';

export interface Downloads {
  /**
   * Writes the file at the address to the path.
   *
   * @throws ConnectorError, PermanentFault, ExchangeError or EgressRefused with the reason
   */
  download(address: string, path: string, signal: AbortSignal): Promise<void>;
}

const redirects = [301, 302, 303, 307, 308];
const redirectLimit = 5;
const compressed = /\.(?:gz|bz2|xz|zst|zip)$/i;

export function createDownloads(egress: Egress, bounds: ExchangeBounds): Downloads {
  const exchange = createExchange(egress, { ...bounds, advice: ' of a file: split it into smaller files' });

  async function download(address: string, path: string, signal: AbortSignal): Promise<void> {
    let url = readAddress(address);
    if (compressed.test(url.pathname))
      throw new PermanentFault('it is compressed: load a file that is not, or publish it with the version');
    for (let followed = 0; followed <= redirectLimit; followed++) {
      const request = { method: 'GET', url, headers: [['accept', '*/*']] } as const;
      const location = await exchange.stream(request, signal, (response) => receive(response, path));
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

/** Writes the body to the path, or returns where a redirect leads. */
async function receive(response: StreamedResponse, path: string): Promise<string | undefined> {
  const { status, headers, body } = response;
  if (redirects.includes(status)) {
    if (headers.location !== undefined) return headers.location;
    throw new PermanentFault(`the server answered ${status} without an address to go on with`);
  }
  if (status !== 200) {
    const message = `the server answered ${status}, and not 200 with a file`;
    throw isPermanentStatus(response) ? new PermanentFault(message) : new ConnectorError(message);
  }
  await using file = await open(path, 'w', 0o600);
  for await (const part of body) await file.appendFile(part);
  return undefined;
}
