/**
 * Clone addresses: whether two of them name the same repository.
 *
 * People paste an address from a browser, a terminal or a provider's page, so the same repository has many
 * spellings. The key of an address is one spelling for all of them.
 */
import { explainAddressScheme } from '../git-remotes/index.ts';

export interface CloneAddress {
  /** Without user, query and fragment; what git is given. */
  url: string;
  /** Equal for two addresses of the same repository. Not an address to connect to. */
  key: string;
}

/** Why an address is not taken, as the end of a sentence, with the remedy. */
export class CloneAddressRefused extends Error {
  override name = 'CloneAddressRefused';
}

/** @throws CloneAddressRefused */
export function parseCloneAddress(text: string): CloneAddress {
  const address = text.trim();
  const url = URL.canParse(address) ? new URL(address) : undefined;
  const isHttp = url?.protocol === 'https:' || url?.protocol === 'http:';
  if (url === undefined || !isHttp) throw new CloneAddressRefused(explainAddressScheme(address));
  if (hasForeignUser(url))
    throw new CloneAddressRefused(
      'contains a user or password; remove it, and send the token in the header Git-Provider-Access-Token',
    );
  if (url.search !== '' || url.hash !== '')
    throw new CloneAddressRefused(
      'has a query or fragment; use the clone address, such as https://github.com/acme/weather.git',
    );
  url.username = '';
  const path = normalizePath(url);
  if (path === '')
    throw new CloneAddressRefused(
      'names a host, but no repository; use an address such as https://github.com/acme/weather.git',
    );
  url.pathname = path;
  return { url: url.href, key: buildKey(url) };
}

export function isSameRepository(one: string, other: string): boolean {
  try {
    return parseCloneAddress(one).key === parseCloneAddress(other).key;
  } catch (failure) {
    // An address of an earlier release may name a host only. It is no repository.
    if (failure instanceof CloneAddressRefused) return false;
    throw failure;
  }
}

/** Azure DevOps shows clone addresses with the organization as user. */
function hasForeignUser({ username, password, hostname, pathname }: URL): boolean {
  if (username === '' && password === '') return false;
  const organization = decode(pathname.split('/')[1] ?? '');
  const isOrganization = isAzureHost(hostname) && password === '' && !/%3a/i.test(username);
  return !(isOrganization && (isLegacyAzureHost(hostname) || decode(username) === organization));
}

/** Percent-encodes each byte in one way, and drops empty segments and the trailing slash. */
function normalizePath({ pathname }: URL): string {
  const segments = pathname.split('/').filter((segment) => segment !== '');
  return segments.map((segment) => `/${encodeURIComponent(decode(segment))}`).join('');
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

const isLegacyAzureHost = (host: string) => host.endsWith('.visualstudio.com');
const isAzureHost = (host: string) => host === 'dev.azure.com' || isLegacyAzureHost(host);

/** Names of repositories ignore case at the three providers, so keys do. */
function buildKey(url: URL): string {
  const host = url.hostname.replace(/\.$/, '').replace(/^www\.(?=github\.com$)/, '');
  // Unicode has several forms of one name.
  const segments = url.pathname.split('/').slice(1).map(decode);
  const path = isAzureHost(host) ? listAzureSegments(host, segments) : segments;
  const place = isAzureHost(host) ? 'https://dev.azure.com' : `${url.protocol}//${host}${renderPort(url)}`;
  const named = path.map((segment) => segment.normalize('NFC').toLowerCase()).join('/');
  return `${place}/${named.replace(/\.git$/, '')}`;
}

const renderPort = ({ port }: URL) => (port === '' ? '' : `:${port}`);

/** organization, project, _git, repository; the short form leaves the project out if it is named as the repository. */
function listAzureSegments(host: string, segments: readonly string[]): readonly string[] {
  const legacy = isLegacyAzureHost(host);
  const organization = legacy ? (host.split('.')[0] ?? '') : (segments[0] ?? '');
  const rest = segments
    .slice(legacy ? 0 : 1)
    .filter((each, at) => at > 0 || !/^DefaultCollection$/i.test(each));
  const [first = '', second = ''] = rest;
  if (first.toLowerCase() === '_git') return [organization, second, '_git', second];
  return [organization, ...rest];
}
