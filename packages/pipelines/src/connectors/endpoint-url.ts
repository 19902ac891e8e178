/**
 * The address of an endpoint. `{name}` may stand in its path and its query, never in scheme, host or port: a
 * secret is sent to the host that the profile names, and a value must not change it.
 */
import { ConnectorError } from './profile.ts';

const placeholder = /\{([^{}]*)\}/g;

/** The names of the URI parameters, each once. */
export function listPlaceholders(url: string): string[] {
  return [...new Set(Array.from(url.matchAll(placeholder), ([, name = '']) => name))];
}

/** Why an address cannot be used; undefined if it can. */
export function describeUrlFault(url: string): string | undefined {
  const origin = /^https?:\/\/[^/?#]+/i.exec(url)?.[0];
  if (origin === undefined) return `must be an absolute address that begins with https:// or http://`;
  if (/[{}]/.test(origin)) return 'has a parameter in its host: only the path and the query may have one';
  if (origin.includes('@')) return 'holds a user name: use authentication instead';
  if (origin.includes('\\') || /[\s\p{Cc}]/u.test(url)) return 'has a character that an address cannot hold';
  if (listPlaceholders(url).includes('')) return 'has {} without a name: write the name of the parameter';
  if (/[{}]/.test(url.replaceAll(placeholder, ''))) return 'has a brace without its partner';
  const parsed = URL.parse(url.replaceAll(placeholder, 'x'));
  if (parsed === null) return 'is not a valid address';
  if (url.includes('#')) return 'has a fragment (#…), which is never sent: remove it';
  return undefined;
}

/** Puts values into the address. @throws ConnectorError if a value is missing or would leave its segment */
export function expandUrl(url: string, values: ReadonlyMap<string, string>): URL {
  const expanded = url.replaceAll(placeholder, (_, name: string) => {
    const value = values.get(name);
    if (value === undefined || value === '')
      throw new ConnectorError(`the URI parameter "${name}" has no value: give it one`);
    // encodeURIComponent leaves dots, and a segment of dots is resolved away.
    if (/^\.{1,2}$/.test(value))
      throw new ConnectorError(`the URI parameter "${name}" is "${value}", which is not a segment of a path`);
    return encodeURIComponent(value.toWellFormed());
  });
  return new URL(expanded);
}
